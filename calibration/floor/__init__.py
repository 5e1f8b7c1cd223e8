"""The floor of a rig: from a board, from markers that lie on it, or from a walk.

In: views of a board (board), points of markers that rest (markers) or are worn by somebody who walks (walk). Out: a `Floor`
(frame), which turns the rig's world upright, its report (quality) and picture.

Other folders import dwell, feet, frame, from_board, from_markers, from_walk, picture, quality.
"""
