"""How wrong a world is: by how much distances between points differ when two rigs tell them, and how that hangs on each number.

A world may be turned or shifted and is none the worse for it; what counts is distances. An error of 0.02 means that some two
points in the performer's room are told 2 % too near to each other or too far apart.
"""

from dataclasses import replace

import numpy as np

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate
from database.rotations import Floats, matrix_from_rotvec

N_LENS = 9  # fx, fy, cx, cy, k1, k2, p1, p2, k3
N_PAIR = 2 * N_LENS + 6  # left lens, right lens, turn and shift of the right camera
SHORTEST = 0.3  # of the largest distance: pairs of points nearer than that do not count
LENS_STEPS = np.array([1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-4])  # the first four times the focal length
TURN_STEP, SHIFT_STEP = 1e-5, 1e-5


def point_pairs(points_m: Floats) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Give the pairs of points whose distance counts, as two lists of indices."""
    i, j = np.triu_indices(len(points_m), 1)
    d = np.linalg.norm(points_m[i] - points_m[j], axis=1)
    far = d >= SHORTEST * d.max() if len(d) else np.zeros(0, bool)
    return i[far], j[far]


def seen_as_m(points_m: Floats, by: Rig, told_by: Rig) -> Floats:
    """Give where `told_by` puts the points that `by` saw, (N, 3) [m]; a lone camera is told the depth."""
    if by.is_lone:
        x = by.left.to_camera(points_m)
        return np.asarray(told_by.left.rays(by.left.project(points_m)) * x[:, 2:])
    px = [camera.project(points_m) for camera in by.cameras]
    return triangulate(told_by, px[0], px[1])[0]


def distance_errors(points_m: Floats, told_m: Floats) -> Floats:
    """Give the relative error of the distance of every pair that counts, signed, (P,)."""
    i, j = point_pairs(points_m)
    true = np.linalg.norm(points_m[i] - points_m[j], axis=1)
    return np.asarray(np.linalg.norm(told_m[i] - told_m[j], axis=1) / true - 1.0)


def world_off(truth: Rig, rig: Rig, points_m: Floats) -> float:
    """Give the largest relative error of a distance between points that `truth` sees and `rig` measures; inf without points.

    points_m: (N, 3) [m] in the world of `truth`.
    """
    errors = np.abs(distance_errors(points_m, seen_as_m(points_m, truth, rig)))
    return float(errors.max()) if len(errors) else float("inf")


def error_derivatives(rig: Rig, points_m: Floats) -> Floats:
    """Give how the relative distance errors move with the rig's numbers, (P, 24), or (P, 9) for a lone camera.

    In the order: left lens, right lens (fx, fy, cx, cy, k1, k2, p1, p2, k3 each), turn of the right camera (a small vector from
    the left of its rotation) and shift of its translation, the left camera being the world.
    """
    n = N_LENS if rig.is_lone else N_PAIR
    out = np.empty((len(point_pairs(points_m)[0]), n))
    for column in range(n):
        step = np.zeros(n)
        step[column] = step_of(rig, column)
        ahead, back = (distance_errors(points_m, seen_as_m(points_m, rig, changed(rig, sign * step))) for sign in (1.0, -1.0))
        out[:, column] = (ahead - back) / (2.0 * step[column])
    return out


def step_of(rig: Rig, column: int) -> float:
    """Give a small change of one of the rig's numbers."""
    if column < 2 * N_LENS:
        camera = rig.cameras[column // N_LENS]
        return float(LENS_STEPS[column % N_LENS]) * (camera.focal_px if column % N_LENS < 4 else 1.0)
    return TURN_STEP if column < 2 * N_LENS + 3 else SHIFT_STEP


def changed(rig: Rig, step: Floats) -> Rig:
    """Give the rig with its numbers changed by `step`, (24,) or (9,), in the order of `error_derivatives`."""
    left = _with_lens(rig.left, step[:N_LENS])
    if rig.is_lone:
        return Rig(left, left)
    right = _with_lens(rig.right, step[N_LENS : 2 * N_LENS])
    rotation = matrix_from_rotvec(step[-6:-3]) @ right.rotation
    return Rig(left, replace(right, rotation=rotation, translation=right.translation + step[-3:]))


def _with_lens(camera: Camera, step: Floats) -> Camera:
    """Give a camera with its nine lens numbers changed."""
    matrix = camera.matrix.copy()
    matrix[0, 0] += step[0]
    matrix[1, 1] += step[1]
    matrix[0, 2] += step[2]
    matrix[1, 2] += step[3]
    return replace(camera, matrix=matrix, distortions=camera.intrinsics[4:] + step[4:])
