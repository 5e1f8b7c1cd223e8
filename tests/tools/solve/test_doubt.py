"""Labels that contradict distances on a bone are those of the markers that have them; right ones stay."""

from pathlib import Path

import numpy as np

from database.geometry.rotations import matrix_from_rotvec
from database.marker_files.points import OpticalPoints
from tools.solve.doubt import correct_labels
from tools.solve.tracks import split_columns


def test_markers_exchanged_for_a_while_are_named_by_their_distances() -> None:
    rng = np.random.default_rng(4)
    n, on_bone_m = 200, 0.1 * rng.normal(size=(6, 3))
    turns = matrix_from_rotvec(np.cumsum(0.02 * rng.normal(size=(n, 3)), axis=0))
    point_m = np.einsum("nij,mj->nmi", turns, on_bone_m) + [0.0, 1.0, 0.0]
    point_m[:60, [1, 4]] = point_m[:60, [4, 1]]
    valid = np.ones((n, 6), bool)
    valid[60:62, [1, 4]], valid[120:125, 2] = False, False
    points = OpticalPoints(Path("a.c3d"), tuple("abcdef"), 100.0, point_m * valid[..., None], valid)
    tracks = split_columns(points)
    found = correct_labels(points, tracks, tracks.column, 6)
    begins = np.array([int(np.flatnonzero((tracks.track == k).any(axis=1))[0]) for k in range(tracks.count)])
    wrong = np.isin(tracks.column, [1, 4]) & (begins == 0)
    assert wrong.sum() == 2
    assert np.array_equal(found[~wrong], tracks.column[~wrong]) and np.array_equal(found[wrong], [4, 1])
