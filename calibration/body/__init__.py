"""A rig from a person who moves: landmarks of the body in several cameras at the same moments, and no board.

In: `BodyViews`, landmarks by camera and moment, the lenses, and how tall the person is. Out: a `BodySolution` (solve) and its
report (quality).

Other folders import lengths, quality, solve, views.
"""
