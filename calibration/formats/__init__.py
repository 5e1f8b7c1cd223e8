"""Calibration files: rig.toml, and those of other programs.

In: a path and what the file leaves open (`ReadOptions`). Out: a `Rig`, and back: all through rig_file.

Other folders import camera_file, rig_file, rig_toml.
"""
