"""The energy's gradient against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from reconstruct.models.style.features import N_ANGLES
from reconstruct.models.style.synthesis.arrays import SynthesisState
from reconstruct.models.style.synthesis.minimise import _apply_step
from tests.reconstruct.models.style.synthesis.synthesis_problems import evaluated, problem


@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_of_the_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, targets, state = problem(rng)
    _, lin = evaluated(state, prior, targets)
    gradient = np.concatenate([lin.gradient_a + lin.rows_a.T @ lin.residual, lin.gradient_p + lin.rows_p.T @ lin.residual])
    for _ in range(4):
        d = rng.normal(size=len(gradient)) * 1e-6
        ends = []
        for sign in (1.0, -1.0):
            trial = SynthesisState(*(np.empty_like(part) for part in state))
            _apply_step(state, sign * d[:N_ANGLES], sign * d[N_ANGLES:], trial)
            ends.append(evaluated(trial, prior, targets)[0])
        assert_allclose(ends[0] - ends[1], 2.0 * gradient @ d, rtol=1e-5, atol=1e-6 * np.abs(gradient).max() * 1e-6 * 100.0)
