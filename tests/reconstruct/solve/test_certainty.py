"""The uncertainty of a solved pose against differences of the energy."""

from dataclasses import replace

import numpy as np

from config.arrays import Bools
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_markers_and_jacobian
from database.geometry.rotations import matrix_from_rotvec, skew_from_vector
from reconstruct.models.local.model import DOFS, FULL, LocalModel
from reconstruct.observations import observations_from_markers
from reconstruct.solve.certainty import (
    BY_LANDMARKS,
    BY_LAPLACE,
    BY_LASTING,
    CALIBRATION_M,
    MAX_ERROR_M,
    add_calibration_error,
    build_minimum,
    compute_frame_deviations,
    compute_information,
    estimate_joint_error_m,
)
from reconstruct.solve.energy import compute_energy
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem, solve_pose
from tests.support.people import bent_pose, front_rig, marker_frame_of, person, worn_markers

SUBJECT = person("boxing", 2)
NAMES = SUBJECT.markers.names
SIGMA_M = np.full(len(NAMES), 0.006)
MARKERS = (SUBJECT.joint, SUBJECT.offset_m)


def problem(shown: Bools) -> tuple[FrameProblem, tuple[np.ndarray, np.ndarray]]:
    """Return a bent pose seen by its markers, a wide model about it, and its root."""
    pose = bent_pose(4, 0.2)
    pose[0] = [0.1, 0.7, -0.2]
    place = np.array([0.2, 1.0, -0.1])
    markers, _ = worn_markers(SUBJECT, pose[None], place[None])
    mean = np.concatenate([np.zeros((1, 3)), pose[1:]])
    model = LocalModel(mean, FULL, np.zeros(DOFS), 0.2**-2.0 * np.eye(DOFS))
    root = (matrix_from_rotvec(pose[0]), place)
    observed = observations_from_markers(marker_frame_of(markers[0], shown), front_rig(), SIGMA_M)
    return FrameProblem(SUBJECT.skeleton, MARKERS, model, RootPrior(*root, 0.1, 0.1), observed), root


def test_information_without_markers_is_the_prior() -> None:
    asked, root = problem(np.zeros(len(NAMES), bool))
    A = compute_information(asked, solve_pose(asked, root))
    np.testing.assert_allclose(A, np.diag(np.concatenate([np.full(DOFS, 25.0), np.full(6, 100.0)])), atol=1e-9)


def test_information_is_the_curvature_of_the_energy() -> None:
    """At exact markers Gauss-Newton's matrix is the true one: the energy a small step away is half d'Ad more."""
    asked, root = problem(np.ones(len(NAMES), bool))
    solution = solve_pose(asked, root)
    A = compute_information(asked, solution)
    rng = np.random.default_rng(0)
    for _ in range(3):
        d = 1e-3 * rng.normal(size=DOFS + 6)
        moved = (matrix_from_rotvec(d[DOFS : DOFS + 3]) @ solution.rotation, solution.position_m + d[DOFS + 3 :])
        there = solve_pose(asked, moved, start=(solution.joints - asked.model.mean)[1:].ravel() + d[:DOFS], max_iterations=0)
        gained = there.energies[0] - solution.energies[-1]
        np.testing.assert_allclose(gained, 0.5 * d @ A @ d, rtol=0.05)
    assert np.allclose(A, A.T) and A.shape == (3 * N_JOINTS + 3, 3 * N_JOINTS + 3)


def test_errors_of_joints_are_those_of_markers_at_their_origins() -> None:
    shown = np.ones(len(NAMES), bool)
    shown[NAMES.index("left_hand")] = False
    asked, root = problem(shown)
    solution = solve_pose(asked, root)
    pose = np.concatenate([np.zeros((1, 3)), solution.joints[1:]])
    local, by_joints = compute_markers_and_jacobian(SUBJECT.skeleton, pose, FULL, np.arange(N_JOINTS), np.zeros((N_JOINTS, 3)))
    by_turn, by_place = -skew_from_vector(local @ solution.rotation.T), np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3))
    J = np.concatenate([solution.rotation @ by_joints, by_turn, by_place], axis=2)
    solved, lasting = np.linalg.inv(compute_information(asked, solution)), np.diag(np.linspace(0.01, 0.05, DOFS + 6))
    landmarks = lasting[::-1, ::-1]
    parts_m = [
        np.sqrt(np.trace(J @ each @ np.swapaxes(J, 1, 2), axis1=1, axis2=2) / 3.0) for each in (solved, lasting, landmarks)
    ]
    minimum = build_minimum(asked, solution)
    factors = np.array([BY_LAPLACE, BY_LASTING, BY_LANDMARKS])[:, None]
    expected = np.linalg.norm(factors * np.array(parts_m), axis=0)
    sigma = compute_frame_deviations(minimum, solved, lasting, landmarks)
    np.testing.assert_allclose(estimate_joint_error_m(sigma), expected, rtol=1e-9)


def test_a_pull_is_how_far_the_gradient_moves_with_a_landmark() -> None:
    """By one standard deviation of one image coordinate; of markers whose errors do not last there is none."""
    shown = np.ones(len(NAMES), bool)
    asked, root = problem(shown)
    frame = marker_frame_of(worn_markers(SUBJECT, bent_pose(4, 0.2)[None], np.array([[0.2, 1.0, -0.1]]))[0][0], shown)
    image_px = np.stack([camera.project(frame.point_m) for camera in front_rig().cameras])
    frame = replace(frame, valid=~shown, image_px=image_px, sigma_px=np.full(frame.seen.shape, 4.0))
    share = np.where(np.arange(len(NAMES)) == NAMES.index("left_hand"), 0.3, 1.0)
    seen = observations_from_markers(frame, front_rig(), SIGMA_M, frame.point_m, share)
    asked = replace(asked, observations=seen)
    minimum = build_minimum(asked, solve_pose(asked, root))
    assert minimum.pull.shape == (DOFS + 6, 2 * len(front_rig()))
    hand, terms, A = NAMES.index("left_hand"), minimum.terms, np.empty((DOFS + 6, DOFS + 6))
    for camera in range(len(front_rig())):
        sigma = np.sqrt(share[hand] / seen.weight_px[camera, hand]) / seen.view_focal[camera]
        for axis in range(2):
            gradients = []
            for sign in (-1.0, 1.0):
                ideal = seen.ideal.copy()
                ideal[camera, hand, axis] += 1e-3 * sign * sigma
                g = np.empty(DOFS + 6)
                compute_energy(minimum.x, terms._replace(views=terms.views._replace(ideal=ideal)), A, g)
                gradients.append(g)
            moved = (gradients[0] - gradients[1]) / 2e-3  # a residual is the pose's image point less the one seen
            np.testing.assert_allclose(minimum.pull[:, 2 * camera + axis], moved, atol=0.03 * np.abs(moved).max())


def test_a_calibration_adds_to_the_errors_of_a_body_that_is_not_known_exactly() -> None:
    error_m = np.array([0.0, 2.0 * CALIBRATION_M, MAX_ERROR_M])
    calibrated = replace(SUBJECT, length_sigma_m=np.full((2, N_JOINTS), 0.01))
    np.testing.assert_allclose(add_calibration_error(error_m, calibrated), [CALIBRATION_M, 5.0**0.5 * CALIBRATION_M, MAX_ERROR_M])
    np.testing.assert_array_equal(add_calibration_error(error_m, replace(SUBJECT, length_sigma_m=None)), error_m)
