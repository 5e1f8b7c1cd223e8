"""Tracks of one camera's blobs: links through crossings, gaps and newcomers; places between frames."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from capture.packets import Blobs
from capture.timing.tracks import GATE2, MISSED_S, BlobHistory, BlobTracker, extrapolate_blobs, link_nearest

FRAME_NS = 33_333_333


def blobs(index: int, points: np.ndarray, area: np.ndarray | None = None, t_ns: int | None = None) -> Blobs:
    n = len(points)
    return Blobs(
        0,
        index,
        index * FRAME_NS if t_ns is None else t_ns,
        np.array(points, float).reshape(n, 2),
        np.full(n, 30.0) if area is None else area,
        np.full((n, 3), 240.0),
        np.full(n, 0.1),
    )


def at(t_s: float) -> np.ndarray:
    """Five points of a body, each with its own speed and bend [px]."""
    start = np.array([[100.0, 80.0], [220.0, 90.0], [160.0, 200.0], [130.0, 320.0], [205.0, 310.0]])
    speed = np.array([[300.0, -120.0], [-250.0, 60.0], [40.0, 20.0], [0.0, 0.0], [90.0, 200.0]])
    bend = np.array([[900.0, 0.0], [0.0, 600.0], [0.0, 0.0], [0.0, 0.0], [-300.0, 300.0]])
    return start + speed * t_s + 0.5 * bend * t_s**2


def followed(order: list[np.ndarray] | None = None) -> tuple[Blobs, BlobHistory]:
    """Three frames of the five points, listed in another order every time."""
    tracks, shuffle = BlobTracker(), np.random.default_rng(3)
    for k in range(3):
        mixed = np.arange(5) if k == 2 else shuffle.permutation(5)
        seen = blobs(k, at(k * FRAME_NS * 1e-9)[mixed])
        history = tracks.step(seen)
    return seen, history


def test_parabola_goes_through_what_was_between_the_frames() -> None:
    seen, history = followed()
    assert history.known.tolist() == [3] * 5
    assert history.back_s[0] == pytest.approx([0.0, 1 / 30, 2 / 30], abs=1e-6)
    for ahead_s in (-0.03, -0.012, 0.008):
        there = extrapolate_blobs(seen, history, ahead_s)
        assert there.points_px == pytest.approx(at(2 * FRAME_NS * 1e-9 + ahead_s), abs=1e-6)
        assert (there.sigma_px >= seen.sigma_px).all()


def test_each_blob_has_its_own_moment() -> None:
    seen, history = followed()
    ahead = np.array([-0.02, -0.01, 0.0, 0.004, -0.03])
    expected = np.stack([at(2 * FRAME_NS * 1e-9 + a)[k] for k, a in enumerate(ahead)])
    assert extrapolate_blobs(seen, history, ahead).points_px == pytest.approx(expected, abs=1e-6)


def test_no_time_is_no_move() -> None:
    seen, history = followed()
    there = extrapolate_blobs(seen, history, 0.0)
    assert np.array_equal(there.points_px, seen.points_px) and there.sigma_px == pytest.approx(seen.sigma_px)


def test_crossing_blobs_keep_their_tracks() -> None:
    """Two blobs that pass each other between frames: by nearness alone they would exchange places."""
    tracks, still = BlobTracker(), np.array([[0.0, 0.0], [0.0, 300.0], [200.0, 300.0]])
    for k in range(6):
        pair = np.array([[60.0 + 16.0 * k, 100.0], [140.0 - 16.0 * k, 104.0]])
        history = tracks.step(blobs(k, np.concatenate([pair, still])))
    assert history.points_px[0, :, 0].tolist() == [140.0, 124.0, 108.0]
    assert history.points_px[1, :, 0].tolist() == [60.0, 76.0, 92.0]
    assert history.track[:2].tolist() == [0, 1]


def test_newcomers_have_no_past_and_stay_where_they_are() -> None:
    tracks = BlobTracker()
    for k in range(3):
        tracks.step(blobs(k, at(k / 30)))
    history = tracks.step(seen := blobs(3, np.concatenate([at(0.1), [[500.0, 400.0]]])))
    assert history.known.tolist() == [3] * 5 + [1] and history.track[5] not in history.track[:5]
    there = extrapolate_blobs(seen, history, -0.01)
    assert there.points_px[5].tolist() == [500.0, 400.0]
    # Less sure by what the others move in that time: 0.01 s at their pace.
    assert there.sigma_px[5] == pytest.approx(np.hypot(0.1, 0.01 * history.pace_px_s), rel=1e-6)


@pytest.mark.parametrize(("missing", "kept"), [(1, True), (3, True), (8, False)])
def test_a_blob_that_was_hidden_is_the_same_one_for_a_while(missing: int, kept: bool) -> None:
    tracks = BlobTracker()
    for k in range(3):
        first = tracks.step(blobs(k, at(k / 30)))
    for k in range(3, 3 + missing):
        tracks.step(blobs(k, at(k / 30)[1:]))
    again = tracks.step(blobs(3 + missing, at((3 + missing) / 30)[[3, 4, 0, 1, 2]]))
    assert bool(again.track[2] == first.track[0]) == kept
    assert (missing / 30 < MISSED_S) == kept
    if kept:
        assert again.back_s[2, 1] == pytest.approx((missing + 1) / 30, abs=1e-4)


def test_no_number_and_no_blobs_break_nothing() -> None:
    tracks = BlobTracker()
    tracks.step(blobs(0, at(0.0)))
    bad = at(1 / 30)
    bad[1] = np.nan
    history = tracks.step(seen := blobs(1, bad))
    assert history.known.tolist() == [2, 1, 2, 2, 2]
    assert np.isfinite(extrapolate_blobs(seen, history, -0.01).points_px[[0, 2, 3, 4]]).all()
    empty = tracks.step(blobs(2, np.zeros((0, 2))))
    assert len(empty.known) == 0 and len(extrapolate_blobs(blobs(2, np.zeros((0, 2))), empty, -0.01)) == 0
    assert tracks.step(blobs(3, at(0.1))).known[0] == 3


@pytest.mark.parametrize("seed", range(12))
def test_links_are_those_of_the_cheapest_assignment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, distance = rng.uniform(0.0, 1.5 * GATE2, (2, 6 + seed % 3, 7))
    if seed % 2:  # far fewer candidates: no two compete
        cost[rng.uniform(size=cost.shape) < 0.9] = GATE2
    cost = np.minimum(cost, GATE2)
    few = cost if cost.shape[1] <= cost.shape[0] else cost.T
    wanted = few.argmin(axis=0)[few.min(axis=0) < GATE2]
    row, error_px = np.full(7, -1, np.int64), np.zeros(7)
    assert link_nearest(cost, distance, row, error_px) == (len(set(wanted)) == len(wanted))
    if len(set(wanted)) == len(wanted):
        linked = np.flatnonzero(row >= 0)
        rows, columns = linear_sum_assignment(cost)
        assert (cost[row[linked], linked] - GATE2).sum() == pytest.approx((cost[rows, columns] - GATE2).sum())
        assert (error_px[linked] == distance[row[linked], linked]).all()


def test_a_crossing_is_decided_for_both_at_once() -> None:
    tracks = BlobTracker()
    tracks.step(blobs(0, np.array([[100.0, 100.0], [106.0, 100.0], [300.0, 300.0]])))
    # Both are nearest to the second one's place; together it costs least that each goes on by 6 px.
    history = tracks.step(blobs(1, np.array([[105.0, 100.0], [111.0, 100.0], [300.0, 300.0]])))
    assert history.track.tolist() == [0, 1, 2]
