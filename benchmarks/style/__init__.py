"""Learned styles: objective, synthesis, held-out joints, keyframes, and what they cost a live frame."""
