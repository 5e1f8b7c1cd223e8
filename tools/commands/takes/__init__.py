"""The commands of takes: what is recorded, watched, changed and written."""
