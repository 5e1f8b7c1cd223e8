"""The smooth tracks of a plan against slow, obvious ones."""

import numpy as np
import pytest

from database.builtin.plan import KeyedValue, compute_bump, compute_minimum_jerk, interpolate_hermite, make_slow_noise


def test_minimum_jerk_and_bump_start_and_end_at_rest() -> None:
    s = np.array((-1.0, 0.0, 0.5, 1.0, 2.0))
    assert compute_minimum_jerk(s) == pytest.approx((0.0, 0.0, 0.5, 1.0, 1.0))
    assert compute_bump(s) == pytest.approx((0.0, 0.0, 1.0, 0.0, 0.0))
    for curve in (compute_minimum_jerk, compute_bump):
        assert abs(curve(np.array([1e-3]))[0] - curve(np.array([0.0]))[0]) < 1e-6


def test_overlapping_moves_stay_smooth_and_reach_the_last_target() -> None:
    track = KeyedValue(1.0, moves=[(0.0, 1.0, 3.0), (0.5, 1.5, -2.0)], bumps=[(2.0, 3.0, 0.7)])
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
    assert interpolate_hermite(keys, t) == pytest.approx(v * t - 9.81 / 2 * t**2, abs=1e-9)
    assert interpolate_hermite(keys, np.array((-1.0, 9.0))) == pytest.approx((0.0, 0.0))


def test_noise_depends_on_name_and_seed_and_not_on_the_rate() -> None:
    t = np.arange(0.0, 60.0, 0.02)
    first = make_slow_noise("spine", 1, t)
    assert np.array_equal(first[::2], make_slow_noise("spine", 1, t[::2]))
    assert first.std() == pytest.approx(1.0, abs=0.2)
    for other in (make_slow_noise("head", 1, t), make_slow_noise("spine", 2, t)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.5
