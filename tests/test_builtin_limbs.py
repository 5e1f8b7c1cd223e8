"""Two-bone inverse kinematics and the smooth tracks against slow, obvious ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.builtin.limbs import LONGEST, bend_angle, turn, turned, two_bone
from database.builtin.tracks import Track, bump, hermite_track, minimum_jerk, slow_noise

UPPER, LOWER = np.array((0.02, -0.44, 0.01)), np.array((-0.01, -0.40, -0.03))
HINGE = np.array((1.0, 0.0, 0.0))


@given(st.floats(0.25, 0.82), st.floats(-1.2, 1.2), st.floats(-0.8, 0.8), st.floats(-1.5, 1.5))
def test_the_limb_ends_at_its_target_and_bends_to_its_pole(distance: float, pitch: float, roll: float, yaw: float) -> None:
    rotation = turn("y", np.array([yaw])) @ turn("x", np.array([pitch])) @ turn("z", np.array([roll]))
    target = distance * turned(rotation, np.array((0.0, -1.0, 0.0)))
    pole = turned(rotation, np.array((0.1, 0.2, 1.0)))
    upper, lower = two_bone(UPPER, LOWER, HINGE, target, pole)
    knee = turned(upper, UPPER)
    end = knee + turned(upper @ lower, LOWER)
    assert end == pytest.approx(target, abs=1e-9)
    axis = target / distance
    # The hinge stands across the plane of target and pole, and the bend is on the pole's side.
    normal = turned(upper, HINGE)
    assert float(np.cross(pole, target)[0] @ (normal - np.sum(normal * axis) * axis)[0]) > 0.0
    assert float(np.sum((normal - np.sum(normal * axis) * axis) * (pole - np.sum(pole * axis) * axis))) == pytest.approx(
        0.0, abs=1e-9
    )


def test_the_bend_is_that_of_a_triangle_and_stops_short_of_straight() -> None:
    a, b = np.array((0.0, -3.0, 0.0)), np.array((0.0, -4.0, 0.0))
    angle = bend_angle(a, b, HINGE, np.array((5.0, 7.0, 99.0)))
    assert angle[0] == pytest.approx(np.pi / 2)  # 3, 4, 5
    longest = np.arccos(((7.0 * LONGEST) ** 2 - 25.0) / 24.0)
    assert angle[1:] == pytest.approx((longest, longest))
    shin = turned(turn("x", angle[:1]), b)
    assert shin[0] == pytest.approx((0.0, 0.0, -4.0))  # a knee bends backward


def test_minimum_jerk_and_bump_start_and_end_at_rest() -> None:
    s = np.array((-1.0, 0.0, 0.5, 1.0, 2.0))
    assert minimum_jerk(s) == pytest.approx((0.0, 0.0, 0.5, 1.0, 1.0))
    assert bump(s) == pytest.approx((0.0, 0.0, 1.0, 0.0, 0.0))
    for curve in (minimum_jerk, bump):
        assert abs(curve(np.array([1e-3]))[0] - curve(np.array([0.0]))[0]) < 1e-6


def test_overlapping_moves_stay_smooth_and_reach_the_last_target() -> None:
    track = Track(1.0, moves=[(0.0, 1.0, 3.0), (0.5, 1.5, -2.0)], bumps=[(2.0, 3.0, 0.7)])
    t = np.linspace(0.0, 3.5, 3501)
    value = track.sample(t)
    assert value[0] == 1.0
    assert value[t == 1.5] == pytest.approx(-2.0)
    assert value[t == 2.5] == pytest.approx(-1.3)
    assert np.abs(np.diff(value, 2)).max() < 60.0 * 1e-6  # no jumps of the velocity


def test_a_flight_is_a_parabola() -> None:
    v = 2.0
    keys = [(0.0, 0.0, v, -9.81), (2 * v / 9.81, 0.0, -v, -9.81)]
    t = np.linspace(0.0, 2 * v / 9.81, 50)
    assert hermite_track(keys, t) == pytest.approx(v * t - 9.81 / 2 * t**2, abs=1e-9)
    assert hermite_track(keys, np.array((-1.0, 9.0))) == pytest.approx((0.0, 0.0))


def test_noise_depends_on_name_and_seed_and_not_on_the_rate() -> None:
    t = np.arange(0.0, 60.0, 0.02)
    first = slow_noise("spine", 1, t)
    assert np.array_equal(first[::2], slow_noise("spine", 1, t[::2]))
    assert first.std() == pytest.approx(1.0, abs=0.2)
    for other in (slow_noise("head", 1, t), slow_noise("spine", 2, t)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.5
