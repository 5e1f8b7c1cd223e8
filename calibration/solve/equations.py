"""The equations of the bundle adjustment: corners predicted from cameras and board poses, with analytic derivatives.

Camera c sees a corner X of the board at project(K_c, R_c (R_v X + t_v) + t_c), with v the view; the world is the first camera,
so R_0 = 1, t_0 = 0. Rotations are updated from the left: R <- exp([w]x) R. Lens models as in `calibration.camera` (Brown 1971, in
OpenCV's order, or a fisheye); the last number of the intrinsics, which tells the model, is no parameter. The board may have a
form: one axis longer than the other, and bent.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.camera import Rig
from calibration.solve.projection import NEAREST_M, compute_lens_derivatives, compute_point_derivatives, project_points
from calibration.solve.solution import N_INTRINSICS, LensModel
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec

Views = NDArray[np.intp] | NDArray[np.bool_]  # by index or by mask
N_FORM = 4


@dataclass(frozen=True, slots=True)
class BundleState:
    """All that the adjustment may change.

    intrinsics: (C, 10) of the cameras; rotation, translation: first to each camera, (C, 3, 3), (C, 3) [m], of the first 1 and 0;
    board_rotation, board_translation: board to first camera, (V, 3, 3), (V, 3) [m]; form: of the board (`deform_points`), (4,);
    offset_s: by which each camera's timestamps are late, (C,), of the first 0.
    """

    intrinsics: Floats
    rotation: Floats
    translation: Floats
    board_rotation: Floats
    board_translation: Floats
    form: Floats
    offset_s: Floats

    @property
    def n_cameras(self) -> int:
        """Number of cameras."""
        return len(self.intrinsics)


def make_flat_board_state(
    intrinsics: Floats, rotation: Floats, translation: Floats, board_rotation: Floats, board_translation: Floats
) -> BundleState:
    """Return a state with a flat board and timestamps that are right.

    Args:
        intrinsics: of the cameras, (C, 10).
        rotation, translation: first to each camera, (C, 3, 3) and (C, 3) [m].
        board_rotation, board_translation: board to first camera, (V, 3, 3) and (V, 3) [m].
    """
    return BundleState(
        intrinsics, rotation, translation, board_rotation, board_translation, np.zeros(N_FORM), np.zeros(len(intrinsics))
    )


def state_from_rig(rig: Rig, board_to_world: ArrayLike) -> BundleState:
    """Return a rig and poses of the board in its first camera's frame, (V, 6), as a state."""
    poses = np.asarray(board_to_world, float)
    first = rig.cameras[0]
    R = np.stack([camera.rotation @ first.rotation.T for camera in rig.cameras])
    t = np.stack([camera.translation for camera in rig.cameras]) - R @ first.translation
    K = np.stack([camera.intrinsics for camera in rig.cameras])
    return make_flat_board_state(K, R, t, matrix_from_rotvec(poses[:, :3]), poses[:, 3:])


@dataclass(frozen=True, slots=True)
class CornerMotion:
    """How the corners moved while the pictures of a view were taken, which tells by how much cameras' timestamps are late.

    velocity_px_s: (C, V, N, 2), 0 where unknown and of the reference; lag_s: by which a picture's stamp is later than that of
    the view's reference, (C, V); reference: the first camera that sees the board, (V,).
    """

    velocity_px_s: Floats
    lag_s: Floats
    reference: NDArray[np.intp]

    def at(self, views: Views) -> "CornerMotion":
        """Return some of the views, by index or mask."""
        return CornerMotion(self.velocity_px_s[:, views], self.lag_s[:, views], self.reference[views])


@dataclass(frozen=True, slots=True)
class CornerObservations:
    """The measurements.

    points_m: the flat board's corners, (N, 3) [m]; px: where each camera saw them, (C, V, N, 2), finite; weight: (C, V, N)
    [px^-2], 0 where not seen; motion: of the corners, None where stamps are taken to be right.
    """

    points_m: Floats
    px: Floats
    weight: Floats
    motion: CornerMotion | None = None

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
        motion = None if self.motion is None else self.motion.at(views)
        return CornerObservations(self.points_m, self.px[:, views], self.weight[:, views], motion)


@dataclass(frozen=True, slots=True)
class FreeParameters:
    """What the adjustment may change besides the board's poses: lenses, poses of all cameras but the first, form, offsets.

    In this order they are the shared parameters; of each kind first those of the first camera that has them.
    """

    lenses: tuple[LensModel, ...]
    relative: bool = True
    form: bool = False
    offset: bool = False

    @property
    def n_shared(self) -> int:
        """Number of parameters that all views share."""
        return int(self.form_columns.stop) + (len(self.lenses) - 1) * self.offset

    def lens_columns(self, camera: int) -> slice:
        """Return where a camera's lens is among the shared parameters."""
        start = sum(lens.n_free for lens in self.lenses[:camera])
        return slice(start, start + self.lenses[camera].n_free)

    @property
    def pose_columns(self) -> slice:
        """Where the poses of all cameras but the first are."""
        start = sum(lens.n_free for lens in self.lenses)
        return slice(start, start + 6 * (len(self.lenses) - 1) * self.relative)

    @property
    def form_columns(self) -> slice:
        """Where the board's form is."""
        start = self.pose_columns.stop
        return slice(start, start + N_FORM * self.form)


def select_state_views(state: BundleState, views: Views) -> BundleState:
    """Return the state with some of the views only, by index or mask."""
    return replace(state, board_rotation=state.board_rotation[views], board_translation=state.board_translation[views])


def deform_points(points_m: Floats, form: Floats) -> Floats:
    """Return the corners of a board with a form: (N, 3) [m], (4,) -> (N, 3) [m].

    form: stretch s, x times 1 + s and y times 1 - s; curvatures along x, along y and twist [1/m] about the board's centre.
    """
    return points_m + compute_form_directions(points_m) @ form if form.any() else points_m


def compute_form_directions(points_m: Floats) -> Floats:
    """Return the derivatives of the corners by the form: (N, 3) [m] -> (N, 3, 4)."""
    x, y = (points_m - points_m.mean(axis=0))[:, :2].T
    out = np.zeros((len(points_m), 3, N_FORM))
    out[:, 0, 0], out[:, 1, 0] = x, -y
    out[:, 2, 1], out[:, 2, 2], out[:, 2, 3] = 0.5 * x * x, 0.5 * y * y, x * y
    return out


def compute_camera_points(state: BundleState, points_m: Floats) -> list[Floats]:
    """Return the board's corners in each camera's frame: flat (N, 3) [m] -> C times (V, N, 3) [m]."""
    X = deform_points(points_m, state.form)
    first = X @ np.swapaxes(state.board_rotation, 1, 2) + state.board_translation[:, None]
    others = zip(state.rotation[1:], state.translation[1:], strict=True)
    return [first, *(first @ R.T + t for R, t in others)]


def compute_residual_px(state: BundleState, seen: CornerObservations) -> Floats:
    """Return measured minus predicted corners, (C, V, N, 2) [px]; infinite for a corner with weight that is not in front."""
    out = np.empty_like(seen.px)
    for c, points in enumerate(compute_camera_points(state, seen.points_m)):
        out[c] = seen.px[c] - project_points(state.intrinsics[c], points)
        if seen.motion is not None:
            late_s = state.offset_s[c] - state.offset_s[seen.motion.reference] - seen.motion.lag_s[c]
            out[c] += seen.motion.velocity_px_s[c] * late_s[:, None, None]
        out[c][(points[..., 2] <= NEAREST_M) & (seen.weight[c] > 0)] = np.inf
    return out


def compute_view_equations(
    state: BundleState, seen: CornerObservations, freedom: FreeParameters, residual: Floats
) -> tuple[Floats, Floats]:
    """Return J' W J (V, G + 6, G + 6) and J' W r (V, G + 6) of every view, shared parameters first, then the board's pose.

    Args:
        state: where to linearise.
        seen: the corners seen, with their weights.
        freedom: what may change besides the board's poses.
        residual: (C, V, N, 2) [px]; corners where it is not finite do not count.
    """
    G, (C, V, _) = freedom.n_shared, seen.weight.shape
    H, b = np.zeros((V, G + 6, G + 6)), np.zeros((V, G + 6))
    points = compute_camera_points(state, seen.points_m)
    for c in range(C):
        views = np.flatnonzero((seen.weight[c] > 0).any(axis=1))
        if not len(views):
            continue
        motion = None if seen.motion is None else seen.motion.at(views)
        part, weight, off = select_state_views(state, views), seen.weight[c, views], residual[c, views]
        columns, shared, pose = _compute_camera_jacobian(part, seen.points_m, motion, freedom, c, points[c][views])
        at = np.concatenate([columns, np.arange(G, G + 6)])
        J = np.concatenate([shared, pose], axis=-1).reshape(len(views), -1, len(at))
        counts = (weight > 0) & np.isfinite(off).all(axis=-1)
        root = np.sqrt(np.repeat(np.where(counts, weight, 0.0), 2, axis=1))
        r = np.where(counts[..., None], off, 0.0).reshape(len(views), -1) * root
        J = J * root[..., None]
        H[views[:, None, None], at[:, None], at] += J.swapaxes(1, 2) @ J
        b[views[:, None], at] += (J * r[..., None]).sum(axis=1)
    return H, b


def _compute_camera_jacobian(
    state: BundleState, points_m: Floats, motion: CornerMotion | None, freedom: FreeParameters, c: int, points: Floats
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return derivatives of what a camera sees, points in its frame (V, N, 3) [m].

    Returns the shared parameters that move it, (k,), d predicted / d these, (V, N, 2, k), and / d pose of the board,
    (V, N, 2, 6).
    """
    P = compute_point_derivatives(state.intrinsics[c], points)
    lens, R = freedom.lenses[c], state.board_rotation
    blocks = list[tuple[slice, Floats]]()
    if lens.n_free:
        blocks.append((freedom.lens_columns(c), compute_lens_derivatives(state.intrinsics[c], points) @ lens.directions))
    if c and freedom.relative:
        start = freedom.pose_columns.start + 6 * (c - 1)
        turned = _compute_cross_products(points - state.translation[c], P)
        blocks.append((slice(start, start + 6), np.concatenate([turned, P], axis=-1)))
    A = P @ state.rotation[c] if c else P
    rotated = deform_points(points_m, state.form) @ np.swapaxes(R, 1, 2)
    if freedom.form:
        blocks.append((freedom.form_columns, A @ (R[:, None] @ compute_form_directions(points_m))))
    if freedom.offset and motion is not None:
        blocks.append((slice(freedom.form_columns.stop, freedom.n_shared), _compute_offset_derivatives(motion, c)))
    columns = np.array([column for at, _ in blocks for column in range(at.start, at.stop)], np.intp)
    shared = np.concatenate([block for _, block in blocks], axis=-1) if blocks else np.zeros((*P.shape[:-1], 0))
    return columns, shared, np.concatenate([_compute_cross_products(rotated, A), A], axis=-1)


def _compute_offset_derivatives(motion: CornerMotion, c: int) -> Floats:
    """Return d predicted / d offsets of all cameras but the first, of what a camera sees: (V, N, 2, C - 1)."""
    C, V = motion.lag_s.shape
    later = np.zeros((V, C))
    later[:, c] -= 1.0
    later[np.arange(V), motion.reference] += 1.0
    return np.asarray(motion.velocity_px_s[c][..., None] * later[:, None, None, 1:])


def apply_step(state: BundleState, freedom: FreeParameters, shared: Floats, poses: Floats) -> BundleState:
    """Return the state after a step.

    Args:
        state: before the step.
        freedom: what may change besides the board's poses.
        shared: change of the shared parameters, (G,).
        poses: change of the board's poses, (V, 6).
    """
    intrinsics, rotation, translation = state.intrinsics.copy(), state.rotation.copy(), state.translation.copy()
    for c, lens in enumerate(freedom.lenses):
        intrinsics[c, :N_INTRINSICS] += lens.directions @ shared[freedom.lens_columns(c)]
    form, offset_s = state.form, state.offset_s.copy()
    if freedom.relative:
        moved = shared[freedom.pose_columns].reshape(-1, 6)
        rotation[1:] = matrix_from_rotvec(moved[:, :3]) @ rotation[1:]
        translation[1:] += moved[:, 3:]
    if freedom.form:
        form = form + shared[freedom.form_columns]
    if freedom.offset:
        offset_s[1:] += shared[freedom.form_columns.stop :]
    board_rotation = matrix_from_rotvec(poses[:, :3]) @ state.board_rotation
    return BundleState(intrinsics, rotation, translation, board_rotation, state.board_translation + poses[:, 3:], form, offset_s)


def _compute_cross_products(points: Floats, rows: Floats) -> Floats:
    """Return p x a for each point and both rows of its derivative: (V, N, 3), (V, N, 2, 3) -> (V, N, 2, 3)."""
    x, y, z = (points[..., i, None] for i in range(3))
    out = np.empty_like(rows)
    out[..., 0] = y * rows[..., 2] - z * rows[..., 1]
    out[..., 1] = z * rows[..., 0] - x * rows[..., 2]
    out[..., 2] = x * rows[..., 1] - y * rows[..., 0]
    return out
