"""Poses of a recorded take, solved with what comes before and after each frame.

In: the labelled markers of all frames and the poses that live reconstruction gave them. Out: poses of all frames at once
(`take.TakeSolver`), in which a marker's gap is closed by the motion on both sides of it.

Other folders import forward_filter, labels, motion, points, poses, take, tracks.
"""
