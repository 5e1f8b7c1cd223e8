"""The commands of `duocap physics`."""
