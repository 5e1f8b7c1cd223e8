"""The energy's gradient against differences."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from reconstruct.style.features import N_ANGLES
from reconstruct.style.synthesis_kernels import _moved
from tests.synthesis_problems import evaluated, problem


@given(st.integers(0, 10**6))
@settings(max_examples=2)
def test_gradient_of_the_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, arrays, state = problem(rng)
    _, lin, n = evaluated(state, prior, arrays)
    gradient = np.concatenate([lin[2] + lin[5][:n].T @ lin[7][:n], lin[4] + lin[6][:n].T @ lin[7][:n]])
    for _ in range(4):
        d = rng.normal(size=len(gradient)) * 1e-6
        ends = []
        for sign in (1.0, -1.0):
            trial = tuple(np.empty_like(part) for part in state)
            _moved(state, sign * d[:N_ANGLES], sign * d[N_ANGLES:], trial)
            ends.append(evaluated(trial, prior, arrays)[0])
        assert_allclose(ends[0] - ends[1], 2.0 * gradient @ d, rtol=1e-5, atol=1e-6 * np.abs(gradient).max() * 1e-6 * 100.0)
