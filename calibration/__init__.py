"""Calibration before a session: cameras, floor and performer, and how well each is known.

In: corners of a board, tracks of a wand, points of markers. Out: a `Rig` (camera), a floor (floor/), a `Subject` (subject/), and
a quality report on each. All is arithmetic on arrays: pictures and files are read by the command line, `capture` and formats/.

Other folders import camera, depth, epipolar, pairs, placement, triangulate, world.
"""
