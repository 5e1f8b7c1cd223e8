"""Where learning starts: alpha, beta and gamma are not left in a minimum where no pose tells of another."""

from dataclasses import replace

import numpy as np
import pytest

from database.rotations import Floats
from reconstruct.style.learn_parameters import Fit, relearned
from reconstruct.style.start import FIRST, principal, with_parameters


def noisy(n: int, signal: int, n_features: int, deviation: float) -> Floats:
    """Give features, (N, D), the first of which follow one phase, and all of which are noisy."""
    rng = np.random.default_rng(7)
    phase = np.linspace(0.0, 4.0 * np.pi, n)
    Y = deviation * rng.normal(size=(n, n_features))
    Y[:, :signal] += np.sin(phase[:, None] + rng.uniform(0.0, 6.0, signal))
    return np.asarray(Y - Y.mean(axis=0))


def from_gamma(gamma: float, start: Fit, Y: Floats) -> Fit:
    """Give the start with parameters learned from one gamma only."""
    first = replace(FIRST, gamma=gamma)
    return replace(start, parameters=relearned(start.X, start.ln_scale, Y, first, "lbfgs"))


@pytest.mark.parametrize(
    ("Y", "n_latent", "bad", "good"),
    [(noisy(60, 12, 36, 0.6), 3, 10.0, 1.0), (noisy(80, 9, 60, 0.5), 5, 0.1, 1.0)],
)
def test_a_large_gamma_is_a_minimum_and_not_where_learning_starts(Y: Floats, n_latent: int, bad: float, good: float) -> None:
    start = principal(Y, n_latent, np.full(Y.shape[1], 100.0))
    trapped, sound = from_gamma(bad, start, Y), from_gamma(good, start, Y)
    assert trapped.parameters.gamma > 20.0 * sound.parameters.gamma
    assert trapped.value(Y) > sound.value(Y) + 100.0
    found = with_parameters(start, Y, "lbfgs")
    np.testing.assert_allclose(found.value(Y), sound.value(Y), rtol=1e-3)
    assert found.parameters.gamma < 1.1 * sound.parameters.gamma
