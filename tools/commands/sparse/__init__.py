"""The commands of `duocap sparse`."""
