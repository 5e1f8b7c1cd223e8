"""The pose of a flat board from its corners: by homography, and the mirrored pose that fits nearly as well.

Seen from afar a plane and its mirror image across the picture plane look alike (Schweighofer & Pinz 2006; Collins & Bartoli
2014): both are kept until another camera, or the residual, decides. Homography: the normalised linear method (Hartley & Zisserman
2004, alg. 4.2).
"""

from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import camera_from_intrinsics
from calibration.solve.adjust import BundleProblem
from calibration.solve.equations import (
    BundleState,
    CornerObservations,
    FreeParameters,
    apply_step,
    compute_residual_px,
    make_flat_board_state,
    select_state_views,
)
from calibration.solve.solution import FIXED
from config.arrays import Floats
from database.geometry.rotations import find_nearest_rotation
from numerics.definite import solve_each_damped

MIN_CORNERS = 6  # of a view; a single marker has four
MIN_INFORMATION = 1e-12  # second smallest over largest eigenvalue: less for points on a line
POSE_STEPS = 30
MIN_GAIN = 1e-7  # of a view's cost in one step


def count_least_corners(n_board: int) -> int:
    """Return how many corners a view must show of a board that has `n_board` of them."""
    return min(MIN_CORNERS, n_board)


def compute_homography(points: Floats, px: Floats, weight: Floats) -> Floats:
    """Return the homography that takes (x, y, 1) to the picture and fits best, (3, 3) of unit norm.

    Args:
        points: on the plane, (N, 2).
        px: in the picture, (N, 2).
        weight: (N,), 0 where a point is not to be used.
    """
    used = weight > 0
    return _fit_homography(points[used], px[used])[0]


def compute_unique_homography(points: Floats, px: Floats) -> Floats | None:
    """Return the homography from (N, 2) to (N, 2), (3, 3) of unit norm; None if the points do not determine it, as on a line."""
    H, unique = _fit_homography(points, px)
    return H if unique else None


def _fit_homography(points: Floats, px: Floats) -> tuple[Floats, bool]:
    """Return the homography, and whether the points determine it."""
    a, A = _normalise_points(points)
    b, B = _normalise_points(px)
    one = np.column_stack([a, np.ones(len(a))])
    zero = np.zeros_like(one)
    rows = np.concatenate([np.hstack([one, zero, -b[:, :1] * one]), np.hstack([zero, one, -b[:, 1:] * one])])
    _, values, vectors = np.linalg.svd(rows.T @ rows)
    H = np.linalg.inv(B) @ vectors[-1].reshape(3, 3) @ A
    return np.asarray(H / np.linalg.norm(H)), bool(values[-2] >= MIN_INFORMATION * values[0])


def _normalise_points(points: Floats) -> tuple[Floats, Floats]:
    """Centre points and scale them to a mean distance of sqrt(2): (N, 2) -> (N, 2) and the map (3, 3)."""
    middle = points.mean(axis=0)
    scale = np.sqrt(2.0) / max(float(np.linalg.norm(points - middle, axis=1).mean()), 1e-12)
    T = np.array([[scale, 0.0, -scale * middle[0]], [0.0, scale, -scale * middle[1]], [0.0, 0.0, 1.0]])
    return (points - middle) * scale, T


def pose_from_homography(H: Floats, centre_m: Floats) -> tuple[Floats, Floats]:
    """Return the pose of a plane in front of the camera from its homography to (x/z, y/z): (3, 3) -> (3, 3), (3,)."""
    scale = np.sqrt(np.linalg.norm(H[:, 0]) * np.linalg.norm(H[:, 1]))
    H = H / scale
    if H[2] @ np.array([centre_m[0], centre_m[1], 1.0]) < 0:
        H = -H
    return find_nearest_rotation(np.column_stack([H[:, 0], H[:, 1], np.cross(H[:, 0], H[:, 1])])), H[:, 2].copy()


def mirror_board_pose(rotation: Floats, translation: Floats, centre_m: Floats) -> tuple[Floats, Floats]:
    """Return the other pose that looks alike: the board mirrored in the plane through its centre that faces the camera.

    Args:
        rotation: (..., 3, 3).
        translation: (..., 3) [m], both board to camera.
        centre_m: of the board, (3,).
    """
    middle = rotation @ centre_m + translation
    d = middle / np.linalg.norm(middle, axis=-1, keepdims=True)
    mirror = np.eye(3) - 2.0 * d[..., :, None] * d[..., None, :]
    other = mirror @ rotation @ np.diag([1.0, 1.0, -1.0])
    return other, middle - other @ centre_m


def compute_view_costs(state: BundleState, seen: CornerObservations) -> Floats:
    """Return half the weighted sum of squares of each view, (V,), infinite where corners are not in front of a camera."""
    squares = np.where(seen.weight > 0, (compute_residual_px(state, seen) ** 2).sum(axis=-1), 0.0)
    return np.asarray(0.5 * np.where(seen.weight > 0, seen.weight * squares, 0.0).sum(axis=(0, 2)))


def refine_board_poses(state: BundleState, seen: CornerObservations) -> tuple[BundleState, Floats]:
    """Minimise each view's cost by its own board pose, the cameras fixed; return the state and the costs (V,)."""
    poses_only = FreeParameters(tuple(FIXED for _ in range(seen.n_cameras)), relative=False)
    damping, costs = np.full(seen.n_views, 1e-6), compute_view_costs(state, seen)
    for _ in range(POSE_STEPS):
        (pose,) = BundleProblem(seen, poses_only).linearise(state).groups
        step = solve_each_damped(pose.own, pose.gradient, damping, 1e-12)
        tried = apply_step(state, poses_only, np.zeros(0), step)
        new = compute_view_costs(tried, seen)
        better = new < costs
        R = np.where(better[:, None, None], tried.board_rotation, state.board_rotation)
        t = np.where(better[:, None], tried.board_translation, state.board_translation)
        state = replace(state, board_rotation=R, board_translation=t)
        predicted_gain = -(step * pose.gradient).sum(axis=1)
        costs, damping = np.where(better, new, costs), np.where(better, damping * 0.1, damping * 10.0)
        if (predicted_gain <= MIN_GAIN * costs + 1e-14).all():
            break
    return state, costs


@dataclass(frozen=True, slots=True)
class PoseCandidates:
    """One camera and the board poses as it alone sees them, first the better of each view (2 V), and their costs."""

    state: BundleState
    costs: Floats


def find_pose_candidates(intrinsics: Floats, seen: CornerObservations) -> PoseCandidates:
    """Return both board poses of every view as one camera sees it, refined.

    Views with fewer corners than `count_least_corners` have infinite costs. intrinsics: of the camera, (10,); seen: the corners
    of that camera.
    """
    V, centre = seen.n_views, seen.points_m.mean(axis=0)
    ideal = camera_from_intrinsics("", (2, 2), intrinsics, np.eye(3), np.zeros(3)).undistort(seen.px[0])
    R, t = np.tile(np.eye(3), (V, 1, 1)), np.tile([0.0, 0.0, 1.0], (V, 1))
    enough = (seen.weight[0] > 0).sum(axis=1) >= count_least_corners(len(seen.points_m))
    for v in np.flatnonzero(enough):
        R[v], t[v] = pose_from_homography(compute_homography(seen.points_m[:, :2], ideal[v], seen.weight[0, v]), centre)
    Rm, tm = mirror_board_pose(R, t, centre)
    both = np.concatenate([R, Rm]), np.concatenate([t, tm])
    state = make_flat_board_state(intrinsics[None], np.eye(3)[None], np.zeros((1, 3)), both[0], both[1])
    state, costs = refine_board_poses(state, seen.at(np.tile(np.arange(V), 2)))
    costs[~np.tile(enough, 2)] = np.inf
    swap = np.tile(costs[V:] < costs[:V], 2)
    order = np.where(swap, np.roll(np.arange(2 * V), V), np.arange(2 * V))
    return PoseCandidates(select_state_views(state, order), costs[order])
