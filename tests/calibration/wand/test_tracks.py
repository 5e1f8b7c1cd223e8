"""The wand among reflections: what is still is no wand, markers keep their columns, cubics are read exactly."""

import numpy as np
import pytest

from calibration.wand.tracks import (
    Sightings,
    WandTrack,
    find_wand_tracks,
    follow_markers,
    interpolate_views,
    select_moving_points,
)
from config.errors import CalibrationError
from tests.calibration.wand.scenes import Wave, both_sightings, wand_rig

SIZE = (640, 480)


def crossing(t_s: np.ndarray) -> np.ndarray:
    """Two markers whose ways cross in the picture at t = 1 s, (T, 2, 2) [px]."""
    first = np.stack([100.0 + 150.0 * t_s, 200.0 + 20.0 * t_s], axis=1)
    second = np.stack([400.0 - 150.0 * t_s, 224.0 + 0.0 * t_s], axis=1)
    return np.stack([first, second], axis=1)


def test_what_stays_is_left_out_even_where_it_flickers() -> None:
    rng = np.random.default_rng(4)
    still, t_s = np.array([[50.0, 60.0], [300.4, 301.2]]), np.arange(200) / 30.0
    moving = np.stack([20.0 + 3.0 * np.arange(200), 100.0 + np.arange(200)], axis=1)
    spots = tuple(np.concatenate([moving[k : k + 1], still[rng.random(2) < 0.5] + rng.normal(0.0, 0.3, 2)]) for k in range(200))
    found = select_moving_points(Sightings(t_s, spots, SIZE))
    assert all(len(points) == 1 and np.array_equal(points[0], moving[k]) for k, points in enumerate(found))


def test_a_wand_that_rests_for_a_while_is_kept() -> None:
    way = np.concatenate([np.full(60, 100.0), 100.0 + 2.0 * np.arange(240)])
    spots = tuple(np.array([[x, 200.0]]) for x in way)
    assert all(len(points) == 1 for points in select_moving_points(Sightings(np.arange(300) / 30.0, spots, SIZE)))


def test_markers_that_pass_each_other_keep_their_columns() -> None:
    rng = np.random.default_rng(7)
    t_s = np.arange(60) / 30.0
    truth = crossing(t_s)
    spots = tuple(rng.permutation(places) for places in truth)
    track = follow_markers(Sightings(t_s, spots, SIZE), spots, 2)
    assert len(set(track.run)) == 1
    first = truth if np.allclose(track.points_px[0, 0], truth[0, 0]) else truth[:, ::-1]
    assert np.array_equal(track.points_px, first)


def test_a_spot_that_shows_up_beside_the_wand_is_not_taken_for_it() -> None:
    t_s = np.arange(40) / 30.0
    truth = crossing(t_s)
    spots = tuple(np.concatenate([[[500.0, 50.0 + k]], p]) if 10 < k < 20 else p for k, p in enumerate(truth))
    track = follow_markers(Sightings(t_s, spots, SIZE), spots, 2)
    assert len(track.t_s) == 40 and np.array_equal(track.points_px, truth)


def test_a_gap_begins_another_run() -> None:
    t_s = np.arange(30) / 30.0
    spots = tuple(np.zeros((0, 2)) if 10 <= k < 16 else p for k, p in enumerate(crossing(t_s)))
    track = follow_markers(Sightings(t_s, spots, SIZE), spots, 2)
    assert len(track.t_s) == 24 and track.run[0] != track.run[-1]


@pytest.mark.parametrize("late_s", [0.0, 0.0113, -0.021])
def test_a_cubic_course_is_read_exactly_at_other_moments(late_s: float) -> None:
    """The right camera's stamps are late by late_s, so what it saw at t is stamped t + late_s."""

    def course(t: np.ndarray) -> np.ndarray:
        return np.stack([300.0 + 40.0 * t - 9.0 * t**2 + 3.0 * t**3, 200.0 - 25.0 * t + 2.0 * t**3], axis=1)[:, None]

    def velocity(t: np.ndarray) -> np.ndarray:
        return np.stack([40.0 - 18.0 * t + 9.0 * t**2, -25.0 + 6.0 * t**2], axis=1)[:, None]

    t_s = np.arange(40) / 30.0
    left = WandTrack(t_s, course(t_s), np.zeros(40, np.int64))
    seen_s = t_s + 0.004
    views = interpolate_views(left, WandTrack(seen_s + late_s, course(seen_s), np.zeros(40, np.int64)), late_s)
    assert len(views) >= 36
    assert np.allclose(views.points_px[1], course(views.t_s), atol=1e-9)
    assert np.allclose(views.velocity_px_s[1], velocity(views.t_s), atol=1e-7)


def test_moments_of_one_clock_are_read_as_they_are_up_to_the_ends_of_a_run() -> None:
    t_s = np.arange(12) / 30.0
    track = WandTrack(t_s, crossing(t_s), np.repeat([0, 1], 6))
    views = interpolate_views(track, track, 0.0)
    assert np.allclose(views.points_px[0], views.points_px[1])
    assert len(views) >= 8


def failing(sightings: tuple[Sightings, Sightings], n_markers: int) -> str:
    with pytest.raises(CalibrationError) as failure:
        find_wand_tracks(sightings, n_markers)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_it_says_what_was_seen_instead_of_a_wand() -> None:
    rig, t_s = wand_rig(), np.arange(300) / 30.0
    nothing = Sightings(t_s, (np.zeros((0, 2)),) * 300, SIZE)
    assert "left camera sees no marker in any" in failing((nothing, nothing), 2)
    still = Sightings(t_s, (np.array([[100.0, 90.0], [300.0, 200.0]]),) * 300, SIZE)
    assert "only still spots" in failing((still, still), 2)
    two = both_sightings(rig, Wave(seed=3), 20.0)
    assert "sees 2 moving markers in most frames, the wand has 1" in failing(two, 1)
    one = both_sightings(rig, Wave(n_markers=1, seed=3), 20.0)
    assert "sees 1 moving marker in most frames, the wand has 2" in failing(one, 2)
    assert "right camera" in failing((two[0], still), 2)
