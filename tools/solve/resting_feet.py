"""Feet that stood still through a gap: a contact with the ground that the markers on both sides of the gap tell.

A foot of which nothing is seen for a while, and which is at rest at the same place before and after, has not moved: who steps
away does not come back to the centimetre. Its markers are then known in the gap, about as well as a heel turns about a ball.
"""

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.joints import JOINT_INDEX

FEET = [[JOINT_INDEX[f"{side}{part}"] for part in ("Foot", "Toes")] for side in ("left", "right")]
AT_REST_M_S, OVER_S = 0.2, 0.05  # a standing foot that turns is slower, a stepping foot ten times as fast
SAME_M = 0.03  # a foot that stands turns by some degrees about its ball; steps are longer
REST_SIGMA_M = 0.03  # of a marker of a resting foot in a frame: 6 to 9 mm, which last for some 0.3 s (real boxing, gaps of 1 s)


def find_resting_markers(joint: Ints, point_m: Floats, valid: Bools, seconds: Floats) -> tuple[Floats, Bools]:
    """Return the markers with those of resting feet filled in, (N, M, 3) [m], and which these are, (N, M).

    Args:
        joint: of each marker, (M,).
        point_m: the markers, (N, M, 3) [m].
        valid: which are seen, (N, M).
        seconds: times of the frames, (N,) [s].
    """
    filled_m, resting = point_m.copy(), np.zeros(valid.shape, bool)
    side = max(round(OVER_S / float(np.median(np.diff(seconds)))), 1)
    for foot in FEET:
        own = np.flatnonzero(np.isin(joint, foot))
        shown = np.flatnonzero(valid[:, own].any(axis=1))
        for k in np.flatnonzero(np.diff(shown) > 1):
            last, first = int(shown[k]), int(shown[k + 1])
            at = np.array([last - side, last, first, first + side])
            if at[0] < 0 or at[3] >= len(valid):
                continue
            both = own[valid[np.ix_(at, own)].all(axis=0)]
            if len(both) and _is_at_rest(point_m[np.ix_(at, both)], seconds[at]):
                share = (seconds[last + 1 : first] - seconds[last]) / (seconds[first] - seconds[last])
                moved = point_m[first, both] - point_m[last, both]
                filled_m[last + 1 : first, both] = point_m[last, both] + share[:, None, None] * moved
                resting[last + 1 : first, both] = True
    return filled_m, resting


def _is_at_rest(point_m: Floats, seconds: Floats) -> bool:
    """Return whether markers rest at one place, seen at two times before a gap and two after it, (4, K, 3) [m] and (4,) [s]."""
    moved_m = np.linalg.norm(np.diff(point_m, axis=0), axis=2).max(axis=1)
    limits_m = np.array([AT_REST_M_S, 0.0, AT_REST_M_S]) * np.diff(seconds) + np.array([0.0, SAME_M, 0.0])
    return bool((moved_m <= limits_m).all())
