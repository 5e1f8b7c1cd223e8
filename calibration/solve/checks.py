"""Checks of the views of a board before, and of the rig after it is solved for; each fault is one line."""

from collections.abc import Sequence

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardView
from calibration.camera import FOCAL_RANGE, format_camera_name
from calibration.solve.adjust import RobustFit, compute_view_distances_px
from calibration.solve.board_pose import count_least_corners
from config.arrays import Floats, Ints
from config.errors import CalibrationError
from config.words import format_count

MIN_VIEWS = 4  # of one camera whose lens is not known
MIN_SHARED = 3  # views of two cameras
GOOD_VIEWS = 20
OUTSIDE_PX = 1.0  # a corner may lie this far outside the picture
SAME_PX = 1.0  # views are the same within this
PARALLEL_RAD = np.radians(5.0)
MAX_OFF = 0.01  # of the longer side: median distance of corners that are not those of the board
UNKNOWN_FOCAL = 0.2  # relative sigma


def check_views(board: Board, views: Sequence[BoardView], size: tuple[int, int], name: str) -> None:
    """Raise CalibrationError where corners do not fit the board or the picture, or are not finite.

    Args:
        board: the board that is looked for.
        views: what the camera saw.
        size: width and height of the picture [px].
        name: of the camera.
    """
    for view in views:
        where = f"{format_camera_name(name)}, {view.name or 'a view'}"
        if view.corners_px.shape != (len(board), 2) or view.seen.shape != (len(board),):
            raise CalibrationError(
                f"{where}: {format_count(len(view.corners_px), 'corner')}; the board {board.text} has {len(board)}: give the "
                "board that was seen"
            )
        px = view.corners_px[view.seen]
        if not np.isfinite(px).all():
            raise CalibrationError(f"{where}: a corner's place is not a finite number: find the corners again")
        if len(px) and not ((px >= -OUTSIDE_PX) & (px <= np.array(size) + OUTSIDE_PX - 1.0)).all():
            far = px[np.abs(px - 0.5 * np.array(size)).max(axis=1).argmax()]
            raise CalibrationError(
                f"{where}: a corner at ({far[0]:.0f}, {far[1]:.0f}) lies outside pictures of {size[0]}x{size[1]}: "
                f"are all pictures of this camera of one size?"
            )


def check_enough(board: Board, views: Sequence[BoardView], name: str) -> None:
    """Raise CalibrationError where there are too few views to calibrate a camera, or all are the same.

    Args:
        board: the board that is looked for.
        views: what the camera saw.
        name: of the camera.
    """
    useful = [view for view in views if view.n_seen >= count_least_corners(len(board))]
    if len(useful) < MIN_VIEWS:
        raise CalibrationError(
            f"{format_camera_name(name)}: {len(useful)} view{'' if len(useful) == 1 else 's'} of the board; at "
            f"least {MIN_VIEWS} are needed "
            f"and {GOOD_VIEWS} are good: hold it nearer, farther, in every corner of the picture and tilted to all sides"
        )
    if all(_is_same_view(useful[0], view) for view in useful[1:]):
        raise CalibrationError(
            f"{format_camera_name(name)}: all {len(useful)} views show the board in one place; move it and tilt it "
            f"between pictures"
        )


def check_linked(n_shared: Ints, names: Sequence[str]) -> None:
    """Raise CalibrationError where some cameras share too few views with the others.

    n_shared: number of views that two cameras share, (C, C).
    """
    groups = _find_linked_groups(n_shared)
    if len(groups) == 1:
        return
    if len(names) == 2:
        n = int(n_shared[0, 1])
        raise CalibrationError(
            f"both cameras see the board together {n} time{'' if n == 1 else 's'}; at least {MIN_SHARED} are "
            f"needed, {GOOD_VIEWS} are good: hold it where both see all of it, and check that left and right pictures belong "
            f"together"
        )
    listed = "; ".join(", ".join(names[c] for c in group) for group in groups)
    raise CalibrationError(
        f"no views of the board link all cameras, which fall into {len(groups)} groups: {listed}; hold it where cameras of two "
        f"groups see it together, {MIN_SHARED} times at least and better {GOOD_VIEWS}, and check that their pictures belong "
        f"together"
    )


def _find_linked_groups(n_shared: Ints) -> list[list[int]]:
    """Return the cameras that are linked by enough shared views, group by group."""
    left, groups = list(range(len(n_shared))), list[list[int]]()
    while left:
        group = [left.pop(0)]
        for member in group:  # grows as others are found
            found = [c for c in left if n_shared[member, c] >= MIN_SHARED]
            group += found
            left = [c for c in left if c not in found]
        groups.append(sorted(group))
    return groups


def check_fits(fit: RobustFit, size: tuple[int, int], name: str, board: Board) -> None:
    """Raise CalibrationError where the corners are not those of a flat board of this kind.

    Args:
        fit: of the camera.
        size: width and height of the picture [px].
        name: of the camera.
        board: the board that is looked for.
    """
    off = float(np.median(compute_view_distances_px(fit)))
    if off > MAX_OFF * max(size):
        raise CalibrationError(
            f"{format_camera_name(name)}: corners are {off:.1f} px off any place of the board {board.text}, expected below 1 px: "
            f"give the board that was seen, its corners row by row, flat and in pictures that are not mirrored"
        )


def check_tilt(normals: Floats, name: str, focal_sigma: float) -> None:
    """Raise CalibrationError where the views are too alike in tilt to determine the focal length, or its uncertainty is absurd.

    Args:
        normals: of the boards in the camera's frame, (V, 3).
        name: of the camera.
        focal_sigma: standard deviation of the focal length, relative.
    """
    mean = normals.mean(axis=0)
    spread = float(np.degrees(np.arccos(np.clip(normals @ (mean / max(np.linalg.norm(mean), 1e-12)), -1.0, 1.0)).max()))
    if np.radians(spread) < PARALLEL_RAD or focal_sigma > UNKNOWN_FOCAL:
        raise CalibrationError(
            f"{format_camera_name(name)}: its focal length cannot be told, all views hold the board within "
            f"{spread:.0f} degrees of one tilt "
            f"(sigma of the focal length {100 * min(focal_sigma, 9.99):.0f} %): tilt the board by 20 to 45 degrees, to all sides"
        )


def check_intrinsics(intrinsics: Floats, size: tuple[int, int], name: str, board: Board) -> None:
    """Raise CalibrationError where no lens has such intrinsics.

    Args:
        intrinsics: of the camera, (10,).
        size: width and height of the picture [px].
        name: of the camera.
        board: the board that is looked for.
    """
    side, (fx, fy, cx, cy) = max(size), intrinsics[:4]
    if not all(FOCAL_RANGE[0] * side <= focal <= FOCAL_RANGE[1] * side for focal in (fx, fy)):
        raise CalibrationError(
            f"{format_camera_name(name)}: a focal length of {fx:.0f} x {fy:.0f} px came out, expected "
            f"{FOCAL_RANGE[0] * side:.0f} to "
            f"{FOCAL_RANGE[1] * side:.0f} px for pictures {side} px long: is the board {board.text}, flat and tilted?"
        )
    if not (-0.25 * size[0] <= cx <= 1.25 * size[0] and -0.25 * size[1] <= cy <= 1.25 * size[1]):
        raise CalibrationError(
            f"{format_camera_name(name)}: the optical axis came out at ({cx:.0f}, {cy:.0f}), far outside the "
            f"picture of {size[0]}x{size[1]}: "
            f"were the pictures cropped? Take more views, tilted to all sides"
        )


def check_sides(centre_m: Floats) -> None:
    """Raise CalibrationError where the right one of two cameras is to the left of the left one. centre_m: of the right one,
    (3,).
    """
    if centre_m[0] < -0.5 * np.linalg.norm(centre_m):
        raise CalibrationError(
            f"the camera given as right stands {-100 * centre_m[0]:.1f} cm to the left of the one given as left: "
            f"left and right are swapped, exchange them; or both cameras mirror their pictures: switch that off"
        )


def _is_same_view(first: BoardView, second: BoardView) -> bool:
    """Return whether two views show the board in the same position of the picture."""
    both = first.seen & second.seen
    return bool(both.any()) and bool(np.abs(first.corners_px[both] - second.corners_px[both]).max() < SAME_PX)
