"""What the room looks like without the performer, learned and kept up to date.

Other folders import statistics.
"""
