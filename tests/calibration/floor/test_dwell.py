"""Stays of points nobody has named: who stands still, since when, for how long."""

import numpy as np

from calibration.floor.dwell import MAX_DWELL_S, Dwells, PointFrame, find_dwells, merge_dwells
from config.arrays import Floats

FINE = np.diag([1e-6, 1e-6, 9e-6])


def moments_of(tracks: list[Floats], fps: float = 30.0, noise: float = 0.0, seed: int = 0) -> list[PointFrame]:
    """Return moments from tracks (T, 3) each, their points in another order every time."""
    rng = np.random.default_rng(seed)
    moments = []
    for k in range(len(tracks[0])):
        points = np.array([track[k] for track in tracks if np.isfinite(track[k]).all()]).reshape(-1, 3)
        points = rng.permutation(points) + rng.normal(size=points.shape) * noise * np.sqrt(np.diag(FINE))
        moments.append(PointFrame(k / fps, points, np.tile(FINE, (len(points), 1, 1))))
    return moments


def steps(at_m: Floats, until_m: Floats, n_still: int, n_moving: int) -> Floats:
    """Return a point that stands, moves on in `n_moving` moments and stands again."""
    way = np.linspace(0.0, 1.0, n_moving + 2)[1:-1, None]
    return np.vstack([np.tile(at_m, (n_still, 1)), at_m + way * (until_m - at_m), np.tile(until_m, (n_still, 1))])


def test_a_foot_stands_twice() -> None:
    a, b = np.array([0.0, 0.05, 1.0]), np.array([0.1, 0.05, 1.7])
    found = find_dwells(moments_of([steps(a, b, 12, 12)]))
    assert len(found) == 2
    np.testing.assert_allclose(found.points_m, [a, b], atol=0.01)
    np.testing.assert_allclose(found.seconds, 11 / 30, atol=0.11)
    assert found.start_s[0] < 0.11 and 23 / 30 < found.start_s[1] < 28 / 30


def test_points_that_pass_each_other_are_not_mixed_up() -> None:
    """One stands while another goes by 6 cm away: one stay, of the one that stands, all the time."""
    still = np.tile([0.0, 0.0, 0.0], (30, 1))
    passing = np.column_stack([np.linspace(-0.6, 0.6, 30), np.full(30, 0.06), np.zeros(30)])
    found = find_dwells(moments_of([still, passing], noise=1.0))
    assert len(found) == 1 and found.seconds[0] > 0.85
    np.testing.assert_allclose(found.points_m[0], 0.0, atol=0.002)


def test_noise_is_no_motion_and_is_averaged() -> None:
    """A mean of 30 points is known 5.5 times as well as each."""
    found = find_dwells(moments_of([np.tile([0.2, 0.1, 2.0], (30, 1))], noise=1.0, seed=3))
    assert len(found) == 1
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance_m2[0])), np.sqrt(np.diag(FINE) / 30), rtol=0.1)
    assert np.linalg.norm(found.points_m[0] - [0.2, 0.1, 2.0]) < 0.003


def test_who_walks_never_stays() -> None:
    walking = np.column_stack([np.linspace(0.0, 1.5, 40), np.zeros(40), np.zeros(40)])  # 1.1 m/s
    assert len(find_dwells(moments_of([walking]))) == 0
    slow = walking * 0.3  # 0.35 m/s: linked from moment to moment, but no stay
    assert len(find_dwells(moments_of([slow]))) == 0


def test_a_long_stay_is_told_second_by_second() -> None:
    found = find_dwells(moments_of([np.zeros((100, 3))]))
    assert len(found) == 4 and found.seconds.max() <= MAX_DWELL_S + 0.04


def test_a_short_gap_is_bridged_and_a_long_one_not() -> None:
    track = np.zeros((40, 3))
    track[10:12] = np.nan
    assert len(find_dwells(moments_of([track]))) == 2  # of 1.3 s: one of a second, and what is left
    track[10:30] = np.nan
    found = find_dwells(moments_of([track]))
    assert len(found) == 2 and found.seconds.max() < 0.4


def test_stays_in_one_place_are_gathered() -> None:
    """Two at 0 and 1 cm, the second twice as certain (a quarter of the variance): 0.8 cm; another half a metre off."""
    points = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.01, 0.0, 0.0]])
    C = np.array([1.0, 4.0, 1.0])[:, None, None] * np.tile(1e-6 * np.eye(3), (3, 1, 1))
    found = merge_dwells(Dwells(points, C, np.array([5.0, 1.0, 3.0]), np.array([0.2, 1.0, 0.5])), 0.03)
    np.testing.assert_allclose(found.points_m, [[0.008, 0.0, 0.0], [0.5, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(found.covariance_m2[0], 0.8e-6 * np.eye(3), atol=1e-18)
    np.testing.assert_allclose(found.seconds, [1.5, 0.2])
    np.testing.assert_allclose(found.start_s, [1.0, 5.0])
