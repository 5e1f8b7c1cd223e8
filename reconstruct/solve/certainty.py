"""The uncertainty of a solved pose: Laplace's approximation, a Gaussian with the curvature of the energy at the minimum."""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats, Ints
from config.jit import kernel
from config.joints import N_JOINTS
from numerics.definite import mirror_triangle
from reconstruct.models.local.model import FULL_SPAN, find_direction_span
from reconstruct.solve.energy import Energy, compute_energy, compute_joint_sigmas
from reconstruct.solve.linearise import compute_marker_jacobian, compute_posed_markers, compute_robust_weight
from reconstruct.solve.solver import FrameProblem, Solution
from reconstruct.solve.views import compute_image_residual

# A joint's error in Laplace's sigma, and in that of what lasts: regression of the 68 and 95 % quantiles over the tuning clips,
# hidden limbs and calibrated bodies among them; that of landmarks over five tuning clips of rendered people, 30 and 60 Hz.
BY_LAPLACE: Final = 1.28
BY_LASTING: Final = 1.12
BY_LANDMARKS: Final = 1.8
MAX_ERROR_M: Final = 1.0
CALIBRATION_M: Final = 0.024  # what a calibration in the T-pose leaves of errors in lengths and markers' places, at the joints


def compute_information(problem: FrameProblem, solution: Solution) -> Floats:
    """Return the inverse covariance of joints, rotation vector of the root about the world's axes and its position.

    problem: its local model over all coordinates. Returns (D + 6, D + 6).
    """
    n = len(problem.model.center) + 6
    A, g = np.empty((n, n)), np.empty(n)
    w = (solution.joints - problem.model.mean)[1:].ravel()
    compute_energy(np.concatenate([w, np.zeros(3), solution.position_m]), problem.energy(solution.rotation), A, g)
    return mirror_triangle(A)


@dataclass(frozen=True, slots=True)
class Minimum:
    """A solved pose as the variables x = (w, d, s) of its energy's terms, and the energy there, with gradient and Hessian.

    pull: how far the gradient moves with one standard deviation of each image point of a landmark, (B, L).
    """

    x: Floats
    terms: Energy
    energy: float
    gradient: Floats
    hessian: Floats
    pull: Floats


def build_minimum(problem: FrameProblem, solution: Solution) -> Minimum:
    """Return the minimum that a problem's solution is."""
    model, terms = problem.model, problem.energy(solution.rotation)
    n = len(model.center) + 6
    w = (solution.joints - model.mean)[1:].ravel()
    if find_direction_span(model.directions) is not FULL_SPAN:
        w = model.directions[1:].reshape(-1, n - 6).T @ w
    x, A, g = np.concatenate([w, np.zeros(3), solution.position_m]), np.empty((n, n)), np.empty(n)
    return Minimum(x, terms, compute_energy(x, terms, A, g), g, A, compute_landmark_pull(x, terms, problem.observations.share))


def compute_landmark_pull(x: Floats, terms: Energy, share: Floats | None) -> Floats:
    """Return how far the gradient moves with one standard deviation of each image coordinate of a landmark, (B, L).

    Args:
        x: coordinates of the pose, (B,).
        terms: terms of the energy.
        share: share of each marker's image points that counts, (M,), less than 1 for landmarks; None: there are none.
    """
    rows = np.flatnonzero(share < 1.0) if share is not None else np.zeros(0, np.int64)
    pull = np.zeros((len(x), 2 * len(terms.views.rotation) * len(rows)))
    if share is not None and len(rows):
        _write_pull(x, terms, rows, share, pull)
    return pull


@kernel
def _write_pull(x: Floats, terms: Energy, rows: Ints, share: Floats, out: Floats) -> None:
    """Write how far the gradient moves, (B, 2 V K), with the image points of some markers, (K,); see `compute_landmark_pull`."""
    posed, views = compute_posed_markers(x, terms.space, terms.body), terms.views
    e, D = np.zeros(3), np.zeros((3, 3))
    for k in range(rows.shape[0]):
        m, n = rows[k], compute_marker_jacobian(posed, rows[k])
        for camera in range(views.rotation.shape[0]):
            weight = views.weight_px[camera, m]
            if not weight > 0.0 or not compute_image_residual(views, camera, posed.world_m[m], views.ideal[camera, m], e, D):
                continue
            robust = compute_robust_weight(weight * (e[0] * e[0] + e[1] * e[1]), views.robust2[m])
            scale, column = robust * math.sqrt(weight * share[m]), 2 * (camera * rows.shape[0] + k)
            for a in range(n):
                for i in range(2):
                    along = 0.0
                    for b in range(3):
                        along += D[i, b] * posed.by_x[a, b]
                    out[posed.columns[a], column + i] = scale * along


def add_calibration_error(error_m: Floats, subject: Subject) -> Floats:
    """Return expected errors, (..., J) [m], with the part of the calibration added."""
    if not subject.is_calibrated:
        return error_m
    return np.asarray(np.minimum(np.hypot(error_m, CALIBRATION_M), MAX_ERROR_M))


class JointDeviations(NamedTuple):
    """Standard deviations of the joints of a solved pose, (J,) [m].

    laplace_m: by Laplace, which takes the errors of consecutive frames for independent; lasting_m: by what neighbours are wrong
    about in all frames; landmarks_m: by what landmarks are wrong about in all of them.
    """

    laplace_m: Floats
    lasting_m: Floats
    landmarks_m: Floats


def compute_frame_deviations(minimum: Minimum, solved: Floats, lasting: Floats, landmarks: Floats) -> JointDeviations:
    """Return the standard deviations of the joints of a solved pose.

    Args:
        minimum: the solved pose.
        solved: its covariance by Laplace, (V, V).
        lasting: its covariance by what neighbours are wrong about in all frames, (V, V).
        landmarks: by what landmarks are, (V, V).
    """
    found = JointDeviations(np.empty(N_JOINTS), np.empty(N_JOINTS), np.empty(N_JOINTS))
    for covariance, sigma_m in zip((solved, lasting, landmarks), found, strict=True):
        compute_joint_sigmas(minimum.x, minimum.terms, covariance, sigma_m)
    return found


def estimate_joint_error_m(sigma: JointDeviations) -> Floats:
    """Return how far from the truth the joints of a solved pose may be, (J,) [m]: 68 % of them are nearer, 95 % twice as near."""
    error_m = np.hypot(BY_LAPLACE * sigma.laplace_m, BY_LASTING * sigma.lasting_m)
    return np.asarray(np.minimum(np.hypot(error_m, BY_LANDMARKS * sigma.landmarks_m), MAX_ERROR_M))
