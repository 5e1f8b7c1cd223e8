"""Calibrations against known truth and against OpenCV, on rendered and on real views."""
