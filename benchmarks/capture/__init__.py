"""Measurements of what the cameras' processes do."""
