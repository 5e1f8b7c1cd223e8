"""The first look at a wand: time offset, which marker is which, and relative poses to start from.

Nothing is known but the cameras' intrinsics, and the focal lengths perhaps roughly. The wand's middle, nearly the same point
whichever marker is which, gives a first relative pose for every time offset tried; the best one tells the markers apart.
With y = (x/z, y/z, 1) of either camera, y_right' E y_left = 0; five points settle E, also of a scene that is flat, where two
poses explain all: several are sought, and the adjustment tells which is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, camera_from_intrinsics
from calibration.wand.adjust import WandState
from calibration.wand.tracks import WandTrack, WandViews, interpolate_views
from config.arrays import Floats
from config.errors import CalibrationError
from config.words import format_count
from database.geometry.rotations import skew_from_vector

LEAST_SHARED = 40
MOST_MOMENTS = 500
LEAST_MOVE_PX = 3.0  # between two moments that count
NEAR_S, FAR_S = 0.12, 3.0  # time offsets tried, and where none of them fits
ASTRAY, SURELY = 3.0, 1.0  # mean truncated squared sigmas, 9 at most: nothing fits; something does
THIN = 0.05  # a wand that covers less of a picture across than along by so much moved on a line
BETTER = 0.7  # another offset than none must make the epipolar error so much smaller
MIDDLE_PX, POINT_PX = 4.0, 1.5  # what a wand's middle and a marker are off by, at the first look
NEAR_SIGMAS = 3.0  # of its epipolar line: a point that a relative pose explains
LEAST_IN_FRONT = 0.6  # share of these that must lie in front of both cameras
STARTS = 8  # draws of samples, each of which may come upon another of several poses that explain all
FARTHEST = 1e4  # baselines from the cameras, beyond which a point is not taken to be in front


@dataclass(frozen=True, slots=True)
class RelativePose:
    """x_right = rotation x_left + translation, |translation| = 1; cost: mean truncated squared Sampson distance in sigmas."""

    rotation: Floats
    translation: Floats
    cost: float


def compute_sampson2(E: Floats, left: Floats, right: Floats) -> Floats:
    """Return squared Sampson distances of points to an essential matrix, (N,), in normalised units.

    Args:
        E: essential matrix, (3, 3).
        left, right: homogeneous normalised points, (N, 3).
    """
    to_right, to_left = left @ E.T, right @ E
    algebraic = (to_right * right).sum(axis=1)
    slope2 = (to_right[:, :2] ** 2).sum(axis=1) + (to_left[:, :2] ** 2).sum(axis=1)
    return np.asarray(algebraic**2 / np.maximum(slope2, 1e-300))


def find_relative_poses(left: Floats, right: Floats, sigma: float, n_samples: int, n_starts: int = 1) -> list[RelativePose]:
    """Return relative poses that explain most points, best first; none where none does.

    Five points a sample (Nister 2004), judged by truncated distances (MSAC, Torr & Zisserman 2000). Every start draws other
    samples, the same in every run, whatever else draws from OpenCV's random numbers. Several starts are for several poses:
    these are not refined on the way, since linear least squares fail in a flat scene.

    Args:
        left, right: homogeneous normalised points of each camera, (N, 3).
        sigma: of a distance, in normalised units.
        n_samples: random samples of five points.
        n_starts: runs of the sampling, of which each may add a pose.
    """
    params, eye, none = cv2.UsacParams(), np.eye(3), np.zeros(5)
    params.sampler, params.score = cv2.SAMPLING_UNIFORM, cv2.SCORE_METHOD_MSAC
    params.threshold, params.confidence, params.maxIterations = NEAR_SIGMAS * sigma, 0.999, n_samples
    params.loMethod = cv2.LOCAL_OPTIM_INNER_LO if n_starts == 1 else cv2.LOCAL_OPTIM_NULL
    params.final_polisher, params.isParallel = cv2.NONE_POLISHER, False
    few = [np.ascontiguousarray(rays[:, :2]) for rays in (left, right)]
    found: list[RelativePose] = []
    for start in range(n_starts):
        params.randomGeneratorState = start
        E, _ = cv2.findEssentialMat(few[0], few[1], eye, eye, none, none, params)
        if E is None or np.shape(E) != (3, 3):
            continue
        distance2 = compute_sampson2(E, left, right) / sigma**2
        near = distance2 < NEAR_SIGMAS**2
        if near.sum() < 5:
            continue
        n_front, R, t, _, _ = cv2.recoverPose(E, few[0][near], few[1][near], eye, distanceThresh=FARTHEST)
        if n_front >= LEAST_IN_FRONT * near.sum() and not any(_is_same_pose(R, t[:, 0], other) for other in found):
            found.append(RelativePose(R, t[:, 0], float(np.minimum(distance2, NEAR_SIGMAS**2).mean())))
    return sorted(found, key=lambda pose: pose.cost)


def _is_same_pose(R: Floats, t: Floats, other: RelativePose) -> bool:
    """Return whether two poses are within some degrees of each other."""
    return bool(np.trace(R.T @ other.rotation) > 1.0 + 2.0 * np.cos(0.03) and t @ other.translation > np.cos(0.06))


def compute_depths(R: Floats, t: Floats, left: Floats, right: Floats) -> Floats:
    """Return how far along its left ray every point lies, by least squares, (N,), in baselines.

    Args:
        R, t: left to right camera, (3, 3) and (3,).
        left, right: homogeneous normalised points, (N, 3).
    """
    a, b = left @ R.T, -right
    aa, bb, ab = (a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)
    return np.asarray((ab * (b @ t) - bb * (a @ t)) / np.maximum(aa * bb - ab * ab, 1e-12))


def thin_track(track: WandTrack, most: int = MOST_MOMENTS) -> WandTrack:
    """Return at most `most` moments, evenly chosen from those between which the wand moved."""
    kept: list[int] = []
    for f in range(len(track.t_s)):
        if not kept or np.abs(track.points_px[f] - track.points_px[kept[-1]]).max() >= LEAST_MOVE_PX:
            kept.append(f)
    which = np.array(kept, np.int64)
    if len(which) > most:
        which = which[np.round(np.linspace(0, len(which) - 1, most)).astype(np.int64)]
    return WandTrack(track.t_s[which], track.points_px[which], track.run[which])


def check_enough_moments(views: WandViews) -> WandViews:
    """Raise CalibrationError unless both cameras see the wand often enough."""
    if views.n_shared < LEAST_SHARED:
        raise CalibrationError(
            f"both cameras see the wand at the same moment {format_count(len(views), 'time')}; expected at least "
            f"{LEAST_SHARED // views.points_px.shape[2]}, better 200: wave it slowly where both see it, for a minute"
        )
    return views


def estimate_rough_offset(left: WandTrack, right: WandTrack, cameras: tuple[Camera, Camera], about_s: float) -> float:
    """Return the time offset at which the wand's middle agrees best with any relative pose; `about_s` unless another is better
    [s].

    Videos that were begun by hand are seconds apart: where nothing near fits, it is sought farther away.

    Args:
        left, right: the wand in each camera.
        cameras: left and right.
        about_s: where to look first.
    """
    few, frame_s = thin_track(left, 150), float(np.median(np.diff(right.t_s)))

    def best(about_s: float, range_s: float, step_s: float) -> tuple[float, float]:
        n = round(range_s / step_s)
        tries = about_s + step_s * np.arange(-n, n + 1)
        costs = np.array([_compute_middle_cost(interpolate_views(few, right, float(offset_s)), cameras) for offset_s in tries])
        k = int(np.argmin(costs)) if costs.min() < BETTER * costs[n] else n
        return float(tries[k]), float(costs[k])

    offset_s, cost = best(about_s, NEAR_S, 0.5 * frame_s)
    if cost < ASTRAY or not np.isfinite(cost):  # a wand that is never in both views fits by chance somewhere
        return offset_s
    far_s, _ = best(about_s, FAR_S, frame_s)
    far_s, far_cost = best(far_s, frame_s, 0.25 * frame_s)
    return far_s if far_cost < SURELY else offset_s


def _compute_middle_cost(views: WandViews, cameras: tuple[Camera, Camera]) -> float:
    """Return how badly the wand's middle fits any relative pose."""
    if views.n_shared < LEAST_SHARED:
        return np.inf
    rays = [camera.rays(px.mean(axis=1)) for camera, px in zip(cameras, views.points_px, strict=True)]
    poses = find_relative_poses(rays[0], rays[1], POINT_PX / cameras[0].focal_px, n_samples=60)
    return poses[0].cost if poses else np.inf


def find_first_poses(views: WandViews, cameras: tuple[Camera, Camera]) -> tuple[WandViews, list[RelativePose]]:
    """Return the views with the same marker in the same column of both, and the relative poses to start from."""
    _check_spread(views)
    sigma = (POINT_PX if views.points_px.shape[2] == 1 else MIDDLE_PX) / cameras[0].focal_px
    rays = [camera.rays(px.mean(axis=1)) for camera, px in zip(cameras, views.points_px, strict=True)]
    poses = find_relative_poses(rays[0], rays[1], sigma, 300, STARTS)
    if views.points_px.shape[2] == 2 and poses:
        views = _sort_markers(views, cameras, poses[0])
        rays = [camera.rays(px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True)]
        poses = find_relative_poses(rays[0], rays[1], POINT_PX / cameras[0].focal_px, 300, STARTS) + poses[:1]
    if not poses:
        raise CalibrationError(
            "no place of the right camera explains what both see of the wand; "
            "are the videos of the same moments, and the intrinsics or --fov of these cameras?"
        )
    return views, poses


def _check_spread(views: WandViews) -> None:
    """Raise CalibrationError where the wand kept to a line in the pictures."""
    thin = []
    for px in views.points_px:
        flat = px.reshape(-1, 2)
        extents = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False)
        thin.append(bool(extents[1] < THIN * extents[0]))
    if any(thin):
        where = "along one line only" if all(thin) else "in one plane only"
        raise CalibrationError(f"the wand moved {where}; wave it through the whole volume, high and low, near and far")


def _sort_markers(views: WandViews, cameras: tuple[Camera, Camera], pose: RelativePose) -> WandViews:
    """Exchange the markers of the right view where that agrees better with a relative pose."""
    E = skew_from_vector(pose.translation) @ pose.rotation
    left, right = (camera.rays(px) for camera, px in zip(cameras, views.points_px, strict=True))
    straight = sum(compute_sampson2(E, left[:, k], right[:, k]) for k in range(2))
    crossed = sum(compute_sampson2(E, left[:, k], right[:, 1 - k]) for k in range(2))
    return exchange_markers(views, 1, np.asarray(crossed < straight))


def exchange_markers(views: WandViews, camera: int, which: NDArray[np.bool_]) -> WandViews:
    """Return the views with the two markers of a camera's view exchanged at some moments.

    Args:
        views: the wand in the cameras.
        camera: its index.
        which: moments, (F,).
    """
    px, velocity = views.points_px.copy(), views.velocity_px_s.copy()
    px[camera, which], velocity[camera, which] = px[camera, which, ::-1], velocity[camera, which, ::-1]
    return replace(views, points_px=px, velocity_px_s=velocity)


def build_first_state(views: WandViews, cameras: Sequence[Camera], pose: RelativePose) -> WandState:
    """Return the state of two cameras from which the adjustment starts.

    Args:
        views: the wand in the cameras.
        cameras: both.
        pose: of the second camera.
    """
    R, t = np.stack([np.eye(3), pose.rotation]), np.stack([np.zeros(3), pose.translation])
    intrinsics = np.stack([camera.intrinsics for camera in cameras])
    points = place_markers(views, intrinsics, R, t)
    return WandState(intrinsics, R, t, points, measure_usual_length(points), np.zeros(2), np.zeros(2))


def place_markers(views: WandViews, intrinsics: Floats, R: Floats, t: Floats) -> Floats:
    """Return places of the markers, (F, K, 3): where the rays of the first two cameras that see them come nearest, in front of
    both.

    Args:
        views: the wand in the cameras.
        intrinsics: of the cameras, (C, 10).
        R, t: first to each camera, (C, 3, 3), (C, 3).
    """
    F, K = views.points_px.shape[1:3]
    now = [camera_from_intrinsics("", (1, 1), row, np.eye(3), np.zeros(3)) for row in intrinsics]
    out, (first, second) = np.zeros((F, K, 3)), views.first_pair
    for a, b in combinations(range(views.n_cameras), 2):
        at = np.flatnonzero((first == a) & (second == b))
        if len(at):
            here, there = (now[c].rays(views.points_px[c, at].reshape(-1, 2)) for c in (a, b))
            turn = R[b] @ R[a].T
            along = compute_depths(turn, t[b] - turn @ t[a], here, there)
            usual = float(np.median(along[along > 0.0])) if np.any(along > 0.0) else 1.0
            along = np.where(along > 0.02 * usual, np.minimum(along, 20.0 * usual), usual)
            out[at] = ((here * along[:, None] - t[a]) @ R[a]).reshape(-1, K, 3)
    return out


def measure_usual_length(points: Floats) -> float:
    """Return the usual distance of the two markers, 0 for one."""
    return float(np.median(np.linalg.norm(points[:, 0] - points[:, 1], axis=1))) if points.shape[1] == 2 else 0.0
