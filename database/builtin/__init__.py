"""Procedural motions of our own."""
