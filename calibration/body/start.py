"""Where the adjustment of cameras to a body starts.

How large a body is in a picture tells its distance, and which way its trunk points what is up. What is left of the place of one
camera beside another is by how much it is turned about the body: several turns are tried, and the adjustment tells which is
right. More cameras are chained along the pairs that share most moments.
"""

import numpy as np

from calibration.body.adjust import BodyProblem, BodyRigState, adjust_body
from calibration.body.lengths import BodyLengths
from calibration.body.views import BodyViews
from calibration.camera import Camera
from calibration.solve.single_camera import find_spanning_links
from config.arrays import Floats
from config.errors import CalibrationError
from config.landmarks import LANDMARK_INDEX
from config.words import format_count
from database.geometry.rotations import matrix_from_rotvec

N_TURNS, START_STEPS, N_KEPT = 10, 10, 2
START_MOMENTS = 20
START_SIGMA = 3.0  # by how much errors are larger at the start than at the end
LONGEST = 0.85  # quantile of the sticks' lengths in a picture: those seen from the side
FLAT = 0.05  # weight of a first look's depth beside the rays
LEAST_MOMENTS = 15
LEAST_LANDMARKS = 8


def compute_sigma_px(views: BodyViews, intrinsics: Floats, lengths: BodyLengths, depth_m: Floats) -> Floats:
    """Return how far landmarks may be off in each picture, (C, F, L) [px].

    Args:
        views: the landmarks in use.
        intrinsics: of the cameras, (C, 10).
        lengths: of the body.
        depth_m: of the body in each camera, (C, F).
    """
    focal = intrinsics[:, :2].mean(axis=1)
    return np.asarray((focal[:, None] / np.maximum(depth_m, 0.3))[:, :, None] * lengths.sigma_m)


def measure_depths_m(views: BodyViews, intrinsics: Floats, lengths: BodyLengths) -> Floats:
    """Return about how far the body is from each camera, (C, F) [m], by the sticks seen longest."""
    a, b = lengths.ends.T
    long = np.linalg.norm(views.points_px[:, :, a] - views.points_px[:, :, b], axis=3) / lengths.usual_m[lengths.group]
    long = np.where(views.seen[:, :, a] & views.seen[:, :, b], long, np.nan)
    empty = ~np.isfinite(long).any(axis=2)
    long[empty] = 0.0
    focal = intrinsics[:, :2].mean(axis=1)[:, None]
    return np.asarray(focal / np.maximum(np.nanquantile(long, LONGEST, axis=2), 1.0))


def place_landmarks_flat(views: BodyViews, cameras: tuple[Camera, ...], depth_m: Floats) -> Floats:
    """Return all landmarks as far away as the body, in each camera's own frame, (C, F, L, 3) [m]."""
    shape = (*views.points_px.shape[:3], 3)
    rays = [camera.rays(px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True)]
    return np.asarray(np.stack(rays).reshape(shape) * depth_m[:, :, None, None])


def place_landmarks_by_rays(views: BodyViews, flat_m: Floats, rotation: Floats, translation: Floats) -> Floats:
    """Return where the rays of all cameras come nearest, (F, L, 3) [m], by a little of their depth where they hardly cross.

    Args:
        views: the landmarks.
        flat_m: of `place_landmarks_flat`.
        rotation, translation: first to each camera, (C, 3, 3), (C, 3) [m].
    """
    A, b = 1e-6 * np.broadcast_to(np.eye(3), (*flat_m.shape[1:3], 3, 3)), np.zeros(flat_m.shape[1:])
    for c, (R, t) in enumerate(zip(rotation, translation, strict=True)):
        ray = flat_m[c] / np.linalg.norm(flat_m[c], axis=2, keepdims=True)
        W = np.eye(3) - (1.0 - FLAT) * ray[..., :, None] * ray[..., None, :]
        W = W * (views.seen[c] + 1e-6)[..., None, None]
        A = A + R.T @ W @ R
        b = b + ((W @ (flat_m[c] - t)[..., None])[..., 0]) @ R
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])


def _build_body_axes(views: BodyViews, flat_m: Floats, lengths: BodyLengths, camera: int) -> Floats:
    """Return across, up and to the camera, of somebody upright, as columns in a camera's frame, (3, 3)."""
    names = list(lengths.landmarks)
    top, low = ([names.index(LANDMARK_INDEX[f"{side}_{part}"]) for side in ("left", "right")] for part in ("shoulder", "ankle"))
    up = np.median((flat_m[camera][:, top] - flat_m[camera][:, low]).mean(axis=1), axis=0)
    back = -np.median(flat_m[camera].mean(axis=1), axis=0)
    up = up / np.linalg.norm(up)
    back = back - (back @ up) * up
    back = back / np.linalg.norm(back)
    return np.stack([np.cross(up, back), up, back], axis=1)


def _start_pair(views: BodyViews, cameras: tuple[Camera, ...], lengths: BodyLengths) -> BodyRigState:
    """Return the state of two cameras alone, the likeliest of several turns of one about the body.

    Args:
        views: of both, the landmarks in use.
        cameras: both.
        lengths: of the body.
    """
    some = np.round(np.linspace(0, len(views) - 1, min(START_MOMENTS, len(views)))).astype(np.int64)
    views, intrinsics = views.select_moments(some), np.stack([camera.intrinsics for camera in cameras])
    depth_m = measure_depths_m(views, intrinsics, lengths)
    flat_m = place_landmarks_flat(views, cameras, depth_m)
    one, other = (_build_body_axes(views, flat_m, lengths, c) for c in range(2))
    middles = np.array([points.mean(axis=1) for points in flat_m])
    problem = BodyProblem(views, intrinsics, lengths, START_SIGMA * compute_sigma_px(views, intrinsics, lengths, depth_m))
    found = []
    for k in range(N_TURNS):
        turn = matrix_from_rotvec(np.array([[0.0, 2.0 * np.pi * k / N_TURNS, 0.0]]))[0]
        R = other @ turn @ one.T
        rotation = np.stack([np.eye(3), R])
        translation = np.stack([np.zeros(3), np.median(middles[1] - middles[0] @ R.T, axis=0)])
        points_m = place_landmarks_by_rays(views, flat_m, rotation, translation)
        state = BodyRigState(rotation, translation, points_m, np.zeros(len(lengths.usual_m)))
        found.append(adjust_body(problem, state, START_STEPS))
    found.sort(key=lambda fit: fit.cost)
    return min((adjust_body(problem, fit.state) for fit in found[:N_KEPT]), key=lambda fit: fit.cost).state


def chain_cameras(views: BodyViews, cameras: tuple[Camera, ...], lengths: BodyLengths) -> tuple[Floats, Floats]:
    """Return rotation and translation of all cameras, (C, 3, 3), (C, 3) [m], from the pairs that share most moments.

    Args:
        views: of all cameras, the landmarks in use.
        cameras: all of them.
        lengths: of the body.
    Raises: CalibrationError: cameras that no pair with enough moments links.
    """
    C = len(cameras)
    whole = views.seen.sum(axis=2) >= LEAST_LANDMARKS
    shared = whole.astype(int) @ whole.T.astype(int)
    links = find_spanning_links(whole, [camera.name for camera in cameras]) if C > 2 else [(0, 1)]
    rotation, translation, placed = np.tile(np.eye(3), (C, 1, 1)), np.zeros((C, 3)), {0}
    while len(placed) < C:
        a, b = next((a, b) if a in placed else (b, a) for a, b in links if (a in placed) != (b in placed))
        if shared[a, b] < LEAST_MOMENTS:
            raise CalibrationError(
                f"{cameras[a].name} and {cameras[b].name} see the person together {format_count(shared[a, b], 'time')}; "
                "expected at least "
                f"{LEAST_MOMENTS}, better 200: walk about where both see all of you, for half a minute"
            )
        both = views.select_moments(whole[a] & whole[b], (a, b))
        state = _start_pair(both, (cameras[a], cameras[b]), lengths)
        rotation[b] = state.rotation[1] @ rotation[a]
        translation[b] = state.rotation[1] @ translation[a] + state.translation[1]
        placed.add(b)
    return rotation, translation
