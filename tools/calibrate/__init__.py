"""Calibration from recordings: sources read, solved, judged, written.

Other folders import rig, session, subject.
"""
