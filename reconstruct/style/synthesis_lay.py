"""Lay poses on what is asked of one, by a turn about the vertical and a shift, so that the sum of squares left is least."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.synthesis_rows_kernels import NEAREST_M, Handled, Rooted

N_YAWS, N_HALVINGS = 12, 4  # turns that are tried all round, even; then around the best
FIRST_DEPTH_M = 3.0
BEHIND = 1e6  # what a handle behind its camera costs
LITTLE, LITTLE_SHARE = 1e-6, 1e-12  # [1/m^2] and of what is asked: where nothing says where the body is
EYE = np.eye(3)
Laid = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class Turning:
    """N poses' handles as they turn about the vertical: level cos + across sin + upright, (N, 3 P) each [m]."""

    level: Floats
    across: Floats
    upright: Floats


@dataclass(frozen=True, slots=True)
class Rows:
    """What is asked, row by row: a world point is three, an image point two, each a line's distance over the handle's depth.

    A residual is places (3 P,) @ by_places (3 P, R) + direction (R, 3) . shift + offset (R,); line: whether it is to be divided
    by its handle's depth, (R,) bool, which is places @ depth[0] (3 P, R) + depth[1] (R, 3) . shift + depth[2] (R,).
    """

    by_places: Floats
    direction: Floats
    offset: Floats
    line: NDArray[np.bool_]
    depth: tuple[Floats, Floats, Floats] | None = None


def turning(points: Floats, up: Floats) -> Turning:
    """Prepare handles, (N, P, 3) [m], to be turned about up."""
    upright = (points @ up)[..., None] * up
    across, n = np.cross(up, points), len(points)
    return Turning((points - upright).reshape(n, -1), across.reshape(n, -1), upright.reshape(n, -1))


def lay(handles: Turning, yaws: Floats | None, handled: Handled, rooted: Rooted) -> Laid:
    """Lay N poses on what is asked; give the squares left (N,), the turn about up (N,) [rad] and the shift (N, 3) [m].

    yaws: the turn of each pose, (N,), where it is known; else it follows from the world points or, where image points are
    asked, from trying all round.
    """
    rows = rows_of(handled)
    if yaws is not None:
        return _laid(handles, yaws, rows, rooted)
    if rows.depth is None:
        return _laid(handles, _best_yaws(handles, handled), rows, rooted)
    n, width = len(handles.level), 2.0 * np.pi / N_YAWS
    all_round = Turning(*(np.tile(part, (N_YAWS, 1)) for part in (handles.level, handles.across, handles.upright)))
    tried = _laid(all_round, np.repeat(width * np.arange(N_YAWS), n), rows, rooted)
    best = _least(
        [(part[0], part[1], part[2]) for part in zip(*(each.reshape(N_YAWS, n, *each.shape[1:]) for each in tried), strict=True)]
    )
    for _ in range(N_HALVINGS):
        width *= 0.5
        best = _least([best, *(_laid(handles, best[1] + side, rows, rooted) for side in (-width, width))])
    return best


def rows_of(handled: Handled) -> Rows:
    """Give what is asked of handles as rows."""
    _, _, point, info, ideal, weight_px, (rotation, translation, focal) = handled
    known = info[:, 0, 0] > 0.0
    space, (camera, seen) = np.flatnonzero(known), np.nonzero((weight_px > 0.0) & ~known)
    n, handle, direction = 3 * len(space), np.repeat(space, 3), info[space].reshape(-1, 3)
    offset = -(direction * point[handle]).sum(axis=1)
    if not len(seen):
        return Rows(_by_places(handle, direction, len(point)), direction, offset, handle < 0)
    factor, u = np.sqrt(weight_px[camera, seen]) * focal[camera], ideal[camera, seen]
    axis, along = rotation[camera, 2], translation[camera, 2]
    D = factor[:, None, None] * (rotation[camera, :2] - u[:, :, None] * axis[:, None])
    d = factor[:, None] * (translation[camera, :2] - u * along[:, None])
    handle, offset = np.concatenate([handle, np.repeat(seen, 2)]), np.concatenate([offset, d.ravel()])
    direction = np.concatenate([direction, D.reshape(-1, 3)])
    axis = np.concatenate([np.zeros((n, 3)), np.repeat(axis, 2, axis=0)])
    along = np.concatenate([np.ones(n), np.repeat(along, 2)])
    depth = _by_places(handle, axis, len(point)), axis, along
    return Rows(_by_places(handle, direction, len(point)), direction, offset, np.arange(len(handle)) >= n, depth)


def _by_places(handle: NDArray[np.int64], direction: Floats, n: int) -> Floats:
    """Give what the places of n handles, (3 n,), are multiplied with for a direction, (R, 3), of one handle a row, (3 n, R)."""
    out = np.zeros((n, 3, len(handle)))
    out[handle, :, np.arange(len(handle))] = direction
    return out.reshape(3 * n, len(handle))


def _best_yaws(handles: Turning, handled: Handled) -> Floats:
    """Give the turns that bring the handles nearest to the world points, both about their weighted means, (N,)."""
    point, weight = handled[2], handled[3][:, 0, 0] ** 2
    to = (weight[:, None] * (point - weight @ point / max(weight.sum(), 1e-12))).ravel()  # sums to nothing: so do means
    return np.asarray(np.arctan2(handles.across @ to, handles.level @ to))


def _laid(handles: Turning, yaw: Floats, rows: Rows, rooted: Rooted) -> Laid:
    """Shift handles that are turned by yaw, (N,); give what `lay` does."""
    places = np.cos(yaw)[:, None] * handles.level + np.sin(yaw)[:, None] * handles.across + handles.upright
    e = places @ rows.by_places + rows.offset
    if rows.depth is None:
        shift, cost = _shifted(e, rows.direction, np.ones((1, len(rows.offset))), rooted)
        return cost, yaw, shift
    to_depth, axis, along = rows.depth
    shift, cost = _shifted(e, rows.direction, np.where(rows.line, FIRST_DEPTH_M**-2.0, 1.0)[None], rooted)
    unshifted_m = places @ to_depth + along
    depth_m = np.maximum(unshifted_m + shift @ axis.T, NEAREST_M)
    shift, cost = _shifted(e, rows.direction, np.where(rows.line, 1.0 / (depth_m * depth_m), 1.0), rooted)
    behind = rows.line & (unshifted_m + shift @ axis.T <= NEAREST_M)
    return cost + 0.5 * BEHIND * behind.sum(axis=1), yaw, shift


def _shifted(e: Floats, direction: Floats, scale2: Floats, rooted: Rooted) -> tuple[Floats, Floats]:
    """Give the shift, (N, 3), by which residuals e, (N, R), are least, each square times scale2, and the sum of squares left."""
    squares = (direction[:, :, None] * direction[:, None]).reshape(-1, 9)
    A = (scale2 @ squares).reshape(-1, 3, 3) + rooted[3] * EYE
    A += (LITTLE + LITTLE_SHARE * A.trace(axis1=1, axis2=2))[:, None, None] * EYE
    prior = rooted[3] * rooted[1]
    weighed = scale2 * e
    b = prior - weighed @ direction
    shift = np.einsum("nij,nj->ni", np.broadcast_to(np.linalg.inv(A), (len(b), 3, 3)), b)
    return shift, (weighed * e).sum(axis=1) + prior @ rooted[1] - (b * shift).sum(axis=1)


def _least(tried: list[Laid]) -> Laid:
    """Give of each pose what cost least."""
    cost, yaw, shift = (np.stack(part) for part in zip(*tried, strict=True))
    best, each = cost.argmin(axis=0), np.arange(cost.shape[1])
    return cost[best, each], yaw[best, each], shift[best, each]
