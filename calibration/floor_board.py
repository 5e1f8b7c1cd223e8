"""The floor from a board that lies on it, in one place or in several, as both cameras saw it or one of them.

A plane and its mirror image look nearly alike to one camera (Collins & Bartoli 2014): a floor may come out half a metre off at a
good pixel error. Every place is therefore begun from both, of each camera, and all cameras that see it decide together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, mirrored, pose_from_homography
from calibration.camera import Camera, Rig
from calibration.floor import Floor, along_floor, to_cameras, up_of_images
from calibration.floor_place import Bools, Place, places_of
from calibration.homography import homography
from calibration.views import ViewPair
from config.errors import CalibrationError
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix

SIZE_SIGMAS, LEAST_BIAS = 4.0, 0.003  # a board that differs by more from what the rig has of it is not believed
MISFIT_PX = 2.0  # RMS of the corners, above which pictures and rig do not belong together
LOSS_PX = 1.0  # beyond which a corner's error counts less
DECISIVE = 25.0  # by so much chi-square must the mirror image be worse to be ruled out
DECISIVE_SHARE = 1.5  # and by this factor: what is off is seldom noise alone
SAME_PLANE_RAD, SAME_PLANE_M = 0.06, 0.05  # places farther from the first's plane do not lie on the floor
MIN_UPRIGHT = 0.1  # cosine of up to the pictures' up, below which a floor is no floor


@dataclass(frozen=True, slots=True)
class Pose:
    """A board's pose in the rig's frame and what it costs.

    rotation, translation: board to rig, (3, 3) and (3,) [m]; cost: half the sum of squares [px^2] of n_numbers; other: the best
    pose with another normal, None where there is none.
    """

    rotation: Floats
    translation: Floats
    cost: float
    n_numbers: int
    other: "Pose | None" = None

    @property
    def up(self) -> Floats:
        """The direction the board's face looks to, (3,)."""
        return np.asarray(-self.rotation[:, 2])

    @property
    def is_sure(self) -> bool:
        """Tell whether the corners alone rule the mirror image out."""
        if self.other is None:
            return True
        variance = max(2.0 * self.cost / max(self.n_numbers - 6, 1), 0.02**2)
        gap = 2.0 * (self.other.cost - self.cost)
        return gap > DECISIVE * variance and self.other.cost > DECISIVE_SHARE * self.cost


def floor_from_board(rig: Rig, board: Board, pairs: Sequence[ViewPair], thickness_m: float = 0.0) -> Floor:
    """Give the floor under a board.

    pairs: views of it, both cameras' of one moment; of a board that stays where it is they are averaged; thickness_m: how high
    its face lies above the floor. Raises CalibrationError: no board that can be used.
    """
    places = places_of(board, pairs)
    if not places:
        raise CalibrationError(
            f"the board {board.text} is nowhere seen with {MIN_CORNERS} corners or more; "
            "lay it flat on the floor, whole in both pictures"
        )
    fit, pose, dropped = _fitted(rig, board, places)
    if fit.both and fit.rms_px > MISFIT_PX:
        swapped = _fitted(rig, board, [place.swapped for place in places])[0]
        raise CalibrationError(_misfit(fit.rms_px, swapped.rms_px))
    return _floor(rig, board, fit, pose, dropped, thickness_m)


def _fitted(rig: Rig, board: Board, places: Sequence[Place]) -> tuple["_Fit", Pose, list[str]]:
    """Fit the plane of the places; give also the first one's pose, and in words what was left out."""
    poses = [_upright(rig, place_pose(rig, board, place)) for place in places]
    chosen, dropped = _level_places(places, poses, board)
    return _Fit(rig, board, [places[k] for k in chosen], [poses[k] for k in chosen]), poses[chosen[0]], dropped


def _misfit(rms_px: float, swapped_px: float) -> str:
    """Say that pictures and rig do not belong together."""
    if swapped_px < 0.3 * rms_px:
        return f"left and right are swapped: the board fits this rig {rms_px / swapped_px:.0f} times better the other way round"
    return (
        f"the board's corners are {rms_px:.1f} px from where this rig could have them, usually below 1 px; "
        "a camera was moved since, the pictures are of two moments, or the rig is of other cameras"
    )


def place_pose(rig: Rig, board: Board, place: Place) -> Pose:
    """Give where the board is, decided by all cameras that see it."""
    found: list[Pose] = []
    for camera, px, seen in place.views(rig):
        for R, t in _both(camera, board, px, seen):
            found.append(_refined(rig, board, place, camera.rotation.T @ R, camera.rotation.T @ (t - camera.translation)))
    found.sort(key=lambda pose: pose.cost)
    best = found[0]
    other = next((pose for pose in found if pose.up @ best.up < np.cos(SAME_PLANE_RAD)), None)
    return replace(best, other=other)


def _both(camera: Camera, board: Board, px: Floats, seen: Bools) -> list[tuple[Floats, Floats]]:
    """Give the pose by homography and its mirror image, board to camera."""
    points, centre = board.points_m, board.points_m.mean(axis=0)
    H = homography(points[:, :2], camera.undistort(px), seen.astype(float))
    R, t = pose_from_homography(H, centre)
    return [(R, t), mirrored(R, t, centre)]


def _refined(rig: Rig, board: Board, place: Place, rotation: Floats, translation: Floats) -> Pose:
    """Move a pose to where all views of the place fit best."""
    n = 2 * sum(int(seen.sum()) for _, _, seen in place.views(rig))

    def residual(x: Floats) -> Floats:
        R = rotation @ matrix_from_rotvec(x[:3])
        return _residual_px(rig, place, board.points_m @ R.T + translation + x[3:])

    fit = least_squares(
        residual, np.zeros(6), loss="soft_l1", f_scale=LOSS_PX, max_nfev=40, x_scale=[0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    )
    return Pose(rotation @ matrix_from_rotvec(fit.x[:3]), translation + fit.x[3:], float(fit.cost), n)


def _residual_px(rig: Rig, place: Place, points_m: Floats) -> Floats:
    """Give predicted less measured corners of all views, flat [px]; far off where a corner would be behind a camera."""
    parts = [(camera.project(points_m) - px)[seen].ravel() for camera, px, seen in place.views(rig)]
    return np.clip(np.nan_to_num(np.concatenate(parts), nan=1e3), -1e3, 1e3)


def _upright(rig: Rig, pose: Pose) -> Pose:
    """Give the pose of a floor: where the corners leave open which, the one whose up is up in the pictures.

    The mirror image has its normal turned by half a turn about the line of sight: what is up in the picture is down in it.
    """
    if pose.other is None or pose.is_sure or pose.up @ up_of_images(rig) >= pose.other.up @ up_of_images(rig):
        return pose
    return replace(pose.other, other=replace(pose, other=None))


def _level_places(places: Sequence[Place], poses: Sequence[Pose], board: Board) -> tuple[list[int], list[str]]:
    """Give the places that lie in one plane, those of most pictures first, and in words those that do not."""
    middle = board.points_m.mean(axis=0)
    best: list[int] = []
    for k in sorted(range(len(places)), key=lambda k: -places[k].n_pictures):
        up, d = poses[k].up, poses[k].up @ (poses[k].rotation @ middle + poses[k].translation)
        agree = [
            m
            for m, pose in enumerate(poses)
            if pose.up @ up > np.cos(SAME_PLANE_RAD) and abs(up @ (pose.rotation @ middle + pose.translation) - d) < SAME_PLANE_M
        ]
        if sum(places[m].n_pictures for m in agree) > sum(places[m].n_pictures for m in best):
            best = agree
    best = sorted(best, key=lambda k: -places[k].n_pictures)
    dropped = [f"{places[k].words}: not in the plane of the others, left out" for k in range(len(places)) if k not in best]
    return best, dropped


class _Fit:
    """All places in one plane: the first's pose, and of each other its place and turn within that plane; and the board's size."""

    def __init__(self, rig: Rig, board: Board, places: Sequence[Place], poses: Sequence[Pose]) -> None:
        self._rig, self._board, self.places, first = rig, board, places, poses[0]
        self._first = first
        self.both = any(place.n_cameras == 2 for place in places) and not rig.is_lone
        start = np.concatenate([np.zeros(6), *(_in_plane(first, pose) for pose in poses[1:])])
        x, covariance, self.rms_px = self._solved(start, free=False)
        self.size_ratio = self.size_sigma = float("nan")
        size = 1.0
        if self.both:
            y, spread, rms_px = self._solved(np.append(x, 1.0), free=True)
            self.size_ratio, self.size_sigma = float(y[-1]), float(np.sqrt(spread[-1, -1]))
            if abs(self.size_ratio - 1.0) > max(SIZE_SIGMAS * self.size_sigma, LEAST_BIAS):
                # Board and rig disagree: where the floor is in this rig, the rig says.
                x, covariance, self.rms_px, size = y[:-1], spread[:-1, :-1], rms_px, self.size_ratio
        self.rotation, self.translation = self._pose(x)
        self.covariance, self.corners_m = covariance, self.placed(x, size)
        self.middle_m = size * board.points_m.mean(axis=0)

    def _solved(self, start: Floats, free: bool) -> tuple[Floats, Floats, float]:
        """Solve, the board's size free or not; give the parameters, their covariance and the RMS of the corners [px]."""

        def residual(x: Floats) -> Floats:
            return self._residual(x[:-1], float(x[-1])) if free else self._residual(x)

        fit = least_squares(residual, start, loss="soft_l1", f_scale=LOSS_PX, max_nfev=60)
        left = np.minimum(np.abs(residual(fit.x)), 3.0 * LOSS_PX)
        variance = max(float((left**2).sum() / max(len(left) - len(fit.x), 1)), 0.05**2)
        return fit.x, _inverse(fit.jac) * variance, float(np.sqrt(2.0 * np.mean(left**2)))

    def _pose(self, x: Floats) -> tuple[Floats, Floats]:
        return self._first.rotation @ matrix_from_rotvec(x[:3]), self._first.translation + x[3:6]

    def placed(self, x: Floats, size: float = 1.0) -> list[Floats]:
        """Give the corners of every place in the rig's frame, (N, 3) [m] each."""
        R, t = self._pose(x)
        result = [size * self._board.points_m @ R.T + t]
        for k in range(len(self.places) - 1):
            u, v, turn = x[6 + 3 * k : 9 + 3 * k]
            turned = size * self._board.points_m @ matrix_from_rotvec(np.array([0.0, 0.0, turn])).T + np.array([u, v, 0.0])
            result.append(turned @ R.T + t)
        return result

    def _residual(self, x: Floats, size: float = 1.0) -> Floats:
        placed = self.placed(x, size)
        return np.concatenate([_residual_px(self._rig, place, points) for place, points in zip(self.places, placed, strict=True)])


def _inverse(jacobian: object) -> Floats:
    """Give (J' J)^-1, kept away from singular."""
    J = np.asarray(jacobian, float)
    return np.asarray(np.linalg.inv(J.T @ J + 1e-9 * np.eye(J.shape[1])))


def _in_plane(first: Pose, pose: Pose) -> Floats:
    """Give a pose's place and turn within the first one's plane, (3,) [m, m, rad]."""
    place = first.rotation.T @ (pose.translation - first.translation)
    turn = rotvec_from_matrix(first.rotation.T @ pose.rotation)[2]
    return np.array([place[0], place[1], turn])


def _floor(rig: Rig, board: Board, fit: _Fit, pose: Pose, dropped: Sequence[str], thickness_m: float) -> Floor:
    """Put together what was found."""
    up = -fit.rotation[:, 2]
    touching = np.concatenate(fit.corners_m) - thickness_m * up
    middle = fit.middle_m
    origin = fit.rotation @ middle + fit.translation - thickness_m * up
    tilt = fit.covariance[:2, :2]  # turns about the board's x and y
    height_var = _height_variance(fit, middle)
    notes = list(dropped)
    if len(fit.places) > 1:
        notes.append(f"the board lies in {len(fit.places)} places, all in one plane")
    doubts = []
    one_camera = not fit.both
    if not pose.is_sure and pose.other is not None and pose.other.up @ up_of_images(rig) > MIN_UPRIGHT:
        apart = np.degrees(np.arccos(np.clip(pose.up @ pose.other.up, -1.0, 1.0)))
        doubts.append(
            f"the pictures cannot tell the floor from its mirror image, tilted by {apart:.0f} degrees: lay the board nearer, "
            "or where both cameras see it"
        )
    return Floor(
        up=up,
        origin_m=origin,
        ahead=_edge_to_cameras(rig, fit.rotation, origin, up),
        by="board",
        tilt_sigma_rad=float(np.sqrt(np.linalg.eigvalsh(tilt)[-1])),
        height_sigma_m=float(np.sqrt(height_var)),
        residual_mm=_residual_mm(rig, fit, touching + thickness_m * up),
        touching_m=touching,
        size_ratio=fit.size_ratio,
        size_sigma=fit.size_sigma,
        one_camera=one_camera,
        notes=tuple(notes),
        doubts=tuple(doubts),
        figures={"reprojection_px": fit.rms_px, "places": float(len(fit.places))},
    )


def _height_variance(fit: _Fit, middle: Floats) -> float:
    """Give the variance of the height of the board's middle along its normal [m^2]."""
    up = -fit.rotation[:, 2]
    # d(R m)/dx = R [-m]x for the turn, I for the shift.
    m = middle
    row = np.concatenate([up @ fit.rotation @ np.array([[0, m[2], -m[1]], [-m[2], 0, m[0]], [m[1], -m[0], 0]]), up])
    return float(row @ fit.covariance[:6, :6] @ row)


def _residual_mm(rig: Rig, fit: _Fit, points_m: Floats) -> float:
    """Give what the corners' error in the pictures is on the board [mm]."""
    distance = min(float(np.median(np.linalg.norm(points_m - camera.center_m, axis=1))) for camera in rig.cameras)
    return 1e3 * fit.rms_px * distance / rig.left.focal_px


def _edge_to_cameras(rig: Rig, rotation: Floats, origin_m: Floats, up: Floats) -> Floats:
    """Give the direction of the board's edges that points nearest to the cameras, (3,)."""
    wanted = to_cameras(rig, origin_m, up)
    edges = [sign * rotation[:, k] for k in range(2) for sign in (1.0, -1.0)]
    return along_floor(max(edges, key=lambda edge: float(edge @ wanted)), up)
