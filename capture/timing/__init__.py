"""Bringing two free-running cameras' markers to one moment.

Other folders import events, grouping, offset, search, synchronise, tracks.
"""
