"""Where what one camera sees may be in the picture of the other: lines of sight, bent as the other lens bends them."""

import numpy as np

from calibration.camera import Camera
from database.rotations import Floats

NEAR_M, FAR_M = 0.3, 15.0  # as far as markers are looked for
N_POINTS = 24


def sight_lines(seen_by: Camera, points_px: Floats, shown_in: Camera) -> Floats:
    """Give the epipolar lines of points, as a camera with its distortion shows them.

    seen_by: the camera that sees points_px, (N, 2) [px]; shown_in: the other one. Returns (N, N_POINTS, 2) [px], nearest first;
    NaN where the line is behind the other camera or so far outside its picture that its lens model means nothing.
    """
    points_px = np.asarray(points_px, float).reshape(-1, 2)
    ideal = seen_by.undistort(points_px)
    rays = np.concatenate([ideal, np.ones((len(ideal), 1))], axis=1) @ seen_by.rotation  # camera to world: R^T d
    depths_m = 1.0 / np.linspace(1.0 / NEAR_M, 1.0 / FAR_M, N_POINTS)  # even in the picture
    places_m = seen_by.center_m + depths_m[None, :, None] * rays[:, None, :]
    lines = shown_in.project(places_m)
    x = shown_in.to_camera(places_m)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.abs(x[..., :2] / x[..., 2:]).max(axis=-1)
    # Beyond half as much again as the picture shows, the distortion's polynomial may turn back into it.
    half = 0.5 * np.array(shown_in.size) / np.array([shown_in.matrix[0, 0], shown_in.matrix[1, 1]])
    lines[~(slope < 1.5 * half.max())] = np.nan
    return np.asarray(lines)
