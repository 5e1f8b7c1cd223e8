"""Problems of synthesis, made of a motion database, and the same problem as scipy takes it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from calibration.placement import facing_rig
from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.jit import kernel
from config.joints import N_JOINTS
from config.markers import read_marker_set
from database.clips import Clip
from database.kinematics import _chain, _markers_and_jacobian, _rodrigues, forward
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.cross_validation import cross_validated_pca
from reconstruct.local_model import LocalModel
from reconstruct.observations import Observations, observations_from_markers
from reconstruct.solve import RootPrior
from reconstruct.solve_kernels import Body

DIMENSIONS = 7
ROBUST_SIGMAS = 3.0
MARKERS = "boxing"  # 9 markers
NOISE_M = 0.005
MODEL_M = 0.008  # how far markers may be from where the model has them


@dataclass(frozen=True, slots=True)
class Problem:
    """One frame to be solved, as `reconstruct.solve.solve` takes it; nearest: the examples of its local model, (K, D) [rad]."""

    subject: Subject
    nearest: Floats
    model: LocalModel
    root: tuple[Floats, Floats]
    prior: RootPrior
    observations: Observations


def problem(clip: Clip, frame: int, poses: Floats, rng: np.random.Generator) -> Problem:
    """Ask for a pose of a clip with 5 mm noise, the root 3 cm and 3 degrees off, by the PCA of its nearest examples."""
    worn = read_marker_set(MARKERS)
    n_markers = len(worn)
    subject = Subject("performer", clip.skeleton, worn, worn.offset_m, np.zeros(n_markers), np.array([0.0, 1.0, 0.0]))
    G, p = forward(clip.skeleton, clip.rotvec[frame], clip.root_m[frame])
    marker_m = p[worn.joint] + np.einsum("mij,mj->mi", G[worn.joint], worn.offset_m)
    pose = clip.rotvec[frame, 1:].ravel()
    distance = np.sum((poses - pose) ** 2, axis=1)
    # The pose itself and its next moments stay out.
    nearest = poses[np.argsort(distance, kind="stable")[5:205]]
    chosen = cross_validated_pca(nearest, max_dimensions=DIMENSIONS)
    mean, directions = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3, chosen.directions.shape[1]))
    mean[1:], directions[1:] = chosen.mean.reshape(-1, 3), chosen.directions.reshape(N_JOINTS - 1, 3, -1)
    precision = np.diag(1.0 / np.maximum(chosen.variances, 1e-10))
    model = LocalModel(mean, directions, np.zeros(len(precision)), precision)
    R, t = matrix_from_rotvec(clip.rotvec[frame, 0]), clip.root_m[frame]
    root = (matrix_from_rotvec(0.05 * rng.normal(size=3)) @ R, t + 0.03 * rng.normal(size=3))
    seen = _frame(marker_m + NOISE_M * rng.normal(size=marker_m.shape))
    observations = observations_from_markers(seen, facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0), np.full(n_markers, MODEL_M))
    return Problem(subject, nearest, model, root, RootPrior(root[0], root[1], 0.05, 0.03), observations)


def _frame(marker_m: Floats) -> MarkerFrame:
    """Give markers (M, 3) [m] that both cameras see."""
    n = len(marker_m)
    covariance = np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1))
    seen, pixels, sigma = np.ones((2, n), bool), np.zeros((2, n, 2)), np.ones((2, n))
    return MarkerFrame(0, 0, 0, np.ones(n, bool), marker_m, covariance, seen, pixels, sigma, np.zeros(n), np.zeros((0, 3)))


@kernel
def _residuals(
    x: Floats,
    model: tuple[Floats, Floats, Floats],
    root: tuple[Floats, Floats, Floats],
    body: Body,
    markers: tuple[NDArray[np.int64], Floats],
    points: tuple[Floats, Floats],
    residual: Floats,
    jacobian: Floats,
) -> None:
    """Write the residuals of the solver's energy E = |r|^2 / 2, and their derivatives by (w, d, s).

    model: mean, U and the roots of the prior's precisions; root: R_0, place and the prior's inverse deviations (6,); the loss is
    pseudo-Huber, taken into the residuals.
    """
    mean, U, root_precision = model
    R0, place, inverse = root
    joint, offset_m = markers
    point, root_info = points
    n_joints, n_w = U.shape[0], U.shape[2]
    pose = mean.copy()
    for j in range(1, n_joints):
        for i in range(3):
            for b in range(n_w):
                pose[j, i] += U[j, i, b] * x[b]
    work = (np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, n_w)), np.empty((n_joints, 3, n_w)))
    y, Jy = np.empty((joint.shape[0], 3)), np.empty((joint.shape[0], 3, n_w))
    _markers_and_jacobian(pose, U, body, joint, offset_m, work, y, Jy)
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    _rodrigues(x[n_w : n_w + 3], turn, left)
    R = turn @ R0
    jacobian[:] = 0.0
    full, cross, scale2 = np.zeros((3, n_w + 6)), np.zeros((3, 3)), ROBUST_SIGMAS * ROBUST_SIGMAS
    for m in range(joint.shape[0]):
        a = R @ y[m]
        cross[0, 1], cross[0, 2], cross[1, 2] = a[2], -a[1], a[0]
        cross[1, 0], cross[2, 0], cross[2, 1] = -a[2], a[1], -a[0]
        full[:, :n_w] = R @ Jy[m]
        full[:, n_w : n_w + 3] = cross @ left
        for i in range(3):
            full[i, n_w + 3 + i] = 1.0
        e, De = root_info[m] @ (a + x[n_w + 3 :] - point[m]), root_info[m] @ full
        s = max(e @ e, 1e-12)
        bend = math.sqrt(1.0 + s / scale2)
        rho = scale2 * (bend - 1.0)
        share = math.sqrt(2.0 * rho / s)
        residual[3 * m : 3 * m + 3] = share * e
        slope = (0.5 / bend * s - rho) / (s * s * share)
        jacobian[3 * m : 3 * m + 3] = share * De + 2.0 * slope * np.outer(e, e @ De)
    first = 3 * joint.shape[0]
    for b in range(n_w):
        residual[first + b] = root_precision[b] * x[b]
        jacobian[first + b, b] = root_precision[b]
    for i in range(6):
        centre = place[i - 3] if i >= 3 else 0.0
        residual[first + n_w + i] = inverse[i] * (x[n_w + i] - centre)
        jacobian[first + n_w + i, n_w + i] = inverse[i]


class ScipyProblem:
    """The same problem as scipy takes it."""

    def __init__(self, given: Problem) -> None:
        n_w, n_markers = len(given.model.precision), len(given.observations.point_m)
        subject = given.subject
        self.start = np.concatenate([given.model.center, np.zeros(3), given.root[1]])
        self._model = (given.model.mean, given.model.directions, np.sqrt(np.diag(given.model.precision)))
        inverse = np.repeat([1.0 / given.prior.sigma_rad, 1.0 / given.prior.sigma_m], 3)
        self._root = (np.ascontiguousarray(given.root[0]), given.prior.position_m, inverse)
        self._body, self._markers = _chain(subject.skeleton), (subject.joint, subject.offset_m)
        self._points = (given.observations.point_m, given.observations.root_info)
        self._out = np.empty(3 * n_markers + n_w + 6), np.empty((3 * n_markers + n_w + 6, n_w + 6))

    def residuals(self, x: Floats) -> Floats:
        """Give r(x)."""
        _residuals(x, self._model, self._root, self._body, self._markers, self._points, *self._out)
        return self._out[0].copy()

    def jacobian(self, x: Floats) -> Floats:
        """Give dr/dx."""
        _residuals(x, self._model, self._root, self._body, self._markers, self._points, *self._out)
        return self._out[1].copy()

    def solve(self, tolerance: float) -> tuple[Floats, float]:
        """Give the minimum and its energy."""
        found = least_squares(self.residuals, self.start, self.jacobian, method="lm", ftol=tolerance, xtol=1e-8, gtol=1e-8)
        return found.x, float(found.cost)
