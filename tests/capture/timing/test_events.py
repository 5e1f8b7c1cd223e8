"""The offset by a jump and by a flash: between frames, at other phases, and none where there is none."""

import numpy as np
import pytest

from capture.timing.events import TimeSeries, estimate_flash_offset, estimate_jump_offset


def jump(t_s: np.ndarray) -> np.ndarray:
    """Speed of somebody who jumps at 5 s: down, up and off, down and land, (N, 2) [px/s]."""
    u = t_s - 5.0
    fall = 120 * np.exp(-(((u + 0.25) / 0.08) ** 2)) - 420 * np.exp(-((u / 0.1) ** 2)) + 380 * np.exp(-(((u - 0.4) / 0.09) ** 2))
    return np.stack([fall, np.abs(fall) + 8.0], axis=1)


def course(late_s: float, seed: int, fps: float = 30.0, phase: float = 0.0) -> TimeSeries:
    """What a camera whose stamps are late makes of it."""
    rng = np.random.default_rng((seed, 3))
    true = np.arange(0.0, 9.0, 1.0 / fps) + phase
    return TimeSeries(true + late_s, jump(true) * (1.0 + 0.3 * seed) + rng.normal(0, 6.0, (len(true), 2)))


@pytest.mark.parametrize(("late_ms", "fps"), [(-180.0, 30.0), (-7.0, 25.0), (0.0, 25.0), (7.9, 30.0), (133.0, 25.0)])
def test_a_jump_tells_the_offset_to_a_few_milliseconds(late_ms: float, fps: float) -> None:
    found = estimate_jump_offset(course(0.0, 0), course(1e-3 * late_ms, 1, fps, 0.011))
    assert found is not None
    assert 1e3 * found.offset_s == pytest.approx(late_ms, abs=2.0)
    assert abs(1e3 * found.offset_s - late_ms) < 4e3 * found.sigma_s and found.sigma_s < 0.003


def test_steps_and_stillness_are_no_jump() -> None:
    t = np.arange(0.0, 9.0, 1 / 30)
    walk = np.stack([60 * np.sin(6.28 * 1.8 * t), 40 + 20 * np.sin(6.28 * 1.8 * t)], axis=1)
    assert estimate_jump_offset(TimeSeries(t, walk), TimeSeries(t + 0.02, walk)) is None
    rng = np.random.default_rng(1)
    still = [TimeSeries(t, rng.normal(0, 5, (len(t), 2))) for _ in range(2)]
    assert estimate_jump_offset(*still) is None
    assert estimate_jump_offset(course(0.0, 0), still[1]) is None
    assert estimate_jump_offset(TimeSeries(t[:4], walk[:4]), TimeSeries(t, walk)) is None


def light(
    late_s: float, phase: float, seed: int, ons: tuple[float, ...], shutter_s: float = 0.02, fps: float = 30.0
) -> TimeSeries:
    """Brightness under a light that is on for 0.3 s after each of `ons`; frame stamped at the end of its exposure."""
    rng = np.random.default_rng(seed)
    end = np.arange(0.0, 8.0, 1.0 / fps) + phase
    fine = (np.arange(20) + 0.5) / 20 * shutter_s
    on = np.zeros((len(end), 20))
    for t in ons:
        on += (end[:, None] - fine > t) & (end[:, None] - fine < t + 0.3)
    return TimeSeries(end + late_s, (20.0 + 60.0 * on.mean(axis=1) + rng.normal(0, 0.4, len(end)))[:, None])


@pytest.mark.parametrize(("late_ms", "seed"), [(-24.0, 0), (0.0, 1), (9.0, 2), (210.0, 0)])
def test_five_flashes_bound_the_offset(late_ms: float, seed: int) -> None:
    ons = tuple(np.random.default_rng(seed).uniform(0.5, 1.1) + np.cumsum(np.random.default_rng((seed, 1)).uniform(0.6, 1.3, 5)))
    found = estimate_flash_offset(light(0.0, 0.0, seed, ons), light(1e-3 * late_ms, 0.013, seed + 9, ons))
    assert found is not None
    assert abs(1e3 * found.offset_s - late_ms) < 3e3 * found.sigma_s
    assert found.sigma_s < 0.006
    one = estimate_flash_offset(light(0.0, 0.0, seed, ons[:1]), light(1e-3 * late_ms, 0.013, seed + 9, ons[:1]))
    assert one is not None and one.sigma_s > found.sigma_s


def test_a_light_that_changes_in_one_view_only_tells_nothing() -> None:
    assert estimate_flash_offset(light(0.0, 0.0, 0, (2.0, 4.0)), light(0.0, 0.01, 1, ())) is None
