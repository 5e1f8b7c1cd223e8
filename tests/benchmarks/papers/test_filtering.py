"""Jitter, delay and error of signals in which they are known; the one-euro filter by hand, and as a low pass."""

import numpy as np
import pytest

from benchmarks.papers.filtering import (
    compute_delay_ms,
    compute_jitter_mm,
    filter_one_euro,
    find_stillest_frame,
    interpolate_joints,
)
from config.arrays import Floats

SECONDS = np.arange(240) / 60.0


def swing(seconds: Floats) -> Floats:
    """Return two joints on curves of 0.7 and 1.1 Hz, (N, 2, 3) [m]."""
    first = np.stack([0.3 * np.sin(4.4 * seconds), 1.0 + 0.1 * np.cos(4.4 * seconds), 0.5 * seconds], axis=1)
    second = np.stack([0.2 * np.cos(6.9 * seconds), 0.8 + 0.0 * seconds, 0.1 * np.sin(6.9 * seconds)], axis=1)
    return np.stack([first, second], axis=1)


def test_jitter_of_white_noise_is_its_standard_deviation() -> None:
    """4 mm in each of three coordinates are 6.9 mm of distance; the mean over 31 frames takes a 62nd part of that with it."""
    noise = np.random.default_rng(0).normal(0.0, 0.004, (600, 4, 3))
    assert compute_jitter_mm(noise, np.arange(600) / 60.0) == pytest.approx(np.sqrt(3.0) * 4.0 * np.sqrt(30.0 / 31.0), rel=0.03)


def test_jitter_does_not_see_slow_sway() -> None:
    """A sway of 2 cm in 10 s: within half a second it bends by parts of a millimetre, at the two ends by some more."""
    sway = 0.02 * np.sin(2.0 * np.pi * 0.1 * SECONDS)[:, None, None] * np.ones((1, 3, 3))
    assert compute_jitter_mm(sway, SECONDS) < 1.0
    assert 1e3 * np.sqrt((sway**2).sum(axis=2).mean()) > 15.0


@pytest.mark.parametrize("late_ms", [-9.0, 0.0, 4.3, 17.0, 80.0])
def test_delay_of_a_shifted_motion_is_the_shift(late_ms: float) -> None:
    shifted = swing(SECONDS - 1e-3 * late_ms)
    assert compute_delay_ms(shifted, swing(SECONDS), SECONDS) == pytest.approx(late_ms, abs=0.1)


def test_delay_of_a_low_pass_is_its_time_constant() -> None:
    """A slow motion passes a low pass of 4 Hz late by 1 / (2 pi 4) = 40 ms, less half of 2 % as its phase bends."""
    delay = compute_delay_ms(filter_one_euro(swing(SECONDS), SECONDS, 4.0, 0.0)[30:], swing(SECONDS)[30:], SECONDS[30:])
    assert 32.0 < delay < 41.0


def test_positions_between_frames() -> None:
    wanted = np.array([0.1, 1.2345, 3.9])
    np.testing.assert_allclose(interpolate_joints(swing(SECONDS), SECONDS)(wanted), swing(wanted), atol=2e-5)


def test_the_stillest_second_is_found() -> None:
    joints = np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, (300, 3, 3)), axis=0)
    joints[140:215] = joints[140]
    assert 140 + 30 <= find_stillest_frame(joints) <= 215 - 30


def test_one_euro_by_hand() -> None:
    """x = 0, 1, 1 at 1 s, least 1 Hz, beta 0.5: a speed of s1 = 2 pi / (2 pi + 1), then cutoff 1 + 0.5 s1."""
    share = 2 * np.pi / (2 * np.pi + 1)
    cutoff = 1.0 + 0.5 * share
    first = 2 * np.pi * cutoff / (2 * np.pi * cutoff + 1)
    speed = share * (1.0 - share)
    cutoff = 1.0 + 0.5 * speed
    second = first + 2 * np.pi * cutoff / (2 * np.pi * cutoff + 1) * (1.0 - first)
    given = filter_one_euro(np.array([0.0, 1.0, 1.0])[:, None], np.array([0.0, 1.0, 2.0]), 1.0, 0.5)
    np.testing.assert_allclose(given[:, 0], [0.0, first, second], rtol=1e-12)
