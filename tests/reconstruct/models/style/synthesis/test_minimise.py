"""A step of the minimiser against the whole system solved in numpy."""

import numpy as np
from numpy.testing import assert_allclose

from reconstruct.models.style.features import N_ANGLES
from reconstruct.models.style.synthesis.minimise import _step
from tests.reconstruct.models.style.synthesis.synthesis_problems import evaluated, problem


def test_a_step_solves_the_whole_system() -> None:
    prior, targets, state = problem(np.random.default_rng(5))
    _, lin = evaluated(state, prior, targets)
    J, n = np.concatenate([lin.rows_a, lin.rows_p], axis=1), len(lin.residual)
    H = np.block([[np.diag(lin.hessian_a), lin.hessian_ap], [lin.hessian_ap.T, lin.hessian_p]]) + J.T @ J
    scale = np.concatenate([lin.hessian_a, lin.scale_p]) + (J**2).sum(axis=0)
    gradient = np.concatenate([lin.gradient_a, lin.gradient_p]) + J.T @ lin.residual
    step_a, step_p, damping = np.empty(N_ANGLES), np.empty(10), 0.1
    while (gain := _step(lin, n, damping, step_a, step_p)) < 0.0:  # far from a minimum the Hessian is indefinite
        damping *= 10.0
    assert damping < 1e4
    little = np.concatenate([np.full(N_ANGLES, 1e-9), np.full(10, 1e-6)])
    expected = -np.linalg.solve(H + np.diag(damping * scale + little), gradient)
    assert_allclose(np.concatenate([step_a, step_p]), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert_allclose(gain, -0.5 * gradient @ expected, rtol=1e-8)
