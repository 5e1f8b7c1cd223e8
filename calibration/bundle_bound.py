"""How well a rig can be known at all: the Cramer-Rao bound of its intrinsics and its relative pose.

For normal noise of the corners the bound is (J' W J)^-1 at the truth, the board's places unknown too; at a solution the same is
its estimated covariance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.board import Board
from calibration.bundle import BundleState, Freedom, Observations, camera_points, project
from calibration.bundle_solve import Prior, normal_equations, shared_covariance
from calibration.camera import Rig
from calibration.lens import N_INTRINSICS, LensModel
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix, skew


@dataclass(frozen=True, slots=True)
class BundleBound:
    """Standard deviations that no unbiased estimate can be below.

    intrinsic_sigma: (2, 9), in the order of INTRINSICS, 0 where held; relative_covariance: of the right camera's rotation vector
    and translation in the left camera's frame, (6, 6) [rad, m]; baseline_sigma_m: of the distance between the cameras, 0 for
    one camera; turn_sigma_rad: root mean square of the angle by which the rotation is off; offset_sigma_s: of the time offset.
    """

    intrinsic_sigma: Floats
    relative_covariance: Floats
    baseline_sigma_m: float
    turn_sigma_rad: float
    offset_sigma_s: float


def bound_at(state: BundleState, seen: Observations, freedom: Freedom, prior: Prior | None = None) -> BundleBound:
    """Give the bound at a state for observations whose weights are inverse variances."""
    covariance = shared_covariance(normal_equations(state, seen, freedom, prior))
    sigma, column = np.zeros((2, N_INTRINSICS)), 0
    for c, lens in enumerate(freedom.lenses):
        S, at = lens.directions, slice(column, column + lens.n_free)
        sigma[c] = np.sqrt(np.einsum("ij,jk,ik->i", S, covariance[at, at], S))
        column += lens.n_free
    offset = float(np.sqrt(covariance[-1, -1])) if freedom.offset else float("nan")
    if not freedom.relative:
        return BundleBound(sigma, np.zeros((6, 6)), 0.0, 0.0, offset)
    C = covariance[column : column + 6, column : column + 6]
    turn, along = np.eye(6), state.translation / np.linalg.norm(state.translation)
    turn[:3, :3] = _rotvec_derivative(rotvec_from_matrix(state.rotation))
    angle = float(np.sqrt(np.trace(C[:3, :3])))
    return BundleBound(sigma, turn @ C @ turn.T, float(np.sqrt(along @ C[3:, 3:] @ along)), angle, offset)


def cramer_rao(
    rig: Rig,
    board: Board,
    board_to_world: ArrayLike,
    sigma_px: ArrayLike,
    lenses: Sequence[LensModel],
    used: NDArray[np.bool_] | None = None,
) -> BundleBound:
    """Give the bound for a known rig and known places of the board.

    rig: the left camera at the origin of the world, one or two cameras; board_to_world: rotation vector and translation of every
    place, (V, 6) [rad, m]; sigma_px: noise of a coordinate, one for all or by camera; lenses: by camera, what was free;
    used: corners that took part, (2, V, N), by default all that are in the picture.
    """
    state = bundle_state(rig, board_to_world)
    C, V = len(state.intrinsics), len(state.board_rotation)
    sigma = np.broadcast_to(np.asarray(sigma_px, float), (2,))
    px, weight = np.zeros((C, V, len(board), 2)), np.zeros((C, V, len(board)))
    for c, points in enumerate(camera_points(state, board.points_m)):
        px[c] = project(state.intrinsics[c], points)
        size = np.array(rig.cameras[c].size)
        inside = (points[..., 2] > 0) & ((px[c] >= 0) & (px[c] <= size - 1)).all(axis=-1)
        weight[c] = (inside if used is None else used[c]) / sigma[c] ** 2
    return bound_at(state, Observations(board.points_m, px, weight), Freedom(tuple(lenses), relative=C == 2))


def bundle_state(rig: Rig, board_to_world: ArrayLike) -> BundleState:
    """Give a rig, its left camera at the origin of the world, and places of the board (V, 6) as a state."""
    places = np.asarray(board_to_world, float)
    cameras = rig.cameras[:1] if rig.is_lone else rig.cameras
    K = np.stack([camera.intrinsics for camera in cameras])
    return BundleState(K, *rig.left_to_right, matrix_from_rotvec(places[:, :3]), places[:, 3:])


def _rotvec_derivative(rotvec: Floats) -> Floats:
    """Give d rotvec / d w of exp([w]x) exp([rotvec]x) at w = 0, (3, 3): the inverse left Jacobian of SO(3)."""
    angle, K = float(np.linalg.norm(rotvec)), skew(rotvec)
    if angle < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * K)
    return np.asarray(np.eye(3) - 0.5 * K + (1.0 / angle**2 - 0.5 / angle / np.tan(0.5 * angle)) * K @ K)
