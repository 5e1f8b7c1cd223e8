"""Recordings read back as blobs, and sessions written while they run."""
