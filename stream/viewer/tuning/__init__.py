"""The page's tuning of the cameras: previews with what the detector sees, settings, background, time offset."""
