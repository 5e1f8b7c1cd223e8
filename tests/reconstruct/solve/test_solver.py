"""The minimum of a frame's energy: descent, scipy's minimum, outliers, nothing seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.observations import observations_from_markers
from tests.reconstruct.solve.problems import KINDS, N_W, PLACE, TURN, observed, problem
from tests.support.people import front_rig, marker_frame_of


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.floats(0.001, 0.6), st.floats(0.05, 3.0))
def test_energy_never_rises(seed: int, kind: str, noise_m: float, prior_sigma: float) -> None:
    solution = problem(kind, seed, noise_m, prior_sigma).solve(12)
    assert np.isfinite(solution.energies).all() and len(solution.energies) <= 13
    assert (np.diff(solution.energies) <= 0).all()
    assert np.isfinite(solution.joints).all() and np.allclose(solution.rotation @ solution.rotation.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_recovers_a_pose_from_exact_markers(seed: int) -> None:
    """With a prior a hundred times wider than the poses sought, exact markers decide."""
    task = problem("3d", seed, 0.0)
    rng = np.random.default_rng(seed)
    w = rng.normal(0.0, 0.4, N_W)
    R = matrix_from_rotvec([0.05, -0.1, 0.08]) @ TURN
    pose = task.model.mean + task.model.directions @ w
    world = compute_local_markers(task.subject.skeleton, pose[None], task.subject.joint, task.subject.offset_m)[0] @ R.T + PLACE
    wide = replace(task.model, precision=np.eye(N_W) * 1e-4)
    prior = replace(task.prior, sigma_rad=100.0, sigma_m=100.0)
    solution = task._replace(model=wide, prior=prior, observations=observed(world, "3d")).solve(60)
    np.testing.assert_allclose(solution.joints, pose, atol=2e-3)
    assert np.all(solution.joints[0] == 0.0)
    assert compute_geodesic_rad(solution.rotation, R) < 1e-3
    np.testing.assert_allclose(solution.position_m, PLACE, atol=5e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_scipy_does(kind: str) -> None:
    task = problem(kind, 7)
    solution = task.solve(60)
    start = np.concatenate([task.model.center, np.zeros(3), task.root[1]])
    reference = minimize(task.plain_energy, start, method="BFGS", options={"gtol": 1e-4})
    # The solver stops where an iteration gains less than 1e-4 (1 + E).
    assert solution.energies[-1] == pytest.approx(reference.fun, abs=1e-3 * (1.0 + reference.fun))
    expected = task.model.mean + task.model.directions @ reference.x[:N_W]
    np.testing.assert_allclose(solution.joints, expected, atol=0.02)
    np.testing.assert_allclose(solution.position_m, reference.x[N_W + 3 :], atol=0.005)


def test_without_markers_the_prior_answers() -> None:
    task = problem("3d", 3)
    frame = marker_frame_of(np.zeros((len(task.subject.markers), 3)), np.zeros(len(task.subject.markers), bool))
    solution = task._replace(observations=observations_from_markers(frame, front_rig(), np.full(len(frame.valid), 0.01))).solve()
    expected = task.model.mean + task.model.directions @ task.model.center
    np.testing.assert_allclose(solution.joints, expected, atol=1e-6)
    # The minimum in d is where exp(d) R_0 is the predicted root.
    assert compute_geodesic_rad(solution.rotation, task.prior.rotation) < 1e-4
    np.testing.assert_allclose(solution.position_m, task.prior.position_m, atol=1e-4)


def test_marker_behind_the_camera_is_left_out() -> None:
    task = problem("2d", 3)
    behind = replace(task.observations, view_translation=task.observations.view_translation - [0.0, 0.0, 20.0])
    solution = task._replace(observations=behind).solve()
    assert np.isfinite(solution.joints).all() and solution.energies[-1] < 1e-6


@pytest.mark.parametrize("axis", range(3))
def test_one_marker_1_m_off_moves_the_pose_little(axis: int) -> None:
    """Pseudo-Huber: an outlier's pull is bounded by c standard deviations, whatever its distance; a square's is not."""
    task = problem("3d", 5, 0.0)
    clean = task.solve(60)
    moved = {}
    for distance_m in (1.0, 10.0):
        point = task.observations.point_m.copy()
        point[0, axis] += distance_m
        wrong = task._replace(observations=replace(task.observations, point_m=point)).solve(60)
        others = [
            compute_local_markers(task.subject.skeleton, s.joints[None], task.subject.joint, task.subject.offset_m)[0]
            @ s.rotation.T
            + s.position_m
            for s in (clean, wrong)
        ]
        moved[distance_m] = float(np.median(np.linalg.norm(others[1] - others[0], axis=1)))
    assert moved[1.0] < 0.02
    assert moved[10.0] < 1.5 * moved[1.0] + 0.002
