"""A rig from views of a board: selection of views, lens models, bundle adjustment.

In: `BoardMoment`s of board/. Out: those worth keeping (selection), and a `RigSolution` with its covariances (rig, solution).

Other folders import checks, rig, selection, single_camera, solution.
"""
