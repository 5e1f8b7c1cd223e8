"""Choose the views that determine the cameras best: sharp and still ones, no two alike, greedily by the information that each
adds.

The Fisher information of a view on both cameras' lenses and their relative pose, its own board pose eliminated; the next view is
the one that most raises the determinant of the sum (D-optimal design: Fedorov 1972). Image corners, tilt, distance and roll are
preferred by themselves, since they separate focal length, centre and distortion. The cameras are nominal ones, good enough to
compare views before anything is solved.
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.pattern import Board
from calibration.board.views import BoardView, ViewPair
from calibration.camera import Camera
from config.arrays import Bools, Floats
from database.geometry.rotations import matrix_from_rotvec, skew

Size = tuple[int, int]

N_LENS = 8  # f, cx, cy, aspect, k1, k2, p1, p2
N_RIG = 2 * N_LENS + 6  # both cameras, and the right one's rotation and translation
FOCAL_SHARE = 1.1  # of the longer side, where no views determine it
N_GUESS = 20
SIGMA_PX, BLUR_FREE_PX = 0.1, 0.7
N_VIEWS = 40
MIN_CORNERS = 8  # of a view
BLUR_TIMES = 2.5  # times the median blur, beyond which a picture is out of focus or smeared
BLUR_PX = 2.0  # up to which no picture is too soft
MOVED_PX = 6.0  # between two pictures: the board is smeared, and the cameras see it in different positions
ALIKE_SHARE = 0.006  # of the image's width: largest distance of the corners of views that are alike
PRIOR = 1e-4  # information before the first view, in units of the first view's mean


def corner_sigma_px(view: BoardView) -> float:
    """Estimate the error of a view's corners [px]: that of a sharp and still picture, and more with blur and motion."""
    blur, moved = (float(np.nan_to_num(value)) for value in (view.blur_px, view.moved_px))
    return float(np.hypot(SIGMA_PX * (1.0 + max(blur - BLUR_FREE_PX, 0.0)), 0.2 * moved))


def nominal_cameras(pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board) -> tuple[Camera, Camera]:
    """Estimate both cameras from their views: focal length by the homographies, the centre in the middle, no distortion."""
    left, right = (
        _nominal([pair.views[c] for pair in pairs if pair.views[c] is not None], size, board) for c, size in enumerate(sizes)
    )
    return left, right


def _nominal(views: Sequence[BoardView | None], size: Size, board: Board) -> Camera:
    """Estimate one camera, its focal length within what lenses have."""
    step = max(len(views) // N_GUESS, 1)
    seen = [view for view in views[::step] if view is not None]
    focal = FOCAL_SHARE * max(size)
    objects = [board.points_m[view.seen].astype(np.float32) for view in seen]
    pixels = [view.corners_px[view.seen].astype(np.float32) for view in seen]
    if len(seen) >= 3:
        guess = cv2.initCameraMatrix2D(objects, pixels, size, 1.0)[0, 0]
        focal = float(np.clip(guess, 0.4 * max(size), 4.0 * max(size))) if np.isfinite(guess) else focal
    matrix = np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])
    return Camera("nominal", size, matrix, np.zeros(5), np.eye(3), np.zeros(3))


def pair_information(pair: ViewPair, cameras: tuple[Camera, Camera], board: Board) -> Floats:
    """Return the information on (left lens, right lens, right camera's rotation and translation), (N_RIG, N_RIG).

    Both cameras share the board's pose; a camera that does not see the board contributes nothing. The right camera's pose is
    linearised at the one that this view shows.
    """
    A = np.zeros((N_RIG, N_RIG))
    B = np.zeros((N_RIG, 6))
    C = 1e-9 * np.eye(6)
    poses = [None if view is None else _pose(view, camera, board) for view, camera in zip(pair.views, cameras, strict=True)]
    shared = poses[0] if poses[0] is not None else poses[1]
    if shared is None:
        return A
    for c, (view, camera, pose) in enumerate(zip(pair.views, cameras, poses, strict=True)):
        if view is None or pose is None:
            continue
        lens, pose_J, rig = _jacobians(view, camera, board, pose, shared if c == 1 and poses[0] is not None else None)
        J = np.zeros((len(lens), N_RIG))
        J[:, c * N_LENS : (c + 1) * N_LENS] = lens
        J[:, 2 * N_LENS :] = rig
        weight = 1.0 / corner_sigma_px(view) ** 2
        A += weight * J.T @ J
        B += weight * J.T @ pose_J
        C += weight * pose_J.T @ pose_J
    information = A - B @ np.linalg.solve(C, B.T)
    return np.asarray(0.5 * (information + information.T))


def _pose(view: BoardView, camera: Camera, board: Board) -> tuple[Floats, Floats] | None:
    """Return the board's pose in the camera's frame: rotation (3, 3), translation (3,) [m]; None where it cannot be found."""
    points, pixels = board.points_m[view.seen], np.ascontiguousarray(view.corners_px[view.seen])
    try:
        ok, rotvec, translation = cv2.solvePnP(points, pixels, camera.matrix, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:
        return None
    if not ok or not np.all(np.isfinite(rotvec)) or translation[2, 0] <= 0.0:
        return None
    return matrix_from_rotvec(rotvec[:, 0]), translation[:, 0]


def _jacobians(
    view: BoardView, camera: Camera, board: Board, pose: tuple[Floats, Floats], from_left: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats, Floats]:
    """Return derivatives of the corners by lens (2n, N_LENS), the board's pose (2n, 6) and the right camera's pose (2n, 6).

    from_left: the board's pose in the left camera's frame, if this is the right camera and the left one sees it too: the board's
    pose is then counted in that frame.
    """
    rotation, translation = pose
    f = camera.focal_px
    rotated = board.points_m[view.seen] @ rotation.T
    x = rotated + translation
    u, v = x[:, 0] / x[:, 2], x[:, 1] / x[:, 2]
    r2, zero, one = u * u + v * v, np.zeros(len(u)), np.ones(len(u))
    du = np.stack([u, one, zero, f * u, f * u * r2, f * u * r2**2, f * 2 * u * v, f * (r2 + 2 * u * u)], axis=1)
    dv = np.stack([v, zero, one, -f * v, f * v * r2, f * v * r2**2, f * (r2 + 2 * v * v), f * 2 * u * v], axis=1)
    lens = np.stack([du, dv], axis=1).reshape(-1, N_LENS)
    depth = x[:, 2]
    projection = np.zeros((len(u), 2, 3))
    projection[:, 0, 0] = projection[:, 1, 1] = f / depth
    projection[:, 0, 2], projection[:, 1, 2] = -f * u / depth, -f * v / depth
    if from_left is None:
        pose_J = _pose_jacobian(projection, rotated, np.eye(3))
        return lens, pose_J, np.zeros_like(pose_J)
    to_right = rotation @ from_left[0].T
    J = _pose_jacobian(projection, board.points_m[view.seen] @ from_left[0].T, to_right)
    return lens, J, _pose_jacobian(projection, x, np.eye(3))


def _pose_jacobian(projection: Floats, arms: Floats, after: Floats) -> Floats:
    """Return derivatives by a rotation about the origin of `arms` and a translation, both rotated by `after`, (2n, 6)."""
    by_rotation = -np.stack([after @ skew(arm) for arm in arms])
    by_translation = np.broadcast_to(after, by_rotation.shape)
    return np.asarray((projection @ np.concatenate([by_rotation, by_translation], axis=2)).reshape(-1, 6))


class RejectReason(enum.Enum):
    """Why views were not taken into a selection."""

    FEW_CORNERS = enum.auto()
    BLURRED = enum.auto()
    MOVING = enum.auto()
    DUPLICATE = enum.auto()


@dataclass(frozen=True, slots=True)
class RejectedViews:
    """Views that were not taken: why, how many, the names of those that have one, and the limit they exceed [px]."""

    reason: RejectReason
    n: int
    names: tuple[str, ...] = ()
    limit_px: float = float("nan")


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen pairs in order of time, what was rejected, and how many distinct pairs there were to choose from."""

    pairs: tuple[ViewPair, ...]
    rejected: tuple[RejectedViews, ...]
    n_distinct: int


def describe_selection(selection: Selection) -> list[str]:
    """Return a line on each kind of view that was left out."""
    lines = [_describe_rejected(rejected) for rejected in selection.rejected]
    if len(selection.pairs) < selection.n_distinct:
        used = f"{len(selection.pairs)} of {selection.n_distinct} distinct views are used"
        lines.append(f"{used}: those that determine the cameras best")
    return lines


def _describe_rejected(rejected: RejectedViews) -> str:
    """Return a line on views that were not taken, with some of their names."""
    what = {
        RejectReason.FEW_CORNERS: f"show fewer than {MIN_CORNERS} corners",
        RejectReason.BLURRED: f"are blurred by more than {rejected.limit_px:.1f} px",
        RejectReason.MOVING: f"moved by more than {rejected.limit_px:g} px while taken",
        RejectReason.DUPLICATE: "are nearly the same as others",
    }[rejected.reason]
    names = ", ".join(name for name in rejected.names[:3] if name) + (", ..." if len(rejected.names) > 3 else "")
    return f"{rejected.n} views left out that {what}" + (f" ({names})" if any(rejected.names) else "")


def select_views(
    pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board, n_views: int = N_VIEWS, *, still_only: bool = True
) -> Selection:
    """Choose at most `n_views` pairs.

    sizes: of both cameras' images [px]; still_only: leave out views in motion where enough others are there (not where the
    cameras' time offset is to be solved for, which takes motion).
    """
    usable, rejected = _without_poor(pairs, still_only, n_views)
    distinct = _without_duplicates(usable, sizes)
    if len(distinct) < len(usable):
        rejected.append(RejectedViews(RejectReason.DUPLICATE, len(usable) - len(distinct)))
    chosen = _most_informative(distinct, sizes, board, n_views)
    return Selection(tuple(distinct[i] for i in sorted(chosen)), tuple(rejected), len(distinct))


def _without_poor(pairs: Sequence[ViewPair], still_only: bool, n_views: int) -> tuple[list[ViewPair], list[RejectedViews]]:
    """Leave out views with too few corners, blurred ones and, where enough remain, moving ones."""
    blurs = [view.blur_px for pair in pairs for view in pair.views if view is not None and np.isfinite(view.blur_px)]
    limit_px = max(BLUR_PX, BLUR_TIMES * float(np.median(blurs))) if blurs else np.inf
    few = _mask(pairs, lambda view: view.n_seen < min(MIN_CORNERS, len(view.corners_px)))
    blurred = _mask(pairs, lambda view: view.blur_px > limit_px) & ~few
    moving = _mask(pairs, lambda view: still_only and view.moved_px > MOVED_PX) & ~few & ~blurred
    if np.count_nonzero(~(few | blurred | moving)) < n_views // 2:
        moving[:] = False  # views in motion are information less, but more than nothing
    rejected = [
        RejectedViews(reason, len(names), names, limit)
        for reason, mask, limit in (
            (RejectReason.FEW_CORNERS, few, np.nan),
            (RejectReason.BLURRED, blurred, limit_px),
            (RejectReason.MOVING, moving, MOVED_PX),
        )
        if (
            names := tuple(
                v.name for pair, row in zip(pairs, mask, strict=True) for v, out in zip(pair.views, row, strict=True) if out and v
            )
        )
    ]
    bad = few | blurred | moving
    return [kept for pair, drop in zip(pairs, bad, strict=True) if (kept := _without(pair, drop)) is not None], rejected


def _mask(pairs: Sequence[ViewPair], condition: Callable[[BoardView], bool]) -> Bools:
    """Return for which views a condition holds, (P, 2)."""
    return np.array([[view is not None and bool(condition(view)) for view in pair.views] for pair in pairs], bool).reshape(-1, 2)


def _without(pair: ViewPair, drop: Bools) -> ViewPair | None:
    """Return a pair without the views to drop, None where nothing remains."""
    if not drop.any():
        return pair
    left, right = (None if out else view for view, out in zip(pair.views, drop, strict=True))
    return None if left is None and right is None else replace(pair, left=left, right=right)


def _without_duplicates(pairs: Sequence[ViewPair], sizes: tuple[Size, Size]) -> list[ViewPair]:
    """Keep the best of every group of views whose corners all have nearly the same positions."""
    kept: list[ViewPair] = []
    for pair in sorted(pairs, key=_rank):
        if not any(_alike(pair, other, sizes) for other in kept):
            kept.append(pair)
    order = {id(pair): i for i, pair in enumerate(pairs)}
    return sorted(kept, key=lambda pair: order[id(pair)])


def _rank(pair: ViewPair) -> tuple[int, float]:
    """Return a sort key: pairs that both cameras see, and still and sharp ones, first."""
    views = [view for view in pair.views if view is not None]
    return -len(views), max(float(np.nan_to_num(view.moved_px)) + float(np.nan_to_num(view.blur_px)) for view in views)


def _alike(a: ViewPair, b: ViewPair, sizes: tuple[Size, Size]) -> bool:
    """Return whether `a` shows nothing that `b` does not: the same corners in the same positions, in every camera."""
    for one, other, size in zip(a.views, b.views, sizes, strict=True):
        if one is None:
            continue
        if other is None or np.any(one.seen & ~other.seen):
            return False
        apart = np.abs(one.corners_px[one.seen] - other.corners_px[one.seen])
        if apart.max() > ALIKE_SHARE * size[0]:
            return False
    return True


def _most_informative(pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board, n_views: int) -> list[int]:
    """Choose greedily by the determinant of the summed information."""
    if len(pairs) <= n_views:
        return list(range(len(pairs)))
    cameras = nominal_cameras(pairs, sizes, board)
    information = np.stack([pair_information(pair, cameras, board) for pair in pairs])
    two = all(any(pair.views[c] is not None for pair in pairs) for c in range(2))
    used = np.arange(N_RIG) if two else _own_parameters(pairs)
    information = information[:, used][:, :, used]
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("vii->i", information) / len(information), 1e-300))
    information = information * scale[:, None] * scale[None, :]
    return _greedy(information, n_views)


def _own_parameters(pairs: Sequence[ViewPair]) -> NDArray[np.int64]:
    """Return the parameters of the one camera that sees anything."""
    camera = 0 if any(pair.left is not None for pair in pairs) else 1
    half = (N_RIG - 6) // 2
    return np.arange(half) + camera * half


def _greedy(information: Floats, n_views: int) -> list[int]:
    """Return the views that one by one raise the determinant most, information: (V, P, P)."""
    total = PRIOR * np.eye(information.shape[1])
    chosen: list[int] = []
    left = np.ones(len(information), bool)
    for _ in range(n_views):
        gains = np.where(left, np.linalg.slogdet(total + information)[1], -np.inf)
        best = int(np.argmax(gains))
        chosen.append(best)
        left[best] = False
        total = total + information[best]
    return chosen
