"""The equations of the bundle adjustment: corners predicted from cameras and board poses, with analytic derivatives.

Camera c sees a corner X of the board at project(K_c, R_c (R_v X + t_v) + t_c), with v the view; the world is the left camera, so
R_0 = 1, t_0 = 0. Rotations are updated from the left: R <- exp([w]x) R. Lens models as in `calibration.camera` (Brown 1971, in
OpenCV's order, or a fisheye); the last number of the intrinsics, which tells the model, is no parameter. The board may have a
form: one axis longer than the other, and bent.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.camera import Rig, relative_pose
from calibration.solve.solution import N_INTRINSICS, LensModel
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec

Views = NDArray[np.intp] | NDArray[np.bool_]  # by index or by mask
N_FORM = 4
NEAREST_M = 1e-3  # least depth in front of a camera


@dataclass(frozen=True, slots=True)
class BundleState:
    """All that the adjustment may change.

    intrinsics: (C, 10) of one or two cameras; rotation, translation: left to right camera, (3, 3), (3,) [m]; board_rotation,
    board_translation: board to left camera, (V, 3, 3), (V, 3) [m]; form: of the board (`formed_points`), (4,); offset_s: by which
    the right camera's timestamps are late.
    """

    intrinsics: Floats
    rotation: Floats
    translation: Floats
    board_rotation: Floats
    board_translation: Floats
    form: Floats = field(default_factory=lambda: np.zeros(N_FORM))
    offset_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CornerObservations:
    """The measurements.

    points_m: the flat board's corners, (N, 3) [m]; px: where each camera saw them, (C, V, N, 2), finite; weight: (C, V, N)
    [px^-2], 0 where not seen; velocity_px_s: of the right camera's corners, (V, N, 2), 0 where unknown; lag_s: by which the right
    picture's timestamp is later than the left one's, (V,).
    """

    points_m: Floats
    px: Floats
    weight: Floats
    velocity_px_s: Floats | None = None
    lag_s: Floats | None = None

    @property
    def n_cameras(self) -> int:
        """Number of cameras."""
        return len(self.px)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return int(self.px.shape[1])

    def of_camera(self, camera: int) -> "CornerObservations":
        """Return what one camera saw, all views kept."""
        return CornerObservations(self.points_m, self.px[camera : camera + 1], self.weight[camera : camera + 1])

    def at(self, views: Views) -> "CornerObservations":
        """Return some of the views, by index or mask."""
        velocity = None if self.velocity_px_s is None else self.velocity_px_s[views]
        lag = None if self.lag_s is None else self.lag_s[views]
        return CornerObservations(self.points_m, self.px[:, views], self.weight[:, views], velocity, lag)


@dataclass(frozen=True, slots=True)
class FreeParameters:
    """What the adjustment may change besides the board's poses: each camera's lens, the relative pose, the form, the offset."""

    lenses: tuple[LensModel, ...]
    relative: bool = True
    form: bool = False
    offset: bool = False

    @property
    def n_shared(self) -> int:
        """Number of parameters that all views share."""
        return sum(lens.n_free for lens in self.lenses) + 6 * self.relative + N_FORM * self.form + int(self.offset)


def subset(state: BundleState, views: Views) -> BundleState:
    """Return the state with some of the views only, by index or mask."""
    return replace(state, board_rotation=state.board_rotation[views], board_translation=state.board_translation[views])


def bundle_state(rig: Rig, board_to_world: ArrayLike) -> BundleState:
    """Return a rig, its left camera at the origin of the world, and poses of the board (V, 6) as a state."""
    poses = np.asarray(board_to_world, float)
    cameras = rig.cameras
    K = np.stack([camera.intrinsics for camera in cameras])
    return BundleState(K, *relative_pose(rig.left, rig.right), matrix_from_rotvec(poses[:, :3]), poses[:, 3:])


def formed_points(points_m: Floats, form: Floats) -> Floats:
    """Return the corners of a board with a form: (N, 3) [m], (4,) -> (N, 3) [m].

    form: stretch s, x times 1 + s and y times 1 - s; curvatures along x, along y and twist [1/m] about the board's centre.
    """
    return points_m + form_directions(points_m) @ form if form.any() else points_m


def form_directions(points_m: Floats) -> Floats:
    """Return the derivatives of the corners by the form: (N, 3) [m] -> (N, 3, 4)."""
    x, y = (points_m - points_m.mean(axis=0))[:, :2].T
    out = np.zeros((len(points_m), 3, N_FORM))
    out[:, 0, 0], out[:, 1, 0] = x, -y
    out[:, 2, 1], out[:, 2, 2], out[:, 2, 3] = 0.5 * x * x, 0.5 * y * y, x * y
    return out


def project(intrinsics: Floats, points_m: Floats) -> Floats:
    """Project points in a camera's frame: (10,), (..., 3) [m] -> (..., 2) [px]; meaningless nearer than `NEAREST_M`."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    out = np.empty((*points_m.shape[:-1], 2))
    if fisheye:
        radial = _fisheye(intrinsics, x, y)[0]
        out[..., 0], out[..., 1] = fx * x * radial + cx, fy * y * radial + cy
        return out
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    out[..., 0] = fx * (x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)) + cx
    out[..., 1] = fy * (y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y) + cy
    return out


def _fisheye(intrinsics: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return radial with x' = x radial, its slope with d radial / d x = slope x, and the square of the angle from the axis."""
    k1, k2, k3, k4 = intrinsics[4:8]
    r2 = np.maximum(x * x + y * y, 1e-12)
    r = np.sqrt(r2)
    theta = np.arctan(r)
    t2 = theta * theta
    radial = theta / r * (1.0 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4))))
    rate = (1.0 + t2 * (3.0 * k1 + t2 * (5.0 * k2 + t2 * (7.0 * k3 + t2 * 9.0 * k4)))) / (1.0 + r2)
    return radial, np.where(r2 > 1e-8, (rate - radial) / r2, 0.0), t2


def point_derivatives(intrinsics: Floats, points_m: Floats) -> Floats:
    """Return d pixel / d point: (10,), (..., 3) [m] -> (..., 2, 3)."""
    fx, fy, _, _, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    if fisheye:
        radial, slope = _fisheye(intrinsics, x, y)[:2]
        p1 = p2 = 0.0
    else:
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
    return P


def lens_derivatives(intrinsics: Floats, points_m: Floats) -> Floats:
    """Return d pixel / d intrinsics: (10,), (..., 3) [m] -> (..., 2, 9); a fisheye's last is 0."""
    fx, fy, _, _, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    Q = np.zeros((*points_m.shape[:-1], 2, N_INTRINSICS))
    if fisheye:
        radial, _, t2 = _fisheye(intrinsics, x, y)
        Q[..., 0, 0], Q[..., 1, 1], Q[..., 0, 2], Q[..., 1, 3] = x * radial, y * radial, 1.0, 1.0
        power = np.sqrt(t2 / np.maximum(x * x + y * y, 1e-300))
        for column in (4, 5, 6, 7):
            power = power * t2
            Q[..., 0, column], Q[..., 1, column] = fx * x * power, fy * y * power
        return Q
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    Q[..., 0, 0] = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
    Q[..., 1, 1] = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
    Q[..., 0, 2] = Q[..., 1, 3] = 1.0
    for column, power in ((4, r2), (5, r2 * r2), (8, r2 * r2 * r2)):
        Q[..., 0, column], Q[..., 1, column] = fx * x * power, fy * y * power
    Q[..., 0, 6], Q[..., 1, 6] = fx * 2.0 * x * y, fy * (r2 + 2.0 * y * y)
    Q[..., 0, 7], Q[..., 1, 7] = fx * (r2 + 2.0 * x * x), fy * 2.0 * x * y
    return Q


def camera_points(state: BundleState, points_m: Floats) -> list[Floats]:
    """Return the board's corners in each camera's frame: flat (N, 3) [m] -> C times (V, N, 3) [m]."""
    X = formed_points(points_m, state.form)
    left = X @ np.swapaxes(state.board_rotation, 1, 2) + state.board_translation[:, None]
    if len(state.intrinsics) == 1:
        return [left]
    return [left, left @ state.rotation.T + state.translation]


def residual_px(state: BundleState, seen: CornerObservations) -> Floats:
    """Return measured minus predicted corners, (C, V, N, 2) [px]; infinite for a corner with weight that is not in front."""
    out = np.empty_like(seen.px)
    for c, points in enumerate(camera_points(state, seen.points_m)):
        out[c] = seen.px[c] - project(state.intrinsics[c], points)
        if c == 1 and seen.velocity_px_s is not None and seen.lag_s is not None:
            out[c] += seen.velocity_px_s * (state.offset_s - seen.lag_s)[:, None, None]
        out[c][(points[..., 2] <= NEAREST_M) & (seen.weight[c] > 0)] = np.inf
    return out


def jacobian(state: BundleState, seen: CornerObservations, freedom: FreeParameters) -> tuple[Floats, Floats]:
    """Return d predicted / d shared parameters and d predicted / d pose: (C, V, N, 2, G) and (C, V, N, 2, 6).

    Shared: the free intrinsics of the left, then of the right camera, rotation and translation of the right camera, form, offset.
    Pose: rotation and translation of the board in the left camera's frame.
    """
    C, V, N = seen.weight.shape
    shared, pose = np.zeros((C, V, N, 2, freedom.n_shared)), np.empty((C, V, N, 2, 6))
    X = formed_points(seen.points_m, state.form)
    rotated = X @ np.swapaxes(state.board_rotation, 1, 2)
    points = camera_points(state, seen.points_m)
    column = 0
    for c, lens in enumerate(freedom.lenses):
        P = point_derivatives(state.intrinsics[c], points[c])
        if lens.n_free:
            shared[c, ..., column : column + lens.n_free] = lens_derivatives(state.intrinsics[c], points[c]) @ lens.directions
        column += lens.n_free
        end = sum(lens.n_free for lens in freedom.lenses)
        if c == 1 and freedom.relative:
            shared[c, ..., end : end + 3] = _cross(points[c] - state.translation, P)
            shared[c, ..., end + 3 : end + 6] = P
        A = P if c == 0 else P @ state.rotation
        pose[c, ..., :3] = _cross(rotated, A)
        pose[c, ..., 3:] = A
        end += 6 * freedom.relative
        if freedom.form:
            shared[c, ..., end : end + N_FORM] = A @ (state.board_rotation[:, None] @ form_directions(seen.points_m))
            end += N_FORM
        if freedom.offset and c == 1 and seen.velocity_px_s is not None:
            shared[c, ..., end] = -seen.velocity_px_s
    return shared, pose


def apply_step(state: BundleState, freedom: FreeParameters, shared: Floats, poses: Floats) -> BundleState:
    """Return the state after a step: shared (G,), poses (V, 6)."""
    intrinsics, column = state.intrinsics.copy(), 0
    for c, lens in enumerate(freedom.lenses):
        intrinsics[c, :N_INTRINSICS] += lens.directions @ shared[column : column + lens.n_free]
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
    board_rotation = matrix_from_rotvec(poses[:, :3]) @ state.board_rotation
    return BundleState(intrinsics, rotation, translation, board_rotation, state.board_translation + poses[:, 3:], form, offset_s)


def _cross(points: Floats, rows: Floats) -> Floats:
    """Return p x a for each point and both rows of its derivative: (V, N, 3), (V, N, 2, 3) -> (V, N, 2, 3)."""
    x, y, z = (points[..., i, None] for i in range(3))
    out = np.empty_like(rows)
    out[..., 0] = y * rows[..., 2] - z * rows[..., 1]
    out[..., 1] = z * rows[..., 0] - x * rows[..., 2]
    out[..., 2] = x * rows[..., 1] - y * rows[..., 0]
    return out
