"""Labels of a file that contradict the rest of it: markers on one bone keep their distances.

Two markers whose distance is steady over a take sit on one bone, or near the axis of the joint between two. A track that is
elsewhere, seen from most of those that its marker is steady with, is another marker for as long as it lasts.
"""

import numpy as np

from config.arrays import Bools, Floats, Ints
from tools.solve.read import OpticalPoints
from tools.solve.tracks import ColumnTracks, collect_markers

STEADY_M = 0.008  # median absolute deviation of a distance on one bone: skin
ELSEWHERE_M = 0.02  # median difference of a track's distances: what skin and joints do not do for long
LEAST_STEADY, LEAST_SEEN = 3, 0.3  # markers that have a say, and share of the frames in which both must be seen


def find_doubtful_tracks(points: OpticalPoints, tracks: ColumnTracks, label: Ints, n_markers: int) -> Bools:
    """Return which tracks are labelled as what they cannot be, (K,).

    Args:
        points: of the file.
        tracks: of the file.
        label: marker of each track, (K,), -1 for none.
        n_markers: M.
    """
    doubtful = np.zeros(tracks.count, bool)
    point_m, valid = collect_markers(points, tracks, label, n_markers)
    of_marker = [np.flatnonzero(label == m) for m in range(n_markers)]
    for m, own in enumerate(of_marker):
        if len(own) < 2:
            continue
        apart_m = np.linalg.norm(point_m - point_m[:, m : m + 1], axis=2)
        both = valid & valid[:, m : m + 1]
        usual_m, steady = _find_steady(apart_m, both, m)
        if len(steady) < LEAST_STEADY:
            continue
        for k in own.tolist():
            number = tracks.track[:, tracks.column[k]]
            off_m = _measure_off(apart_m[number == k], both[number == k], usual_m, steady)
            doubtful[k] = len(off_m) >= LEAST_STEADY and float(np.median(off_m)) > ELSEWHERE_M
    return doubtful


def _find_steady(apart_m: Floats, both: Bools, m: int) -> tuple[Floats, Ints]:
    """Return the usual distances of a marker from all, (M,) [m], and the markers that it keeps them to."""
    usual_m, steady = np.zeros(apart_m.shape[1]), []
    for other in range(apart_m.shape[1]):
        there = apart_m[both[:, other], other]
        if other != m and len(there) > LEAST_SEEN * len(apart_m):
            usual_m[other] = np.median(there)
            if float(np.median(np.abs(there - usual_m[other]))) < STEADY_M:
                steady.append(other)
    return usual_m, np.array(steady, np.int64)


def _measure_off(apart_m: Floats, both: Bools, usual_m: Floats, steady: Ints) -> Floats:
    """Return by how much the distances of a track are not the usual ones, of the markers seen with it [m]."""
    seen = [other for other in steady.tolist() if both[:, other].any()]
    return np.array([abs(float(np.median(apart_m[both[:, other], other])) - usual_m[other]) for other in seen])
