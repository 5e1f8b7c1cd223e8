"""Calibration files: rig.toml, and those of other programs."""
