"""The commands of `duocap style`."""
