"""Align poses with the constraints on handles by a rotation about the vertical and a shift, in the least-squares sense."""

from typing import NamedTuple

import numpy as np

from config.arrays import Bools, Floats, Ints
from reconstruct.models.style.synthesis.arrays import HandleTargets, RootTarget
from reconstruct.models.style.synthesis.problem import find_points_in_space
from reconstruct.models.style.synthesis.rows import MIN_DEPTH_M

N_YAWS, N_HALVINGS = 12, 4  # rotations tried all round, evenly, and then around the best
FIRST_DEPTH_M = 3.0
BEHIND = 1e6  # cost of a handle behind its camera
MIN_INFO, MIN_INFO_SHARE = 1e-6, 1e-12  # [1/m^2], and of the constraints': where nothing fixes the position
EYE = np.eye(3)


class TurnedHandles(NamedTuple):
    """Handles of N poses, rotated by yaw about the vertical: level cos + across sin + upright, (N, 3 P) each [m]."""

    level: Floats
    across: Floats
    upright: Floats


class LinearRows(NamedTuple):
    """Constraints as linear residuals: three for a point in space, two for an image point, times the handle's depth.

    A residual is positions (3 P,) @ by_positions (3 P, R) + direction (R, 3) . shift + offset (R,); image: whether it is to be
    divided by its handle's depth, (R,), which is positions @ depth[0] (3 P, R) + depth[1] (R, 3) . shift + depth[2] (R,).
    """

    by_positions: Floats
    direction: Floats
    offset: Floats
    image: Bools
    depth: tuple[Floats, Floats, Floats] | None = None


class Alignment(NamedTuple):
    """N aligned poses: squared residuals (N,), yaw about up (N,) [rad], shift (N, 3) [m]."""

    cost: Floats
    yaw: Floats
    shift: Floats


def prepare_turned_handles(points: Floats, up: Floats) -> TurnedHandles:
    """Prepare handles, (N, P, 3) [m], for rotations about up."""
    upright = (points @ up)[..., None] * up
    across, n = np.cross(up, points), len(points)
    return TurnedHandles((points - upright).reshape(n, -1), across.reshape(n, -1), upright.reshape(n, -1))


def align_poses(handles: TurnedHandles, yaws: Floats | None, targets: HandleTargets, root: RootTarget) -> Alignment:
    """Align N poses with the targets.

    Args:
        handles: handles of N poses, turned about the vertical.
        yaws: heading of each pose, (N,), where known; otherwise found from the points in space or, with image points, by trying
            all round.
        targets: targets of the handles.
        root: expected root.
    """
    rows = build_linear_rows(targets)
    if yaws is not None:
        return _fit_shifts(handles, yaws, rows, root)
    if rows.depth is None:
        return _fit_shifts(handles, _fit_yaws(handles, targets), rows, root)
    n, width = len(handles.level), 2.0 * np.pi / N_YAWS
    all_round = TurnedHandles(*(np.tile(part, (N_YAWS, 1)) for part in handles))
    tried = _fit_shifts(all_round, np.repeat(width * np.arange(N_YAWS), n), rows, root)
    best = _choose_best_alignment(
        [Alignment(*parts) for parts in zip(*(part.reshape(N_YAWS, n, *part.shape[1:]) for part in tried), strict=True)]
    )
    for _ in range(N_HALVINGS):
        width *= 0.5
        best = _choose_best_alignment([best, *(_fit_shifts(handles, best.yaw + side, rows, root) for side in (-width, width))])
    return best


def build_linear_rows(targets: HandleTargets) -> LinearRows:
    """Return the targets of handles as rows."""
    point, info, weight_px = targets.point_m, targets.root_info, targets.weight_px
    rotation, translation, focal = targets.views
    known = find_points_in_space(targets)
    space, (camera, seen) = np.flatnonzero(known), np.nonzero((weight_px > 0.0) & ~known)
    n, handle, direction = 3 * len(space), np.repeat(space, 3), info[space].reshape(-1, 3)
    offset = -(direction * point[handle]).sum(axis=1)
    if not len(seen):
        return LinearRows(_derive_by_positions(handle, direction, len(point)), direction, offset, handle < 0)
    factor, u = np.sqrt(weight_px[camera, seen]) * focal[camera], targets.ideal[camera, seen]
    axis, along = rotation[camera, 2], translation[camera, 2]
    D = factor[:, None, None] * (rotation[camera, :2] - u[:, :, None] * axis[:, None])
    d = factor[:, None] * (translation[camera, :2] - u * along[:, None])
    handle, offset = np.concatenate([handle, np.repeat(seen, 2)]), np.concatenate([offset, d.ravel()])
    direction = np.concatenate([direction, D.reshape(-1, 3)])
    axis = np.concatenate([np.zeros((n, 3)), np.repeat(axis, 2, axis=0)])
    along = np.concatenate([np.ones(n), np.repeat(along, 2)])
    depth = _derive_by_positions(handle, axis, len(point)), axis, along
    return LinearRows(_derive_by_positions(handle, direction, len(point)), direction, offset, np.arange(len(handle)) >= n, depth)


def _derive_by_positions(handle: Ints, direction: Floats, n: int) -> Floats:
    """Return the factors of the positions of n handles for directions, (R, 3), of one handle a row, (3 n, R)."""
    out = np.zeros((n, 3, len(handle)))
    out[handle, :, np.arange(len(handle))] = direction
    return out.reshape(3 * n, len(handle))


def _fit_yaws(handles: TurnedHandles, targets: HandleTargets) -> Floats:
    """Return the yaws that bring the handles nearest to the points, both about their weighted means, (N,)."""
    point, weight = targets.point_m, targets.root_info[:, 0, 0] ** 2
    to = (weight[:, None] * (point - weight @ point / max(weight.sum(), 1e-12))).ravel()  # sums to zero, so means cancel
    return np.asarray(np.arctan2(handles.across @ to, handles.level @ to))


def _fit_shifts(handles: TurnedHandles, yaw: Floats, rows: LinearRows, root: RootTarget) -> Alignment:
    """Return the best shifts of handles rotated by yaw, (N,)."""
    positions = np.cos(yaw)[:, None] * handles.level + np.sin(yaw)[:, None] * handles.across + handles.upright
    e = positions @ rows.by_positions + rows.offset
    if rows.depth is None:
        shift, cost = _solve_shift(e, rows.direction, np.ones((1, len(rows.offset))), root)
        return Alignment(cost, yaw, shift)
    to_depth, axis, along = rows.depth
    shift, cost = _solve_shift(e, rows.direction, np.where(rows.image, FIRST_DEPTH_M**-2.0, 1.0)[None], root)
    unshifted_m = positions @ to_depth + along
    depth_m = np.maximum(unshifted_m + shift @ axis.T, MIN_DEPTH_M)
    shift, cost = _solve_shift(e, rows.direction, np.where(rows.image, 1.0 / (depth_m * depth_m), 1.0), root)
    behind = rows.image & (unshifted_m + shift @ axis.T <= MIN_DEPTH_M)
    return Alignment(cost + 0.5 * BEHIND * behind.sum(axis=1), yaw, shift)


def _solve_shift(e: Floats, direction: Floats, scale2: Floats, root: RootTarget) -> tuple[Floats, Floats]:
    """Return the shifts, (N, 3), that minimise residuals e, (N, R), squares times scale2, and the sums of squares left, (N,)."""
    squares = (direction[:, :, None] * direction[:, None]).reshape(-1, 9)
    A = (scale2 @ squares).reshape(-1, 3, 3) + root.position_precision * EYE
    A += (MIN_INFO + MIN_INFO_SHARE * A.trace(axis1=1, axis2=2))[:, None, None] * EYE
    prior = root.position_precision * root.position_m
    weighted = scale2 * e
    b = prior - weighted @ direction
    shift = np.einsum("nij,nj->ni", np.broadcast_to(np.linalg.inv(A), (len(b), 3, 3)), b)
    return shift, (weighted * e).sum(axis=1) + prior @ root.position_m - (b * shift).sum(axis=1)


def _choose_best_alignment(tried: list[Alignment]) -> Alignment:
    """Return for each pose the alignment of least cost."""
    cost, yaw, shift = (np.stack(part) for part in zip(*tried, strict=True))
    best, each = cost.argmin(axis=0), np.arange(cost.shape[1])
    return Alignment(cost[best, each], yaw[best, each], shift[best, each])
