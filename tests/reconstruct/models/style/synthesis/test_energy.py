"""The gradient of the energy against differences, rotation errors by hand, a step of the minimiser against the whole system."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.models.style.features import N_ANGLES
from reconstruct.models.style.synthesis.arrays import SynthesisState
from reconstruct.models.style.synthesis.minimise import apply_synthesis_step, compute_damped_step
from reconstruct.models.style.synthesis.rows import compute_rotation_error
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
            apply_synthesis_step(state, sign * d[:N_ANGLES], sign * d[N_ANGLES:], trial)
            ends.append(evaluated(trial, prior, targets)[0])
        assert_allclose(ends[0] - ends[1], 2.0 * gradient @ d, rtol=1e-5, atol=1e-6 * np.abs(gradient).max() * 1e-6 * 100.0)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-8, np.pi])
def test_rotation_error_is_the_rotation_vector(angle: float) -> None:
    axis, target, e = np.array([0.6, 0.0, -0.8]), matrix_from_rotvec([0.2, 0.5, -1.0]), np.empty(3)
    R = np.ascontiguousarray(matrix_from_rotvec(angle * axis) @ target)
    compute_rotation_error(R, target, e)
    assert compute_geodesic_rad(matrix_from_rotvec(e) @ target, R) < 1e-6 and abs(np.linalg.norm(e) - angle) < 1e-6


def test_a_step_solves_the_whole_system() -> None:
    prior, targets, state = problem(np.random.default_rng(5))
    _, lin = evaluated(state, prior, targets)
    J, n = np.concatenate([lin.rows_a, lin.rows_p], axis=1), len(lin.residual)
    H = np.block([[np.diag(lin.hessian_a), lin.hessian_ap], [lin.hessian_ap.T, lin.hessian_p]]) + J.T @ J
    scale = np.concatenate([lin.hessian_a, lin.scale_p]) + (J**2).sum(axis=0)
    gradient = np.concatenate([lin.gradient_a, lin.gradient_p]) + J.T @ lin.residual
    step_a, step_p, damping = np.empty(N_ANGLES), np.empty(10), 0.1
    while (gain := compute_damped_step(lin, n, damping, step_a, step_p)) < 0.0:  # far from a minimum the Hessian is indefinite
        damping *= 10.0
    assert damping < 1e4
    little = np.concatenate([np.full(N_ANGLES, 1e-9), np.full(10, 1e-6)])
    expected = -np.linalg.solve(H + np.diag(damping * scale + little), gradient)
    assert_allclose(np.concatenate([step_a, step_p]), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert_allclose(gain, -0.5 * gradient @ expected, rtol=1e-8)
