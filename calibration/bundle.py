"""The adjustment's equations: corners predicted from cameras and board poses, with their derivatives worked out by hand.

A corner X of the board is seen by camera c at project(K_c, R_c (R_v X + t_v) + t_c), v numbering the board's places; the world is
the left camera, so R_0 = 1, t_0 = 0. Rotations are turned by small vectors from the left: R <- exp([w]x) R. Lens model as in
`calibration.camera` (Brown 1971, in OpenCV's order). The board may be given a form: one axis longer than the other, and bent.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibration.lens import N_INTRINSICS, LensModel
from database.rotations import Floats, matrix_from_rotvec

Views = NDArray[np.intp] | NDArray[np.bool_]  # places by index or by mask
N_FORM = 4
NEAREST_M = 1e-3  # nothing is seen nearer to a camera


@dataclass(frozen=True, slots=True)
class BundleState:
    """Everything that the adjustment may move.

    intrinsics: (C, 9) of one or two cameras; rotation, translation: left to right camera, (3, 3), (3,) [m]; board_rotation,
    board_translation: board to left camera, (V, 3, 3), (V, 3) [m]; form: of the board (`formed_points`), (4,); offset_s: by which
    the right camera's stamps are late.
    """

    intrinsics: Floats
    rotation: Floats
    translation: Floats
    board_rotation: Floats
    board_translation: Floats
    form: Floats = field(default_factory=lambda: np.zeros(N_FORM))
    offset_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Observations:
    """What was measured.

    points_m: the flat board's corners, (N, 3) [m]; px: where each camera saw them, (C, V, N, 2), finite; weight: (C, V, N)
    [px^-2], 0 where not seen; velocity_px_s: of the right camera's corners, (V, N, 2), 0 where unknown; lag_s: by which the right
    picture's stamp is later than the left one's, (V,).
    """

    points_m: Floats
    px: Floats
    weight: Floats
    velocity_px_s: Floats | None = None
    lag_s: Floats | None = None

    @property
    def n_cameras(self) -> int:
        """Count the cameras."""
        return len(self.px)

    @property
    def n_views(self) -> int:
        """Count the places of the board."""
        return int(self.px.shape[1])

    def of_camera(self, camera: int) -> "Observations":
        """Give what one camera saw, all places kept."""
        return Observations(self.points_m, self.px[camera : camera + 1], self.weight[camera : camera + 1])

    def at(self, views: Views) -> "Observations":
        """Give some of the places, by index or mask."""
        velocity = None if self.velocity_px_s is None else self.velocity_px_s[views]
        lag = None if self.lag_s is None else self.lag_s[views]
        return Observations(self.points_m, self.px[:, views], self.weight[:, views], velocity, lag)


@dataclass(frozen=True, slots=True)
class Freedom:
    """What the adjustment may move besides the board's places: each camera's lens, the relative pose, the form, the offset."""

    lenses: tuple[LensModel, ...]
    relative: bool = True
    form: bool = False
    offset: bool = False

    @property
    def n_shared(self) -> int:
        """Count the numbers that are shared by all places of the board."""
        return sum(lens.n_free for lens in self.lenses) + 6 * self.relative + N_FORM * self.form + int(self.offset)


def views_of(state: BundleState, views: Views) -> BundleState:
    """Give the state with some of the board's places only, by index or mask."""
    return replace(state, board_rotation=state.board_rotation[views], board_translation=state.board_translation[views])


def formed_points(points_m: Floats, form: Floats) -> Floats:
    """Give the corners of a board of some form: (N, 3) [m], (4,) -> (N, 3) [m].

    form: stretch s, x times 1 + s and y times 1 - s; curvatures along x, along y and twist [1/m] about the board's middle.
    """
    return points_m + form_directions(points_m) @ form if form.any() else points_m


def form_directions(points_m: Floats) -> Floats:
    """Give how the corners move with the form: (N, 3) [m] -> (N, 3, 4)."""
    x, y = (points_m - points_m.mean(axis=0))[:, :2].T
    out = np.zeros((len(points_m), 3, N_FORM))
    out[:, 0, 0], out[:, 1, 0] = x, -y
    out[:, 2, 1], out[:, 2, 2], out[:, 2, 3] = 0.5 * x * x, 0.5 * y * y, x * y
    return out


def project(intrinsics: Floats, points_m: Floats) -> Floats:
    """Project points in a camera's frame: (9,), (..., 3) [m] -> (..., 2) [px]; nonsense nearer than `NEAREST_M`."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    out = np.empty((*points_m.shape[:-1], 2))
    out[..., 0] = fx * (x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)) + cx
    out[..., 1] = fy * (y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y) + cy
    return out


def projection_derivatives(intrinsics: Floats, points_m: Floats) -> tuple[Floats, Floats]:
    """Give d pixel / d point and d pixel / d intrinsics: (9,), (..., 3) [m] -> (..., 2, 3), (..., 2, 9)."""
    fx, fy, _, _, k1, k2, p1, p2, k3 = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    slope = 2.0 * (k1 + r2 * (2.0 * k2 + r2 * 3.0 * k3))  # d radial / d x = slope * x
    xx = fx * (radial + slope * x * x + 2.0 * p1 * y + 6.0 * p2 * x)
    cross = slope * x * y + 2.0 * p1 * x + 2.0 * p2 * y
    yy = fy * (radial + slope * y * y + 6.0 * p1 * y + 2.0 * p2 * x)
    P = np.empty((*points_m.shape[:-1], 2, 3))
    P[..., 0, 0], P[..., 0, 1], P[..., 1, 0], P[..., 1, 1] = xx / z, fx * cross / z, fy * cross / z, yy / z
    P[..., 0, 2] = -(x * xx + y * fx * cross) / z
    P[..., 1, 2] = -(x * fy * cross + y * yy) / z
    Q = np.zeros((*points_m.shape[:-1], 2, N_INTRINSICS))
    Q[..., 0, 0] = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
    Q[..., 1, 1] = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
    Q[..., 0, 2] = Q[..., 1, 3] = 1.0
    for column, power in ((4, r2), (5, r2 * r2), (8, r2 * r2 * r2)):
        Q[..., 0, column], Q[..., 1, column] = fx * x * power, fy * y * power
    Q[..., 0, 6], Q[..., 1, 6] = fx * 2.0 * x * y, fy * (r2 + 2.0 * y * y)
    Q[..., 0, 7], Q[..., 1, 7] = fx * (r2 + 2.0 * x * x), fy * 2.0 * x * y
    return P, Q


def camera_points(state: BundleState, points_m: Floats) -> list[Floats]:
    """Give the board's corners in each camera's frame: flat (N, 3) [m] -> C times (V, N, 3) [m]."""
    X = formed_points(points_m, state.form)
    left = X @ np.swapaxes(state.board_rotation, 1, 2) + state.board_translation[:, None]
    if len(state.intrinsics) == 1:
        return [left]
    return [left, left @ state.rotation.T + state.translation]


def residual_px(state: BundleState, seen: Observations) -> Floats:
    """Give measured less predicted corners, (C, V, N, 2) [px], infinite where a corner that counts is not in front."""
    out = np.empty_like(seen.px)
    for c, points in enumerate(camera_points(state, seen.points_m)):
        out[c] = seen.px[c] - project(state.intrinsics[c], points)
        if c == 1 and seen.velocity_px_s is not None and seen.lag_s is not None:
            out[c] += seen.velocity_px_s * (state.offset_s - seen.lag_s)[:, None, None]
        out[c][(points[..., 2] <= NEAREST_M) & (seen.weight[c] > 0)] = np.inf
    return out


def jacobian(state: BundleState, seen: Observations, freedom: Freedom) -> tuple[Floats, Floats]:
    """Give d predicted / d shared numbers and d predicted / d place: (C, V, N, 2, G) and (C, V, N, 2, 6).

    Shared: the free intrinsics of the left, then of the right camera, turn and shift of the right camera, form, offset.
    A place: turn and shift of the board in the left camera's frame.
    """
    C, V, N = seen.weight.shape
    shared, place = np.zeros((C, V, N, 2, freedom.n_shared)), np.empty((C, V, N, 2, 6))
    X = formed_points(seen.points_m, state.form)
    turned = X @ np.swapaxes(state.board_rotation, 1, 2)
    points = camera_points(state, seen.points_m)
    column = 0
    for c, lens in enumerate(freedom.lenses):
        P, Q = projection_derivatives(state.intrinsics[c], points[c])
        shared[c, ..., column : column + lens.n_free] = Q @ lens.directions
        column += lens.n_free
        end = sum(lens.n_free for lens in freedom.lenses)
        if c == 1 and freedom.relative:
            shared[c, ..., end : end + 3] = _cross(points[c] - state.translation, P)
            shared[c, ..., end + 3 : end + 6] = P
        A = P if c == 0 else P @ state.rotation
        place[c, ..., :3] = _cross(turned, A)
        place[c, ..., 3:] = A
        end += 6 * freedom.relative
        if freedom.form:
            shared[c, ..., end : end + N_FORM] = A @ (state.board_rotation[:, None] @ form_directions(seen.points_m))
            end += N_FORM
        if freedom.offset and c == 1 and seen.velocity_px_s is not None:
            shared[c, ..., end] = -seen.velocity_px_s
    return shared, place


def moved(state: BundleState, freedom: Freedom, shared: Floats, place: Floats) -> BundleState:
    """Take a step: shared (G,), place (V, 6)."""
    intrinsics, column = state.intrinsics.copy(), 0
    for c, lens in enumerate(freedom.lenses):
        intrinsics[c] += lens.directions @ shared[column : column + lens.n_free]
        column += lens.n_free
    rotation, translation, form, offset_s = state.rotation, state.translation, state.form, state.offset_s
    if freedom.relative:
        rotation = matrix_from_rotvec(shared[column : column + 3]) @ rotation
        translation = translation + shared[column + 3 : column + 6]
        column += 6
    if freedom.form:
        form = form + shared[column : column + N_FORM]
        column += N_FORM
    if freedom.offset:
        offset_s += float(shared[column])
    board_rotation = matrix_from_rotvec(place[:, :3]) @ state.board_rotation
    return BundleState(intrinsics, rotation, translation, board_rotation, state.board_translation + place[:, 3:], form, offset_s)


def _cross(points: Floats, rows: Floats) -> Floats:
    """Give p x a for each point and both rows of its derivative: (V, N, 3), (V, N, 2, 3) -> (V, N, 2, 3)."""
    x, y, z = (points[..., i, None] for i in range(3))
    out = np.empty_like(rows)
    out[..., 0] = y * rows[..., 2] - z * rows[..., 1]
    out[..., 1] = z * rows[..., 0] - x * rows[..., 2]
    out[..., 2] = x * rows[..., 1] - y * rows[..., 0]
    return out
