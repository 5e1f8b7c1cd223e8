"""How wrong the world that a wand's rig measures may be: by its own uncertainty, and by that of the lenses it rests on.

Lenses taken from elsewhere are held in the adjustment, yet they are not exact: of one marker, cameras near each other can make a
world that is wrong by a quarter at a pixel error of a tenth. So their uncertainty is carried through (a consider covariance:
Schmidt 1966; Bierman 1977, ch. VIII): the shared unknowns c and the places X answer to a change q of the lenses by

    dc/dq = -S^-1 S_cq        dX/dq = -H_XX^-1 (H_Xq + H_Xc dc/dq)        S: c's normal equations, X eliminated
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.solve.projection import compute_lens_derivatives
from calibration.wand.adjust import (
    WandFit,
    WandProblem,
    WandState,
    compute_observation_weights,
    compute_wand_jacobians,
)
from config.arrays import Floats
from database.geometry.rotations import compute_tangents, skew_from_vector

K1 = 4
N_LENS = 4  # focal length, centre (x, y), k1
OWN_LENS = (0.002, 0.003, 0.003, 0.01)  # standard deviations of a calibrated lens: share, shares of the picture's width, k1
GUESSED_LENS = (0.05, 0.015, 0.015, 0.1)  # the same where the field of view is all that is known


@dataclass(frozen=True, slots=True)
class WandUncertainty:
    """What is uncertain of a rig, as in `WandSolution`."""

    pose_covariance: Floats
    world_sigma: float


def choose_lens_sigmas(widths_px: Sequence[int], assumed: bool, focal_solved: bool) -> Floats:
    """Return the standard deviations of what is held of the lenses, (4 C,): ln focal length, centre [px] and k1 of each camera.

    Args:
        widths_px: of the pictures.
        assumed: only a field of view is known of the lenses.
        focal_solved: focal lengths were solved for.
    """
    focal, x, y, k1 = GUESSED_LENS if assumed else OWN_LENS
    return np.array([v for width in widths_px for v in (0.0 if focal_solved else focal, x * width, y * width, k1)])


def compute_wand_uncertainty(
    fit: WandFit, problem: WandProblem, baseline_m: float, by_length: bool, lens_sigma: Floats
) -> WandUncertainty:
    """Return what is uncertain of a fit.

    Args:
        fit: the adjusted state.
        problem: what was measured and what may move.
        baseline_m: distance of the first two cameras.
        by_length: the scale is that of the wand.
        lens_sigma: of `choose_lens_sigmas`.
    """
    shared_by_lens, places_by_lens = compute_lens_influence(fit, problem)
    root = np.concatenate([np.linalg.cholesky(fit.covariance), shared_by_lens * lens_sigma], axis=1)  # columns of one sigma each
    J = _compute_pose_derivatives(fit.state, len(root), baseline_m, by_length) @ root
    own = fit.place_derivatives @ root[:, : len(root)]  # the rest is in places_by_lens already
    places = np.concatenate([own, places_by_lens * lens_sigma], axis=2)
    used = problem.used.ravel()
    D = places.reshape(len(used), 3, -1)[used]
    X = fit.state.points.reshape(-1, 3)[used]
    if by_length:
        D = D - X[:, :, None] * (root[-1] / fit.state.length)
    return WandUncertainty(J @ J.T, _measure_bending(D, X))


def compute_lens_influence(fit: WandFit, problem: WandProblem) -> tuple[Floats, Floats]:
    """Return how the shared unknowns, (p, 4 C), and the places, (F, 3K, 4 C), change with the lenses that are held."""
    shared, place = compute_wand_jacobians(fit.state, problem)
    by_lens = _compute_lens_derivatives(fit.state)
    residual = np.zeros((problem.views.n_cameras, *problem.used.shape, 2))
    w = compute_observation_weights(residual, replace(problem, robust=False))
    F, K = problem.used.shape
    H_cq = np.einsum("fk,sfkua,sfkuq->aq", w, shared, by_lens, optimize=True)
    H_pq = np.einsum("fk,sfkui,sfkuq->fkiq", w, place, by_lens, optimize=True).reshape(F, 3 * K, -1)
    solved = fit.solve_places(H_pq)
    S_cq = H_cq - np.einsum("fap,fpq->aq", fit.normal.groups[0].mixed, solved)
    shared_by_lens = -fit.covariance @ S_cq
    return shared_by_lens, -solved + fit.place_derivatives @ shared_by_lens


def _compute_lens_derivatives(state: WandState) -> Floats:
    """Return d residual / d (ln focal, centre x, centre y, k1) of each lens in turn, (C, F, K, 2, 4 C)."""
    C = len(state.intrinsics)
    out = np.zeros((C, *state.points.shape[:2], 2, C * N_LENS))
    for c, intrinsics in enumerate(state.intrinsics):
        Q = compute_lens_derivatives(intrinsics, state.in_camera(c))
        at = N_LENS * c
        out[c, ..., at] = -(Q[..., 0] * intrinsics[0] + Q[..., 1] * intrinsics[1])
        out[c, ..., at + 1], out[c, ..., at + 2] = -Q[..., 2], -Q[..., 3]
        out[c, ..., at + 3] = -Q[..., K1]
    return out


def _compute_pose_derivatives(state: WandState, n_shared: int, baseline_m: float, by_length: bool) -> Floats:
    """Return how turns and shifts of all cameras but the first move with the shared unknowns, (6 C - 6, p)."""
    C = len(state.rotation)
    J = np.zeros((6 * C - 6, n_shared))
    J[:3, :3] = np.eye(3)
    J[3:6, 3:5] = baseline_m * compute_tangents(state.translation[1]).T
    for c in range(2, C):
        row, column = 6 * c - 6, 6 * c - 7
        J[row : row + 3, column : column + 3] = np.eye(3)
        J[row + 3 : row + 6, column + 3 : column + 6] = baseline_m * np.eye(3)
    if by_length:
        for c in range(1, C):
            J[6 * c - 3 : 6 * c, -1] = -baseline_m / state.length * state.translation[c]
    return J


def _measure_bending(D: Floats, X: Floats) -> float:
    """Return the typical size of displacements as a share of the distance, moving and turning all together left out.

    D: of places X (N, 3) by each of M independent causes, (N, 3, M).
    """
    near = 1.0 / np.linalg.norm(X, axis=1)
    A = np.concatenate([-skew_from_vector(X), np.broadcast_to(np.eye(3), (len(X), 3, 3))], axis=2) * near[:, None, None]
    B = D * near[:, None, None]
    A, B = A.reshape(-1, 6), B.reshape(-1, D.shape[2])
    left_over = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
    return float(np.sqrt((left_over**2).sum() / len(X)))
