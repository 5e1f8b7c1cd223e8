"""The commands of `duocap calibrate`."""
