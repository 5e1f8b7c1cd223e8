"""Calibration from recordings: sources read, solved, judged, written."""
