"""Calibrations of other programs, read and written."""
