"""The wand's adjustment: derivatives against differences, elimination against the whole matrix, the truth found again."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.wand.adjust import (
    WandFreedom,
    WandProblem,
    WandState,
    adjust_wand,
    compute_wand_jacobians,
    compute_wand_residuals,
    take_step,
)
from calibration.wand.tracks import WandViews
from config.arrays import Floats
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec

INTRINSICS = np.array(
    [
        [560.0, 556.0, 318.0, 243.0, -0.11, 0.06, 0.0004, -0.0003, 0.01, 0.0],
        [601.0, 604.0, 325.5, 236.0, -0.1, 0.05, -0.0003, 0.0005, 0.0, 0.0],
    ]
)


def scene(
    K: int, F: int = 7, seed: int = 0, noise_px: float = 0.0, C: int = 2, robust: bool = True, **free: bool
) -> tuple[WandState, WandProblem]:
    """Return a state that is nearly right and what was measured of it, in baselines."""
    rng = np.random.default_rng(seed)
    R, t = matrix_from_rotvec([0.05, -0.3, 0.1]), np.array([-0.96, 0.2, 0.19])
    middle = rng.uniform((-1.0, -0.8, 2.5), (1.0, 0.8, 4.5), (F, 3))
    along = rng.normal(size=(F, 3))
    along = 0.2 * along / np.linalg.norm(along, axis=1, keepdims=True)
    points = middle[:, None] if K == 1 else np.stack([middle - along, middle + along], axis=1)
    turn, shift = np.stack([np.eye(3), R, R.T])[:C], np.stack([np.zeros(3), t / np.linalg.norm(t), [0.8, -0.1, 0.3]])[:C]
    intrinsics = INTRINSICS[np.arange(C) % 2]
    state = WandState(intrinsics, turn, shift, points, 0.4 if K == 2 else 0.0, np.zeros(C), np.zeros(C))
    velocity, seen = rng.normal(0.0, 300.0, (C, F, K, 2)), np.ones((C, F), bool)
    velocity[0], seen[2:, ::3] = 0.0, False
    views = WandViews(np.arange(F, dtype=float), np.zeros((C, F, K, 2)), velocity, seen, np.zeros(F, np.int64))
    zero = WandProblem(views, np.ones((F, K), bool), 0.2, 4e-4, WandFreedom(**free), robust)
    px, _ = compute_wand_residuals(state, zero)
    return state, replace(zero, views=replace(views, points_px=-px + rng.normal(0.0, noise_px, px.shape)))


def moved_residuals(state: WandState, problem: WandProblem, shared: Floats, places: Floats) -> tuple[Floats, Floats]:
    return compute_wand_residuals(take_step(state, problem, shared, places), problem)


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("focal", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("C", [2, 3])
def test_derivatives_are_those_of_central_differences(K: int, focal: bool, offset: bool, C: int) -> None:
    """Moments that the third camera does not see are among them."""
    state, problem = scene(K, C=C, focal=focal, offset=offset)
    shared, place = compute_wand_jacobians(state, problem)
    F, step = len(state.points), 1e-6
    for p in range(problem.n_shared):
        d = np.zeros(problem.n_shared)
        d[p] = step
        ahead, back = (moved_residuals(state, problem, sign * d, np.zeros((F, 3 * K)))[0] for sign in (1.0, -1.0))
        assert np.allclose((ahead - back) / (2.0 * step), shared[..., p], rtol=1e-5, atol=1e-3), p
    for k in range(K):
        for i in range(3):
            d = np.zeros((F, 3 * K))
            d[:, 3 * k + i] = step
            ahead, back = (moved_residuals(state, problem, np.zeros(problem.n_shared), sign * d)[0] for sign in (1.0, -1.0))
            difference = (ahead - back) / (2.0 * step)
            assert np.allclose(difference[:, :, k], place[:, :, k, :, i], rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("robust", [False, True])
def test_gradient_is_that_of_the_cost(robust: bool) -> None:
    state, problem = scene(2, seed=3, noise_px=0.7, focal=True, offset=True, robust=robust)
    state = replace(state, length=0.4003, log_focal=np.array([0.02, -0.01]), delta_s=np.array([0.0, 0.003]))
    normal = problem.linearise(state)
    g_c, g_p = normal.gradient, normal.groups[0].gradient
    F, step = len(state.points), 1e-7
    for p in range(problem.n_shared):
        d = np.zeros(problem.n_shared)
        d[p] = step
        ahead, back = (problem.cost(take_step(state, problem, sign * d, np.zeros((F, 6)))) for sign in (1.0, -1.0))
        assert 0.5 * (ahead - back) / (2.0 * step) == pytest.approx(g_c[p], rel=1e-3, abs=0.05 * np.abs(g_c).max() * 1e-2), p
    for i in range(6):
        d = np.zeros((F, 6))
        d[2, i] = step
        ahead, back = (problem.cost(take_step(state, problem, np.zeros(len(g_c)), sign * d)) for sign in (1.0, -1.0))
        assert 0.5 * (ahead - back) / (2.0 * step) == pytest.approx(g_p[2, i], rel=1e-3, abs=1e-3 * np.abs(g_p).max())


@pytest.mark.parametrize("K", [1, 2])
def test_the_truth_is_found_again_from_nearby(K: int) -> None:
    truth, problem = scene(K, F=40, seed=1, offset=True)
    rng = np.random.default_rng(8)
    start = take_step(
        truth, problem, np.r_[0.03, -0.02, 0.04, 0.05, -0.03, 0.004, np.zeros(K - 1)], rng.normal(0.0, 0.05, (40, 3 * K))
    )
    start = replace(start, length=1.1 * start.length)
    fit = adjust_wand(start, problem)
    assert fit.cost < 1e-6 < problem.cost(start)
    assert compute_geodesic_rad(fit.state.rotation, truth.rotation).max() < 1e-6
    assert np.allclose(fit.state.translation, truth.translation, atol=1e-6) and abs(fit.state.delta_s).max() < 1e-7
    assert np.allclose(fit.state.points, truth.points, atol=1e-5)


def test_a_rigid_wand_tells_focal_lengths_that_were_wrong() -> None:
    truth, problem = scene(2, F=60, seed=2, focal=True)
    wrong = truth.intrinsics.copy()
    wrong[0, :2] *= 1.1
    wrong[1, :2] *= 0.93
    fit = adjust_wand(replace(truth, intrinsics=wrong), problem, max_steps=80)
    assert np.allclose(fit.state.intrinsics[:, :2], truth.intrinsics[:, :2], rtol=1e-3)
    assert np.allclose(fit.state.log_focal, -np.log([1.1, 0.93]), atol=1e-3)
