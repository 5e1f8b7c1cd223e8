"""The root's tilt from the poses nearby: where torso markers are missing, the database says how upright such a pose is.

The markers of limbs alone leave the trunk's tilt to the joints between, and an error of it stays, as the next frame goes on from
there. Which way is down in the root's frame, the neighbours know; the heading they do not.
"""

from dataclasses import replace

import numpy as np

from database.rotations import Floats, matrix_from_rotvec
from reconstruct.solve import RootPrior

FLOOR_RAD = 0.1  # no neighbours know the tilt better: theirs is wrong for many frames in a row


def with_tilt(prior: RootPrior, up: Floats, weights: Floats) -> RootPrior:
    """Multiply the expected root with the neighbours' tilt, a Gaussian about the world's horizontal axes.

    up: the vertical in the root's frame of the neighbours, (K, 3); weights: theirs, (K,). The world's Y is up.
    """
    share = weights / weights.sum()
    mean = share @ up
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    variance = 0.5 * float(share @ ((up - mean) ** 2).sum(axis=1)) + FLOOR_RAD**2  # of either axis
    here = prior.sigma_rad**-2.0
    total = here + 1.0 / variance
    theirs = prior.rotation @ mean
    turn = np.array([-theirs[2], 0.0, theirs[0]])  # theirs x UP: lifts what they have up to where it is
    sine = float(np.linalg.norm(turn))
    angle = np.arctan2(sine, float(theirs[1]))
    part = turn * (angle / max(sine, 1e-9) / variance / total)
    return replace(prior, rotation=matrix_from_rotvec(part) @ prior.rotation, tilt_sigma_rad=total**-0.5)
