"""Calibration boards: what is printed on them, and their corners found in pictures."""
