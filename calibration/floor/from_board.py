"""The floor from a board that lies on it, in one position or in several, as both cameras saw it or one of them.

To one camera a plane and its mirror image look nearly alike (Collins & Bartoli 2014): a floor may come out half a metre off at a
good pixel error. Every position is therefore started from both poses, of each camera, and all cameras that see it decide
together. Views of a board that does not move are averaged corner by corner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig
from calibration.floor.frame import Floor, find_direction_to_cameras
from calibration.quality.report import Finding, Grade
from calibration.solve.board_pose import compute_homography, count_least_corners, mirror_board_pose, pose_from_homography
from calibration.world import compute_up_of_images, project_to_floor
from config.arrays import Bools, Floats
from config.errors import CalibrationError
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix, skew_from_vector

SAME_PX = 2.0  # a board that stays where it is moves less than this, median of its corners
MOVING_PX = 1.5  # from one picture to the next: a board in a hand
SIZE_SIGMAS, MIN_BIAS = 4.0, 0.003  # difference in size from which the rig is believed rather than the board
MISFIT_PX = 2.0  # RMS of the corners, above which pictures and rig do not belong together
LOSS_PX = 1.0  # beyond which a corner's error counts less
DECISIVE, DECISIVE_SHARE = 25.0, 1.5  # the mirror image is ruled out if its chi-square is higher by this, and by this factor
SAME_PLANE_RAD, SAME_PLANE_M = 0.06, 0.05  # within which positions lie on one floor
MIN_UPRIGHT = 0.1  # cosine of up to the pictures' up, below which a floor is no floor


@dataclass(frozen=True, slots=True)
class BoardPosition:
    """A board at one position. px: mean corners by camera, (C, N, 2) [px]; seen: (C, N); n_pictures: how many were averaged;
    name: of the first picture, for messages.
    """

    px: Floats
    seen: Bools
    n_pictures: int
    name: str

    @property
    def n_cameras(self) -> int:
        """Number of cameras that see enough of it."""
        return int((self.seen.sum(axis=1) >= count_least_corners(self.seen.shape[1])).sum())

    @property
    def swapped(self) -> "BoardPosition":
        """The same with left and right exchanged."""
        return replace(self, px=self.px[::-1], seen=self.seen[::-1])

    @property
    def title(self) -> str:
        """Its name in a message."""
        return f"the board in {self.name}" + (f" and {self.n_pictures - 1} more pictures" if self.n_pictures > 1 else "")

    def views(self, rig: Rig) -> Iterator[tuple[Camera, Floats, Bools]]:
        """Yield the cameras that see it with what they see."""
        for k, camera in enumerate(rig.cameras):
            if self.seen[k].sum() >= count_least_corners(self.seen.shape[1]):
                yield camera, self.px[k], self.seen[k]


def group_board_positions(board: Board, pairs: Sequence[BoardMoment]) -> list[BoardPosition]:
    """Return the positions of a board, that of most pictures first; views in motion are left out where there are others.

    A chessboard with even sides may be numbered from either end: two views of one position may differ by half a turn.
    """
    usable = [
        pair for pair in pairs if any(view is not None and view.n_seen >= count_least_corners(len(board)) for view in pair.views)
    ]
    still = [pair for pair in usable if not _is_moving(pair)]
    groups: list[list[BoardMoment]] = []
    for pair in still or usable:
        group = next((group for group in groups if _is_same_position(group[-1], pair) or _is_same_position(group[0], pair)), None)
        if group is None:
            groups.append([pair])
        else:
            group.append(pair)
    positions = [_average_views(board, group) for group in groups]
    return sorted((position for position in positions if position.n_cameras), key=lambda position: -position.n_pictures)


def _is_moving(pair: BoardMoment) -> bool:
    """Return whether the board moves in a pair, as far as that is known."""
    return any(view is not None and np.isfinite(view.moved_px) and view.moved_px > MOVING_PX for view in pair.views)


def _is_same_position(one: BoardMoment, other: BoardMoment) -> bool:
    """Return whether the board lies in the same position in two pairs, for every camera that sees it in both."""
    known = False
    for a, b in zip(one.views, other.views, strict=True):
        if a is None or b is None or not (both := a.seen & b.seen).any():
            continue
        if float(np.median(np.linalg.norm((a.corners_px - b.corners_px)[both], axis=1))) > SAME_PX:
            return False
        known = True
    return known


def _average_views(board: Board, group: Sequence[BoardMoment]) -> BoardPosition:
    """Average the views of one position; by the median, so that a hand in one picture does not matter."""
    n_cameras = len(group[0].views)
    px, seen = np.zeros((n_cameras, len(board), 2)), np.zeros((n_cameras, len(board)), bool)
    for camera in range(n_cameras):
        views = [view for pair in group if (view := pair.views[camera]) is not None]
        if views:
            px[camera], seen[camera] = _compute_median_corners(views)
    first = next(view for view in group[0].views if view is not None)
    return BoardPosition(px, seen, len(group), first.name or "the first picture")


def _compute_median_corners(views: Sequence[BoardView]) -> tuple[Floats, Bools]:
    """Return each corner's median position, and which are seen in any view."""
    seen = np.stack([view.seen for view in views])
    corners = np.where(seen[..., None], np.stack([view.corners_px for view in views]), np.nan)
    known = np.asarray(seen.any(axis=0))
    result = np.zeros(corners.shape[1:])
    result[known] = np.nanmedian(corners[:, known], axis=0)
    return result, known


@dataclass(frozen=True, slots=True)
class BoardPose:
    """A board's pose in the rig's frame and its cost.

    rotation, translation: board to rig, (3, 3) and (3,) [m]; cost: half the sum of squares [px^2] of n_numbers; other: the best
    pose with another normal, None if there is none.
    """

    rotation: Floats
    translation: Floats
    cost: float
    n_numbers: int
    other: "BoardPose | None" = None

    @property
    def up(self) -> Floats:
        """The direction that the board's face looks to, (3,)."""
        return np.asarray(-self.rotation[:, 2])

    @property
    def is_sure(self) -> bool:
        """Whether the corners alone rule the mirror image out."""
        if self.other is None:
            return True
        variance = max(2.0 * self.cost / max(self.n_numbers - 6, 1), 0.02**2)
        gap = 2.0 * (self.other.cost - self.cost)
        return gap > DECISIVE * variance and self.other.cost > DECISIVE_SHARE * self.cost


def fit_floor_to_board(rig: Rig, board: Board, pairs: Sequence[BoardMoment], thickness_m: float = 0.0) -> Floor:
    """Return the floor under a board that lies on it.

    Args:
        rig: the cameras.
        board: the board.
        pairs: views of it, both cameras' at one time; those of a board that does not move are averaged.
        thickness_m: height of its face above the floor.
    Raises: CalibrationError: no usable view.
    """
    positions = group_board_positions(board, pairs)
    if not positions:
        raise CalibrationError(
            f"the board {board.text} is nowhere seen with {count_least_corners(len(board))} corners or more; "
            "lay it flat on the floor, whole in both pictures"
        )
    fit, pose, dropped = _fit_positions(rig, board, positions)
    if fit.both and fit.rms_px > MISFIT_PX:
        swapped = _fit_positions(rig, board, [position.swapped for position in positions])[0].rms_px if len(rig) == 2 else np.inf
        raise CalibrationError(_describe_misfit(fit.rms_px, swapped))
    return _build_floor(rig, board, fit, pose, dropped, thickness_m)


def _fit_positions(rig: Rig, board: Board, positions: Sequence[BoardPosition]) -> tuple["_PlaneFit", BoardPose, list[str]]:
    """Fit the plane of the positions; return also the first one's pose, and the titles of positions left out."""
    poses = [_turn_upright(rig, find_board_pose(rig, board, position)) for position in positions]
    chosen, dropped = _select_coplanar(positions, poses, board)
    return _PlaneFit(rig, board, [positions[k] for k in chosen], [poses[k] for k in chosen]), poses[chosen[0]], dropped


def _describe_misfit(rms_px: float, swapped_px: float) -> str:
    """Return the message that pictures and rig do not belong together."""
    if swapped_px < 0.3 * rms_px:
        return f"left and right are swapped: the board fits this rig {rms_px / swapped_px:.0f} times better the other way round"
    return (
        f"the board's corners are {rms_px:.1f} px from where this rig could have them, usually below 1 px; "
        "a camera was moved since, the pictures are of two moments, or the rig is of other cameras"
    )


def find_board_pose(rig: Rig, board: Board, position: BoardPosition) -> BoardPose:
    """Return the board's pose, from all cameras that see it.

    Args:
        rig: the cameras.
        board: the board.
        position: where each camera saw its corners.
    """
    found: list[BoardPose] = []
    for camera, px, seen in position.views(rig):
        for R, t in _compute_pose_candidates(camera, board, px, seen):
            found.append(_refine_pose(rig, board, position, camera.rotation.T @ R, camera.rotation.T @ (t - camera.translation)))
    found.sort(key=lambda pose: pose.cost)
    best = found[0]
    other = next((pose for pose in found if pose.up @ best.up < np.cos(SAME_PLANE_RAD)), None)
    return replace(best, other=other)


def _compute_pose_candidates(camera: Camera, board: Board, px: Floats, seen: Bools) -> list[tuple[Floats, Floats]]:
    """Return the pose by homography and its mirror image, board to camera."""
    points, centre = board.points_m, board.points_m.mean(axis=0)
    H = compute_homography(points[:, :2], camera.undistort(px), seen.astype(float))
    R, t = pose_from_homography(H, centre)
    return [(R, t), mirror_board_pose(R, t, centre)]


def _refine_pose(rig: Rig, board: Board, position: BoardPosition, rotation: Floats, translation: Floats) -> BoardPose:
    """Minimise the error of a pose over all views of the position."""
    n = 2 * sum(int(seen.sum()) for _, _, seen in position.views(rig))

    def residual(x: Floats) -> Floats:
        R = rotation @ matrix_from_rotvec(x[:3])
        return _compute_residual_px(rig, position, board.points_m @ R.T + translation + x[3:])

    fit = least_squares(residual, np.zeros(6), loss="soft_l1", f_scale=LOSS_PX, max_nfev=40, x_scale=0.1)
    return BoardPose(rotation @ matrix_from_rotvec(fit.x[:3]), translation + fit.x[3:], float(fit.cost), n)


def _compute_residual_px(rig: Rig, position: BoardPosition, points_m: Floats) -> Floats:
    """Return predicted minus measured corners of all views, flat [px]; far off where a corner would be behind a camera."""
    parts = [(camera.project(points_m) - px)[seen].ravel() for camera, px, seen in position.views(rig)]
    return np.clip(np.nan_to_num(np.concatenate(parts), nan=1e3), -1e3, 1e3)


def _turn_upright(rig: Rig, pose: BoardPose) -> BoardPose:
    """Return the pose of a floor: if the corners leave it open, the one whose up is up in the pictures.

    The normal of the mirror image is rotated by half a turn about the ray: what is up in the picture is down in it.
    """
    if pose.other is None or pose.is_sure or pose.up @ compute_up_of_images(rig) >= pose.other.up @ compute_up_of_images(rig):
        return pose
    return replace(pose.other, other=replace(pose, other=None))


def _select_coplanar(positions: Sequence[BoardPosition], poses: Sequence[BoardPose], board: Board) -> tuple[list[int], list[str]]:
    """Return the positions that lie in one plane, those of most pictures first, and the titles of those that do not."""
    middle = board.points_m.mean(axis=0)
    best: list[int] = []
    for k in sorted(range(len(positions)), key=lambda k: -positions[k].n_pictures):
        up, d = poses[k].up, poses[k].up @ (poses[k].rotation @ middle + poses[k].translation)
        agree = [
            m
            for m, pose in enumerate(poses)
            if pose.up @ up > np.cos(SAME_PLANE_RAD) and abs(up @ (pose.rotation @ middle + pose.translation) - d) < SAME_PLANE_M
        ]
        if sum(positions[m].n_pictures for m in agree) > sum(positions[m].n_pictures for m in best):
            best = agree
    best = sorted(best, key=lambda k: -positions[k].n_pictures)
    return best, [positions[k].title for k in range(len(positions)) if k not in best]


class _PlaneFit:
    """All positions in one plane: the first one's pose, of each other position and rotation within the plane, and the board's
    size.
    """

    def __init__(self, rig: Rig, board: Board, positions: Sequence[BoardPosition], poses: Sequence[BoardPose]) -> None:
        self._rig, self._board, self.positions, first = rig, board, positions, poses[0]
        self._first = first
        self.both = any(position.n_cameras > 1 for position in positions)
        start = np.concatenate([np.zeros(6), *(_compute_pose_in_plane(first, pose) for pose in poses[1:])])
        x, covariance, self.rms_px = self._solved(start, free=False)
        self.size_ratio = self.size_sigma = float("nan")
        size = 1.0
        if self.both:
            y, spread, rms_px = self._solved(np.append(x, 1.0), free=True)
            self.size_ratio, self.size_sigma = float(y[-1]), float(np.sqrt(spread[-1, -1]))
            if abs(self.size_ratio - 1.0) > max(SIZE_SIGMAS * self.size_sigma, MIN_BIAS):
                # Board and rig disagree: where the floor is in this rig, the rig says.
                x, covariance, self.rms_px, size = y[:-1], spread[:-1, :-1], rms_px, self.size_ratio
        self.rotation, self.translation = self._pose(x)
        self.covariance, self.corners_m = covariance, self.placed(x, size)
        self.middle_m = size * board.points_m.mean(axis=0)

    def _solved(self, start: Floats, free: bool) -> tuple[Floats, Floats, float]:
        """Solve for the poses, with the board's size free or not; return parameters, covariance and the RMS of the corners
        [px].
        """

        def residual(x: Floats) -> Floats:
            return self._residual(x[:-1], float(x[-1])) if free else self._residual(x)

        fit = least_squares(residual, start, loss="soft_l1", f_scale=LOSS_PX, max_nfev=60)
        clipped = np.minimum(np.abs(residual(fit.x)), 3.0 * LOSS_PX)
        variance = max(float((clipped**2).sum() / max(len(clipped) - len(fit.x), 1)), 0.05**2)
        J = np.asarray(fit.jac, float)
        covariance = variance * np.linalg.inv(J.T @ J + 1e-9 * np.eye(J.shape[1]))  # kept away from singular
        return fit.x, covariance, float(np.sqrt(2.0 * np.mean(clipped**2)))

    def _pose(self, x: Floats) -> tuple[Floats, Floats]:
        return self._first.rotation @ matrix_from_rotvec(x[:3]), self._first.translation + x[3:6]

    def placed(self, x: Floats, size: float = 1.0) -> list[Floats]:
        """Return the corners at every position in the rig's frame, (N, 3) [m] each."""
        R, t = self._pose(x)
        result = [size * self._board.points_m @ R.T + t]
        for k in range(len(self.positions) - 1):
            u, v, turn = x[6 + 3 * k : 9 + 3 * k]
            rotated = size * self._board.points_m @ matrix_from_rotvec(np.array([0.0, 0.0, turn])).T + np.array([u, v, 0.0])
            result.append(rotated @ R.T + t)
        return result

    def _residual(self, x: Floats, size: float = 1.0) -> Floats:
        placed = self.placed(x, size)
        return np.concatenate(
            [_compute_residual_px(self._rig, position, points) for position, points in zip(self.positions, placed, strict=True)]
        )


def _compute_pose_in_plane(first: BoardPose, pose: BoardPose) -> Floats:
    """Return a pose's position and rotation within the first one's plane, (3,) [m, m, rad]."""
    position = first.rotation.T @ (pose.translation - first.translation)
    turn = rotvec_from_matrix(first.rotation.T @ pose.rotation)[2]
    return np.array([position[0], position[1], turn])


def _build_floor(rig: Rig, board: Board, fit: _PlaneFit, pose: BoardPose, dropped: Sequence[str], thickness_m: float) -> Floor:
    """Return the floor under the board."""
    up = -fit.rotation[:, 2]
    touching = np.concatenate(fit.corners_m) - thickness_m * up
    middle = fit.middle_m
    origin = fit.rotation @ middle + fit.translation - thickness_m * up
    tilt = fit.covariance[:2, :2]  # about the board's x and y
    corners_m = np.concatenate(fit.corners_m)
    distance_m = min(float(np.median(np.linalg.norm(corners_m - camera.center_m, axis=1))) for camera in rig.cameras)
    texts = [f"{title}: not in the plane of the others, left out" for title in dropped]
    if len(fit.positions) > 1:
        texts.append(f"the board lies in {len(fit.positions)} places, all in one plane")
    findings = [Finding(Grade.PASS, text) for text in texts]
    if not pose.is_sure and pose.other is not None and pose.other.up @ compute_up_of_images(rig) > MIN_UPRIGHT:
        apart = np.degrees(np.arccos(np.clip(pose.up @ pose.other.up, -1.0, 1.0)))
        text = f"the pictures cannot tell the floor from its mirror image, tilted by {apart:.0f} degrees"
        findings.append(Finding(Grade.POOR, text, "lay the board nearer, or where both cameras see it"))
    return Floor(
        up=up,
        origin_m=origin,
        ahead=_choose_edge_to_cameras(rig, fit.rotation, origin, up),
        by="board",
        tilt_sigma_rad=float(np.sqrt(np.linalg.eigvalsh(tilt)[-1])),
        height_sigma_m=float(np.sqrt(_compute_height_variance(fit, middle))),
        residual_mm=1e3 * fit.rms_px * distance_m / rig.cameras[0].focal_px,
        touching_m=touching,
        size_ratio=fit.size_ratio,
        size_sigma=fit.size_sigma,
        one_camera=not fit.both,
        findings=tuple(findings),
        figures={"reprojection_px": fit.rms_px, "places": float(len(fit.positions))},
    )


def _compute_height_variance(fit: _PlaneFit, middle: Floats) -> float:
    """Return the variance of the height of the board's middle along its normal [m^2]."""
    up = -fit.rotation[:, 2]
    row = np.concatenate([-up @ fit.rotation @ skew_from_vector(middle), up])  # d(R m)/dx = R [-m]x, and the translation's
    return float(row @ fit.covariance[:6, :6] @ row)


def _choose_edge_to_cameras(rig: Rig, rotation: Floats, origin_m: Floats, up: Floats) -> Floats:
    """Return the direction of the board's edges that points nearest to the cameras, (3,)."""
    wanted = find_direction_to_cameras(rig, origin_m, up)
    edges = [sign * rotation[:, k] for k in range(2) for sign in (1.0, -1.0)]
    return project_to_floor(max(edges, key=lambda edge: float(edge @ wanted)), up)
