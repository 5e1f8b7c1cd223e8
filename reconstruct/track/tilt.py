"""What the neighbours of a frame say of the vertical, for a root that is not seen whole."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats

TILT_FLOOR_RAD = 0.1  # no neighbours know the tilt better: theirs is wrong for many frames in a row


@dataclass(frozen=True, slots=True)
class Tilt:
    """The neighbours' vertical in the root's frame: its mean, (3,), of length one, and the variance about a horizontal axis."""

    up: Floats
    variance: float


def compute_tilt(up: Floats, weights: Floats) -> Tilt:
    """Return the neighbours' tilt; up: the vertical in the root's frame of each, (K, 3), with weights (K,)."""
    share = weights / weights.sum()
    mean = share @ up
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    return Tilt(mean, 0.5 * float(share @ ((up - mean) ** 2).sum(axis=1)) + TILT_FLOOR_RAD**2)


def compute_tilt_error(rotation: Floats, up: Floats) -> Floats:
    """Return the turn about a horizontal axis that raises a vertical in the root's frame, (3,), to the world's, (3,) [rad]."""
    theirs = rotation @ up
    sine = float(np.hypot(theirs[0], theirs[2]))
    angle = float(np.arctan2(sine, theirs[1]))
    return np.array([-theirs[2], 0.0, theirs[0]]) * (angle / max(sine, 1e-9))
