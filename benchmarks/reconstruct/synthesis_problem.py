"""Frames to be solved, made of a motion database, and the same energy as scipy's least squares take it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from calibration.placement import facing_rig
from config.arrays import Floats
from config.jit import kernel
from config.markers import read_marker_set
from database.clips import Clip
from database.geometry.kinematics import _rodrigues, forward
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.models.local.model import Quadratic, model_around
from reconstruct.models.local.pca import cross_validated_pca
from reconstruct.observations import observations_from_markers
from reconstruct.solve.energy import Energy
from reconstruct.solve.linearise import _marker_jacobian, _posed_markers, _robust
from reconstruct.solve.root import Root, RootPrior
from reconstruct.solve.solver import FrameProblem
from tools.evaluate.queries import NOISE_M, marker_frame

DIMENSIONS = 7
MARKERS = "boxing"  # 9 markers
MODEL_M = 0.008  # standard deviation of markers from their positions on the body


@dataclass(frozen=True, slots=True)
class Problem:
    """One frame. nearest: the examples of its local model, (K, D) [rad]; root: where solving starts."""

    frame: FrameProblem
    root: Root
    nearest: Floats

    @property
    def start(self) -> Floats:
        """The variables at the start."""
        return np.concatenate([self.frame.model.center, np.zeros(3), self.root[1]])


def problem(clip: Clip, frame: int, poses: Floats, rng: np.random.Generator) -> Problem:
    """Return a pose of a clip with 5 mm of noise, the root 3 cm and 3 degrees off, and the PCA of its nearest examples."""
    markers = read_marker_set(MARKERS)
    G, p = forward(clip.skeleton, clip.rotvec[frame], clip.root_m[frame])
    marker_m = p[markers.joint] + np.einsum("mij,mj->mi", G[markers.joint], markers.offset_m)
    distance = np.sum((poses - clip.rotvec[frame, 1:].ravel()) ** 2, axis=1)
    # The pose itself and those of its next frames are left out.
    nearest = poses[np.argsort(distance, kind="stable")[5:205]]
    chosen = cross_validated_pca(nearest, max_dimensions=DIMENSIONS)
    n_w = chosen.directions.shape[1]
    directions = np.zeros((len(clip.skeleton.offsets_m), 3, n_w))
    directions[1:] = chosen.directions.reshape(-1, 3, n_w)
    quadratic = Quadratic(np.zeros(n_w), np.diag(1.0 / np.maximum(chosen.variances, 1e-10)))
    R, t = matrix_from_rotvec(clip.rotvec[frame, 0]), clip.root_m[frame]
    root = (matrix_from_rotvec(0.05 * rng.normal(size=3)) @ R, t + 0.03 * rng.normal(size=3))
    seen = marker_frame(marker_m + NOISE_M * rng.normal(size=marker_m.shape), np.ones(len(markers), bool), NOISE_M, 0)
    rig = facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0)
    observations = observations_from_markers(seen, rig, np.full(len(markers), MODEL_M))
    local, prior = model_around(chosen.mean, directions, quadratic), RootPrior(*root, 0.05, 0.03)
    attached = (markers.joint, markers.offset_m)
    return Problem(FrameProblem(clip.skeleton, attached, local, prior, observations), root, nearest)


@kernel
def _residuals(x: Floats, terms: Energy, root_precision: Floats, residual: Floats, jacobian: Floats) -> None:
    """Write the residuals r of the energy E = |r|^2 / 2 and their derivatives; all markers are triangulated.

    The loss is pseudo-Huber, taken into the residuals; root_precision: square roots of the prior's precisions, (B,).
    """
    n_w, n_markers = root_precision.shape[0], terms.markers.point_m.shape[0]
    step, left = np.empty((3, 3)), np.empty((3, 3))
    _rodrigues(x[n_w : n_w + 3], step, left)
    posed = _posed_markers(x, terms.space, terms.body)
    scale2 = terms.markers.robust2
    jacobian[:] = 0.0
    for m in range(n_markers):
        L, full = terms.markers.root_info[m], np.zeros((3, n_w + 6))
        n = _marker_jacobian(posed, m)
        for k in range(n):
            full[:, posed.columns[k]] = posed.by_x[:, k]
        full[:, n_w : n_w + 3] = np.ascontiguousarray(full[:, n_w : n_w + 3]) @ left
        e, De = L @ (posed.world_m[m] - terms.markers.point_m[m]), L @ full
        s = max(e @ e, 1e-12)
        rho = _robust(s, scale2)
        share = math.sqrt(2.0 * rho / s)
        slope = (0.5 / math.sqrt(1.0 + s / scale2) * s - rho) / (s * s * share)
        residual[3 * m : 3 * m + 3] = share * e
        jacobian[3 * m : 3 * m + 3] = share * De + 2.0 * slope * np.outer(e, e @ De)
    first = 3 * n_markers
    for b in range(n_w):
        residual[first + b] = root_precision[b] * (x[b] - terms.prior.center[b])
        jacobian[first + b, b] = root_precision[b]
    for i in range(n_w, n_w + 6):
        inverse = math.sqrt(terms.root.precision[i - n_w])
        residual[first + i] = inverse * (x[i] - terms.root.center[i - n_w])
        jacobian[first + i, i] = inverse


class ScipyProblem:
    """The same energy for scipy."""

    def __init__(self, given: Problem) -> None:
        self._start, self._terms = given.start, given.frame.energy(given.root[0])
        self._root_precision = np.sqrt(np.diag(given.frame.model.precision))
        n_x, n_residuals = len(self._start), 3 * len(given.frame.observations.point_m) + len(self._start)
        self._out = np.empty(n_residuals), np.empty((n_residuals, n_x))

    def residuals(self, x: Floats) -> Floats:
        """Return r(x)."""
        _residuals(x, self._terms, self._root_precision, *self._out)
        return self._out[0].copy()

    def jacobian(self, x: Floats) -> Floats:
        """Return dr/dx."""
        _residuals(x, self._terms, self._root_precision, *self._out)
        return self._out[1].copy()

    def solve(self, tolerance: float) -> tuple[Floats, float]:
        """Return the minimum and its energy."""
        found = least_squares(self.residuals, self._start, self.jacobian, method="lm", ftol=tolerance, xtol=1e-8, gtol=1e-8)
        return found.x, float(found.cost)
