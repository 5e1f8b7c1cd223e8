"""Bringing two free-running cameras' markers to one moment."""
