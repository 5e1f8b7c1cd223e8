"""Recordings read back as blobs, and sessions written while they run.

Other folders import recording, session, sink.
"""
