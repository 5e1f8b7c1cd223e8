"""Calibration with cameras that run: somebody is guided on a page."""
