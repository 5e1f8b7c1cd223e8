"""Solvers that several folders share: damped least squares, banded systems and small definite systems.

In: residuals, derivatives and matrices as arrays. Out: solutions, factors, covariances. Nothing here knows what the numbers mean;
rotations and kinematics are in `database.geometry`.

Other folders import assignment, banded, definite, least_squares.
"""

DUOCAP = True  # a foreign package named `numerics` lacks it: tools/launch.py tells them apart
