"""Markers of a trial pose: against the forward kinematics; their derivatives against differences; the robust scale by hand."""

import numpy as np
import pytest

from config.arrays import Floats
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.solve.linearise import (
    PosedMarkers,
    add_residual,
    compute_marker_jacobian,
    compute_posed_markers,
    compute_robust_loss,
    compute_robust_weight,
)
from tests.reconstruct.solve.problems import N_W, PLACE, problem

TASK = problem("3d", 6)
X = np.concatenate([np.random.default_rng(6).normal(0.0, 0.3, N_W), np.zeros(3), PLACE])


def posed(x: Floats) -> PosedMarkers:
    return compute_posed_markers(x, TASK.terms.space, TASK.terms.body)


def test_markers_are_those_of_the_forward_kinematics() -> None:
    x = X + np.concatenate([np.zeros(N_W), [0.2, -0.4, 0.1], np.zeros(3)])
    pose = TASK.model.mean + TASK.model.directions @ x[:N_W]
    local = compute_local_markers(TASK.subject.skeleton, pose[None], TASK.subject.joint, TASK.subject.offset_m)[0]
    arm = local @ (matrix_from_rotvec(x[N_W : N_W + 3]) @ TASK.root[0]).T
    np.testing.assert_allclose(posed(x).arm_m, arm, atol=1e-12)
    np.testing.assert_allclose(posed(x).world_m, arm + PLACE, atol=1e-12)


def test_derivatives_against_central_differences() -> None:
    """At d = 0, where they are exact; h = 1e-5 leaves an error of h^2 f''' / 6."""
    h, here = 1e-5, posed(X)
    numeric = np.stack([(posed(X + h * e).world_m - posed(X - h * e).world_m) / (2 * h) for e in np.eye(len(X))], axis=2)
    for m in range(len(here.world_m)):
        n = compute_marker_jacobian(here, m)
        full = np.zeros((3, len(X)))
        full[:, here.columns[:n]] = here.by_x[:n].T
        np.testing.assert_allclose(full, numeric[m], atol=1e-8)


def test_a_residual_adds_its_normal_equations() -> None:
    rng, here, n_x = np.random.default_rng(1), posed(X), len(X)
    n = compute_marker_jacobian(here, 2)
    J = np.zeros((3, n_x))
    J[:, here.columns[:n]] = here.by_x[:n].T
    D, e, A, g = rng.normal(size=(3, 3)), rng.normal(size=3), np.zeros((n_x, n_x)), np.zeros(n_x)
    add_residual(here, n, e, D, 0.7, A, g)
    np.testing.assert_allclose(np.tril(A), np.tril(0.7 * (D @ J).T @ (D @ J)), atol=1e-12)
    np.testing.assert_allclose(g, 0.7 * (D @ J).T @ e, atol=1e-12)


@pytest.mark.parametrize(("s", "rho", "weight"), [(0.0, 0.0, 1.0), (27.0, 9.0, 0.5), (72.0, 18.0, 1.0 / 3.0)])
def test_pseudo_huber_by_hand(s: float, rho: float, weight: float) -> None:
    assert compute_robust_loss(s, 9.0) == pytest.approx(rho) and compute_robust_weight(s, 9.0) == pytest.approx(weight)
