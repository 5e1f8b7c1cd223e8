"""Tracks of a marker file: cut at gaps and at jumps, put together again under any labels."""

from pathlib import Path

import numpy as np

from database.marker_files.points import OpticalPoints
from tools.solve.tracks import collect_markers, sample_tracks, split_columns


def moving_points() -> OpticalPoints:
    """Return two points that move evenly and change columns after frame 29; the second is not seen in frames 10 to 14."""
    t = np.arange(60) / 100.0
    a = np.stack([t, 1.0 + 0.2 * np.sin(9.0 * t), 0.0 * t], axis=1)
    b = a + [0.5, -0.3, 0.1]
    first, second = np.concatenate([a[:30], b[30:]]), np.concatenate([b[:30], a[30:]])
    valid = np.ones((60, 2), bool)
    valid[10:15, 1] = False
    point_m = np.stack([first, second], axis=1) * valid[..., None]
    return OpticalPoints(Path("a.c3d"), ("a", "b"), 100.0, point_m, valid)


def test_columns_are_cut_at_gaps_and_jumps_alone() -> None:
    points = moving_points()
    tracks = split_columns(points)
    assert tracks.column.tolist() == [0, 0, 1, 1, 1]
    begins = [int(np.flatnonzero((tracks.track == k).any(axis=1))[0]) for k in range(tracks.count)]
    assert begins == [0, 30, 0, 15, 30]
    assert ((tracks.track >= 0) == points.valid).all()


def test_markers_are_the_tracks_with_their_labels() -> None:
    points = moving_points()
    tracks = split_columns(points)
    point_m, valid = collect_markers(points, tracks, np.array([0, 1, 1, 1, 0]), 3)
    assert valid[:, 0].all() and not valid[:, 2].any() and (~valid[:, 1]).sum() == 5
    assert np.abs(np.diff(point_m[:, 0], axis=0)).max() < 0.03
    sampled, number = sample_tracks(points, tracks, np.arange(0, 60, 2))
    assert sampled.count == 5 and number.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(sampled.point_m[sampled.of_frame(3)], points.point_m[6])
