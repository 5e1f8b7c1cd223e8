"""Labels of a file that contradict the rest of it: markers on one bone keep their distances.

Two markers whose distance is steady over a take sit on one bone, or near the axis of the joint between two. A track that is
elsewhere, seen from most of those that its marker is steady with, is another marker for as long as it lasts: that whose distances
from the markers around it are those of the track, if there is one.
"""

import numpy as np

from config.arrays import Bools, Floats, Ints
from database.marker_files.points import OpticalPoints
from tools.solve.tracks import ColumnTracks, collect_markers

STEADY_M = 0.008  # median absolute deviation of a distance on one bone: skin
ELSEWHERE_M = 0.02  # median difference of a track's distances: what skin and joints do not do for long
LEAST_STEADY, LEAST_SEEN = 3, 0.3  # markers that have a say, and share of the frames in which both must be seen


def correct_labels(points: OpticalPoints, tracks: ColumnTracks, label: Ints, n_markers: int) -> Ints:
    """Return the marker of each track, (K,), -1 where it is labelled as what it cannot be and nothing tells what it is.

    Args:
        points: of the file.
        tracks: of the file.
        label: marker of each track, (K,), -1 for none.
        n_markers: M.
    """
    result, off_m = label.copy(), np.full((tracks.count, n_markers), np.inf)
    point_m, valid = collect_markers(points, tracks, label, n_markers)
    distances = [np.linalg.norm(point_m - point_m[:, m : m + 1], axis=2) for m in range(n_markers)]
    usual = [_find_steady(distances[m], valid & valid[:, m : m + 1], m) for m in range(n_markers)]
    for k in np.flatnonzero(label >= 0).tolist():
        rows, own = tracks.track[:, tracks.column[k]] == k, int(label[k])
        seen, apart_m = valid[rows], distances[own][rows]
        if not ELSEWHERE_M < _measure_off(apart_m, seen, usual[own], own) < np.inf:
            continue
        off_m[k] = [_measure_off(apart_m, seen, each, own) for each in usual]
        result[k] = -1
    for k in np.flatnonzero((label >= 0) & (result < 0)).tolist():
        meant = int(off_m[k].argmin())
        if off_m[k, meant] < ELSEWHERE_M and not _is_shown(tracks, result, meant, k):
            result[k] = meant
    return result


def _is_shown(tracks: ColumnTracks, label: Ints, marker: int, track: int) -> bool:
    """Return whether a marker is seen, as another track, while a track lasts."""
    rows = tracks.track[:, tracks.column[track]] == track
    return bool(np.isin(tracks.track[rows], np.flatnonzero(label == marker)).any())


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


def _measure_off(apart_m: Floats, seen: Bools, usual: tuple[Floats, Ints], own: int) -> float:
    """Return by how much the distances of a track are not a marker's usual ones, median over those seen with it [m].

    Args:
        apart_m: distances of the track from all markers, (R, M) [m].
        seen: which markers are seen then, (R, M).
        usual: of the marker, its distances and those that are steady.
        own: the marker that the track is labelled as.
    Returns: infinite where too few tell.
    """
    usual_m, steady = usual
    others = [m for m in steady.tolist() if m != own and seen[:, m].any()]
    if len(others) < LEAST_STEADY:
        return np.inf
    return float(np.median([abs(float(np.median(apart_m[seen[:, m], m])) - usual_m[m]) for m in others]))
