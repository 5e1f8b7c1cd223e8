"""The time offset from the epipolar error: recovered from noisy markers, and nothing claimed where nothing moves."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.placement import make_facing_rig
from capture.packets import MarkerFrame
from capture.timing.offset import TimeOffsetEstimator, fit_slope_robustly

RIG = make_facing_rig((640, 480), 60.0, 3.0, 1.0, 1.2)
N = 9


def points_at(t_s: float, seed: int, size_m: float = 0.35) -> np.ndarray:
    """Nine markers of a body about the origin, each on its own way, as fast as a boxer's, (9, 3) [m]."""
    rng = np.random.default_rng((seed, 5))
    start = rng.uniform([-0.5, 0.2, -0.3], [0.5, 1.7, 0.3], (N, 3))
    phase, rate = rng.uniform(0, 6.28, (N, 3)), rng.uniform(0.5, 1.6, (N, 3))
    return start + size_m * rng.uniform(0.2, 1.0, (N, 1)) * np.sin(6.28 * rate * t_s + phase)


def frames(rig: Rig, late_ms: float, seconds: float, seed: int, size_m: float = 0.35, noise_px: float = 0.3) -> list[MarkerFrame]:
    """What two cameras at 30 Hz see, the right one's stamps `late_ms` late, each marker with a bias of its own."""
    rng = np.random.default_rng((seed, 7))
    bias = rng.normal(0, 0.4, (2, N, 2))
    found = []
    for k in range(round(30 * seconds)):
        t_s = k / 30
        true_s = (t_s, t_s - 1e-3 * late_ms)
        px = np.stack([c.project(points_at(t, seed, size_m)) for c, t in zip(rig.cameras, true_s, strict=True)])
        px = px + bias + rng.normal(0, noise_px, px.shape)
        valid = rng.random(N) > 0.1
        nothing = np.zeros((N, 3))
        found.append(
            MarkerFrame(
                k,
                round(1e9 * t_s),
                0,
                valid,
                nothing,
                np.zeros((N, 3, 3)),
                np.stack([valid, valid]),
                px,
                np.full((2, N), 0.32),
                np.zeros(N),
                np.zeros((0, 3)),
            )
        )
    return found


@pytest.mark.parametrize(("seed", "late_ms"), [(0, -11.0), (3, 0.0), (5, 6.5)])
def test_offset_is_found_within_a_millisecond(seed: int, late_ms: float) -> None:
    time = TimeOffsetEstimator()
    for frame in frames(RIG, late_ms, 8.0, seed):
        time.add(frame, RIG, (0.0, 0.0))
    known = time.estimate
    assert abs(known.estimate_ms - late_ms) < 1.0
    assert known.sigma_ms < 1.0
    assert abs(known.offset_ms - late_ms) < 1.0
    if late_ms == 0.0:
        assert abs(known.offset_ms) < 0.5


def test_what_is_applied_is_taken_into_account() -> None:
    """Frames corrected by 4 of 6.5 ms show the rest: the answer is the whole."""
    time = TimeOffsetEstimator()
    for frame in frames(RIG, 2.5, 6.0, 1):
        time.add(frame, RIG, (0.0, 0.004))
    assert time.estimate.estimate_ms == pytest.approx(6.5, abs=0.7)


def test_nothing_is_claimed_where_nothing_moves() -> None:
    time = TimeOffsetEstimator()
    for frame in frames(RIG, 9.0, 8.0, 1, size_m=0.0):
        time.add(frame, RIG, (0.0, 0.0))
    known = time.estimate
    assert known.offset_ms == 0.0 and known.sigma_ms > 5.0


def test_wrong_labels_now_and_then_do_not_lead_astray() -> None:
    time, rng = TimeOffsetEstimator(), np.random.default_rng(2)
    for frame in frames(RIG, 7.0, 8.0, 4):
        if rng.random() < 0.15:
            swapped = frame.image_px.copy()
            swapped[1, [2, 6]] = swapped[1, [6, 2]]
            frame = replace(frame, image_px=swapped)
        time.add(frame, RIG, (0.0, 0.0))
    assert time.estimate.estimate_ms == pytest.approx(7.0, abs=1.0)


def test_a_jump_of_the_offset_is_followed() -> None:
    """The camera was opened anew: after 6 s the offset is another one."""
    time = TimeOffsetEstimator()
    first, second = frames(RIG, 5.0, 6.0, 3), frames(RIG, -8.0, 16.0, 3)[180:]
    for frame in first:
        time.add(frame, RIG, (0.0, 0.0))
    assert time.estimate.estimate_ms == pytest.approx(5.0, abs=0.7)
    for frame in second:
        time.add(frame, RIG, (0.0, 0.0))
    assert time.estimate.estimate_ms == pytest.approx(-8.0, abs=1.5)


def test_after_an_interruption_it_is_unsure_again_but_keeps_what_is_in_use() -> None:
    time = TimeOffsetEstimator()
    for frame in frames(RIG, 5.0, 6.0, 3):
        time.add(frame, RIG, (0.0, 0.0))
    in_use = time.applied_s
    time.interrupt()
    assert time.estimate.sigma_ms == pytest.approx(30.0) and time.applied_s == in_use != 0.0
    time.forget()
    assert time.applied_s == 0.0


def test_noise_in_the_speeds_makes_the_slope_no_smaller() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(0, 20, 4000)
    first, second = (true + rng.normal(0, 12, 4000) for _ in range(2))
    y = 0.008 * true + rng.normal(0, 0.1, 4000)
    k, variance = fit_slope_robustly(0.5 * (first + second), y, np.full(4000, 0.1), 0.5 * (first - second)) or (0.0, 0.0)
    assert k == pytest.approx(0.008, abs=4 * np.sqrt(variance)) and np.sqrt(variance) < 4e-4
    assert fit_slope_robustly(rng.normal(0, 12, 200), rng.normal(0, 1, 200), np.ones(200), rng.normal(0, 12, 200)) is None
