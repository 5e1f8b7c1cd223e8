"""Contacts frame by frame: speed, shares of neighbours, probabilities, hysteresis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import FeetSettings
from reconstruct.finish.contacts import (
    FootMotion,
    compute_contact_probability,
    compute_contact_share,
    compute_floor_heights_m,
    follow_points,
    update_contacts,
)


def test_track_follows_a_steady_motion_without_lag() -> None:
    velocity = np.array([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.3], [0.0, 3.0, 0.0]])
    track: FootMotion | None = None
    for n in range(60):
        track = follow_points(track, n / 60.0 * velocity, 0.0 if n == 0 else 1.0 / 60.0)
    assert track is not None
    np.testing.assert_allclose(track.velocity_m_s, velocity, atol=1e-6)
    np.testing.assert_allclose(track.position_m, 59.0 / 60.0 * velocity, atol=1e-6)
    np.testing.assert_allclose(track.speed_m_s, [5.0**0.5, 0.0, 0.14**0.5, 3.0], atol=1e-6)


def test_track_feels_a_stop_within_a_few_frames() -> None:
    track = None
    for n in range(40):
        track = follow_points(track, np.full((4, 3), min(n, 30) * 0.05), 0.0 if n == 0 else 1.0 / 60.0)
        if n == 33:
            assert track.speed_m_s.max() < 0.5 * 3.0 * 3.0**0.5
    assert track is not None and track.speed_m_s.max() < 0.1 * 3.0 * 3.0**0.5


def test_share_is_the_weighted_mean_of_the_neighbours_labels() -> None:
    labels = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 1]], np.uint8)
    assert compute_contact_share(labels, np.array([0, 2, 1]), np.array([1.0, 2.0, 1.0])).tolist() == [0.5, 0.25, 0.0, 0.75]
    assert np.isnan(compute_contact_share(labels, np.array([], np.int64), np.zeros(0))).all()
    assert np.isnan(compute_contact_share(labels, np.array([0]), np.zeros(1))).all()


def test_probability_weighs_neighbours_speed_and_height() -> None:
    still, even = np.zeros(4), np.full(4, 0.5)
    share = np.array([0.0, 0.5, 1.0, np.nan])
    at_even = compute_contact_probability(share, even)
    assert at_even[1] == pytest.approx(0.5) and at_even[3] == pytest.approx(0.5)
    assert at_even[0] < 0.05 and at_even[2] > 0.95
    # 6 times slower than even with the speed floor: odds 6^1.3.
    assert compute_contact_probability(share, still)[1] == pytest.approx(6**1.3 / (1 + 6**1.3))
    assert (compute_contact_probability(share, even, np.full(4, -0.1)) == at_even).all()
    assert compute_contact_probability(share, even, np.full(4, 0.05 + 0.03))[1] == pytest.approx(1 / (1 + np.e**2))


def test_contacts_have_hysteresis() -> None:
    before = np.array([True, False, True, False])
    assert update_contacts(before, np.full(4, 0.5), FeetSettings()).tolist() == before.tolist()
    assert update_contacts(before, np.full(4, 0.61), FeetSettings()).all()
    assert not update_contacts(before, np.full(4, 0.34), FeetSettings()).any()


def test_height_is_over_that_of_a_standing_foot() -> None:
    points = np.array([[9.0, 1.0, 0.0], [9.0, 0.0, 1.0], [9.0, 1.0, 1.0], [9.0, 0.0, 0.0]])
    over = compute_floor_heights_m(points, 0.1, np.array([0.02, 0.05]))
    np.testing.assert_allclose(over, [1.0 - 0.12, -0.1, 1.0 - 0.15, -0.1])


@given(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), st.lists(st.floats(0.0, 100.0), min_size=4, max_size=4))
def test_probability_is_one(share: list[float], speed: list[float]) -> None:
    p = compute_contact_probability(np.array(share), np.array(speed))
    assert ((p > 0.0) & (p < 1.0)).all()
    faster = compute_contact_probability(np.array(share), np.array(speed) + 0.3)
    assert (faster < p).all()
