"""Two views together: matching, labels by the last pose, and whether the rig still fits.

Other folders import check, choice, marker_frames, matching, watch.
"""
