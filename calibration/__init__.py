"""Cameras, rigs and subjects: what is measured before a session."""
