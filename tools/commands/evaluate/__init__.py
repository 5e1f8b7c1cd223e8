"""The commands of `duocap evaluate`."""
