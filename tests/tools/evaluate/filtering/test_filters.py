"""The peers of the output filter: the one-euro filter by hand, and as a low pass."""

import numpy as np

from tools.evaluate.filtering.filters import low_pass, one_euro

SECONDS = np.arange(60) / 60.0


def test_one_euro_with_no_beta_is_a_low_pass() -> None:
    joints = np.random.default_rng(0).normal(size=(60, 2, 3))
    np.testing.assert_allclose(one_euro(joints, SECONDS, 2.0, 0.0), low_pass(joints, SECONDS, 2.0), atol=1e-12)


def test_one_euro_by_hand() -> None:
    """x = 0, 1, 1 at 1 s, least 1 Hz, beta 0.5: a speed of s1 = 2 pi / (2 pi + 1), then cutoff 1 + 0.5 s1."""
    share = 2 * np.pi / (2 * np.pi + 1)
    cutoff = 1.0 + 0.5 * share
    first = 2 * np.pi * cutoff / (2 * np.pi * cutoff + 1)
    speed = share * (1.0 - share)
    cutoff = 1.0 + 0.5 * speed
    second = first + 2 * np.pi * cutoff / (2 * np.pi * cutoff + 1) * (1.0 - first)
    given = one_euro(np.array([0.0, 1.0, 1.0])[:, None], np.array([0.0, 1.0, 2.0]), 1.0, 0.5)
    np.testing.assert_allclose(given[:, 0], [0.0, first, second], rtol=1e-12)
