"""Forces on the ground beside force plates: `duocap evaluate forces`."""
