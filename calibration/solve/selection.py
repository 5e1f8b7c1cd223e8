"""Choose the views that determine the cameras best: sharp and still ones, no two alike, greedily by the information that each
adds.

The Fisher information of a view on both cameras' lenses and their relative pose, its own board pose eliminated; the next view is
the one that most raises the determinant of the sum (D-optimal design: Fedorov 1972). Image corners, tilt, distance and roll are
preferred by themselves, since they separate focal length, centre and distortion. The cameras are nominal ones, good enough to
compare views before anything is solved.
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera
from calibration.solve.equations import CornerObservations, FreeParameters, compute_view_equations, make_flat_board_state
from calibration.solve.solution import LensModel
from config.arrays import Bools, Floats
from config.words import format_count
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec

Size = tuple[int, int]

LENS = LensModel(("k1", "k2", "p1", "p2"), square=False)
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


def estimate_corner_sigma_px(view: BoardView) -> float:
    """Estimate the error of a view's corners [px]: that of a sharp and still picture, and more with blur and motion."""
    blur, moved = (float(np.nan_to_num(value)) for value in (view.blur_px, view.moved_px))
    return float(np.hypot(SIGMA_PX * (1.0 + max(blur - BLUR_FREE_PX, 0.0)), 0.2 * moved))


def estimate_nominal_cameras(moments: Sequence[BoardMoment], sizes: Sequence[Size], board: Board) -> tuple[Camera, ...]:
    """Return cameras from their views alone: focal length by the homographies, the centre in the middle, no distortion.

    Args:
        moments: what the cameras saw together.
        sizes: width and height of each camera's pictures [px].
        board: the board that is looked for.
    """
    return tuple(
        _estimate_nominal_camera([moment.views[c] for moment in moments if moment.views[c] is not None], size, board)
        for c, size in enumerate(sizes)
    )


def _estimate_nominal_camera(views: Sequence[BoardView | None], size: Size, board: Board) -> Camera:
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


def compute_moment_information(moment: BoardMoment, cameras: Sequence[Camera], board: Board) -> Floats:
    """Return the information on the lenses, and on the poses of all cameras but the first, (P, P).

    The cameras share the board's pose, which is eliminated; a camera that does not see the board contributes nothing. Their poses
    are linearised at those that this view shows, in the frame of the first camera that sees it.

    Args:
        moment: the views of one moment.
        cameras: about how they are.
        board: the board that is looked for.
    """
    C, freedom = len(cameras), FreeParameters((LENS,) * len(cameras), relative=len(cameras) > 1)
    R, t, weight = np.tile(np.eye(3), (C, 1, 1)), np.zeros((C, 3)), np.zeros((C, 1, len(board)))
    reference: RigidMotion | None = None
    for c, (view, camera) in enumerate(zip(moment.views, cameras, strict=True)):
        pose = None if view is None else _find_board_pose(view, camera, board)
        if view is None or pose is None:
            continue
        reference = reference or pose
        beside = pose.after(reference.inverse)
        R[c], t[c], weight[c, 0] = beside.rotation, beside.translation_m, view.seen / estimate_corner_sigma_px(view) ** 2
    if reference is None:
        return np.zeros((freedom.n_shared, freedom.n_shared))
    intrinsics, board_t = np.stack([camera.intrinsics for camera in cameras]), reference.translation_m[None]
    state = make_flat_board_state(intrinsics, R, t, reference.rotation[None], board_t)
    px = np.zeros((*weight.shape, 2))
    (H,), _ = compute_view_equations(state, CornerObservations(board.points_m, px, weight), freedom, px)
    n = freedom.n_shared
    information = H[:n, :n] - H[:n, n:] @ np.linalg.solve(H[n:, n:] + 1e-9 * np.eye(6), H[n:, :n])
    return np.asarray(0.5 * (information + information.T))


def _find_board_pose(view: BoardView, camera: Camera, board: Board) -> RigidMotion | None:
    """Return the motion from the board's frame to the camera's; None where it cannot be found."""
    points, pixels = board.points_m[view.seen], np.ascontiguousarray(view.corners_px[view.seen])
    try:
        ok, rotvec, translation = cv2.solvePnP(points, pixels, camera.matrix, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:
        return None
    if not ok or not np.all(np.isfinite(rotvec)) or translation[2, 0] <= 0.0:
        return None
    return RigidMotion(matrix_from_rotvec(rotvec[:, 0]), translation[:, 0])


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
    """The chosen moments in order of time, what was rejected, and how many distinct ones there were to choose from."""

    moments: tuple[BoardMoment, ...]
    rejected: tuple[RejectedViews, ...]
    n_distinct: int


def describe_selection(selection: Selection) -> list[str]:
    """Return a line on each kind of view that was left out."""
    lines = [_describe_rejected(rejected) for rejected in selection.rejected]
    if len(selection.moments) < selection.n_distinct:
        used = f"{len(selection.moments)} of {selection.n_distinct} distinct views are used"
        lines.append(f"{used}: those that determine the cameras best")
    return lines


def _describe_rejected(rejected: RejectedViews) -> str:
    """Return a line on views that were not taken, with some of their names."""
    what = {
        RejectReason.FEW_CORNERS: f"with fewer than {MIN_CORNERS} corners",
        RejectReason.BLURRED: f"blurred by more than {rejected.limit_px:.1f} px",
        RejectReason.MOVING: f"moved by more than {rejected.limit_px:g} px while taken",
        RejectReason.DUPLICATE: "nearly the same as others",
    }[rejected.reason]
    names = ", ".join(name for name in rejected.names[:3] if name) + (", ..." if len(rejected.names) > 3 else "")
    return f"{format_count(rejected.n, 'view')} left out, {what}" + (f" ({names})" if any(rejected.names) else "")


def select_views(
    moments: Sequence[BoardMoment], sizes: Sequence[Size], board: Board, n_views: int = N_VIEWS, *, still_only: bool = True
) -> Selection:
    """Choose at most `n_views` moments for two cameras, in proportion for more.

    Args:
        moments: what the cameras saw together.
        sizes: of the cameras' images [px].
        board: the board that is looked for.
        n_views: how many moments of two cameras at most.
        still_only: leave out views in motion where enough others are there (not where the cameras' time offset is to be solved
            for, which takes motion).
    """
    n_views = n_views * max(len(sizes), 2) // 2
    usable, rejected = _remove_poor_views(moments, still_only, n_views)
    distinct = _remove_duplicates(usable, sizes)
    if len(distinct) < len(usable):
        rejected.append(RejectedViews(RejectReason.DUPLICATE, len(usable) - len(distinct)))
    chosen = _choose_most_informative(distinct, sizes, board, n_views)
    return Selection(tuple(distinct[i] for i in sorted(chosen)), tuple(rejected), len(distinct))


def _remove_poor_views(
    moments: Sequence[BoardMoment], still_only: bool, n_views: int
) -> tuple[list[BoardMoment], list[RejectedViews]]:
    """Leave out views with too few corners, blurred ones and, where enough remain, moving ones."""
    blurs = [view.blur_px for moment in moments for view in moment.views if view is not None and np.isfinite(view.blur_px)]
    limit_px = max(BLUR_PX, BLUR_TIMES * float(np.median(blurs))) if blurs else np.inf
    few = _find_views(moments, lambda view: view.n_seen < min(MIN_CORNERS, len(view.corners_px)))
    blurred = _find_views(moments, lambda view: view.blur_px > limit_px) & ~few
    moving = _find_views(moments, lambda view: still_only and view.moved_px > MOVED_PX) & ~few & ~blurred
    if np.count_nonzero(~(few | blurred | moving)) < n_views // 2:
        moving[:] = False  # views in motion are information less, but more than nothing
    rejected = []
    for reason, mask, limit in (
        (RejectReason.FEW_CORNERS, few, np.nan),
        (RejectReason.BLURRED, blurred, limit_px),
        (RejectReason.MOVING, moving, MOVED_PX),
    ):
        rows = [zip(moment.views, row, strict=True) for moment, row in zip(moments, mask, strict=True)]
        names = tuple(view.name for row in rows for view, out in row if out and view)
        if names:
            rejected.append(RejectedViews(reason, len(names), names, limit))
    bad = few | blurred | moving
    return [kept for moment, drop in zip(moments, bad, strict=True) if (kept := _drop_views(moment, drop)) is not None], rejected


def _find_views(moments: Sequence[BoardMoment], condition: Callable[[BoardView], bool]) -> Bools:
    """Return for which views a condition holds, (V, C)."""
    rows = [[view is not None and bool(condition(view)) for view in moment.views] for moment in moments]
    return np.array(rows, bool).reshape(len(moments), -1 if moments else 0)


def _drop_views(moment: BoardMoment, drop: Bools) -> BoardMoment | None:
    """Return a moment without the views to drop, None where nothing remains."""
    if not drop.any():
        return moment
    views = tuple(None if out else view for view, out in zip(moment.views, drop, strict=True))
    return None if all(view is None for view in views) else BoardMoment(views)


def _remove_duplicates(moments: Sequence[BoardMoment], sizes: Sequence[Size]) -> list[BoardMoment]:
    """Keep the best of every group of views whose corners all have nearly the same positions."""
    kept: list[BoardMoment] = []
    for moment in sorted(moments, key=_rank_moment):
        if not any(_is_duplicate(moment, other, sizes) for other in kept):
            kept.append(moment)
    order = {id(moment): i for i, moment in enumerate(moments)}
    return sorted(kept, key=lambda moment: order[id(moment)])


def _rank_moment(moment: BoardMoment) -> tuple[int, float]:
    """Return a sort key: moments that many cameras see, and still and sharp ones, first."""
    views = [view for view in moment.views if view is not None]
    return -len(views), max(float(np.nan_to_num(view.moved_px)) + float(np.nan_to_num(view.blur_px)) for view in views)


def _is_duplicate(a: BoardMoment, b: BoardMoment, sizes: Sequence[Size]) -> bool:
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


def _choose_most_informative(moments: Sequence[BoardMoment], sizes: Sequence[Size], board: Board, n_views: int) -> list[int]:
    """Choose greedily by the determinant of the summed information."""
    if len(moments) <= n_views:
        return list(range(len(moments)))
    cameras = estimate_nominal_cameras(moments, sizes, board)
    information = np.stack([compute_moment_information(moment, cameras, board) for moment in moments])
    total = np.einsum("vii->i", information)
    told = total > 1e-12 * total.max()  # not of a camera that sees nothing
    information = information[:, told][:, :, told]
    scale = 1.0 / np.sqrt(total[told] / len(information))
    return _choose_greedily(information * scale[:, None] * scale[None, :], n_views)


def _choose_greedily(information: Floats, n_views: int) -> list[int]:
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
