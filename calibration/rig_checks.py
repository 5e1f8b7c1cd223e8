"""What no real camera and no real rig can be: the checks of every file that is read."""

import numpy as np

from calibration.camera import Camera, Rig
from config.errors import FileFormatError

FOCAL_RANGE = (0.2, 30.0)  # of the longer image side: from a fisheye-like 136 degrees to a 2 degree telephoto
BASELINE_RANGE_M = (0.005, 50.0)
MAX_SIDE_PX = 16384
MAX_DISTORTION = 1e3


def check_camera(where: str, camera: Camera) -> None:
    """Raise FileFormatError where no real lens would have such intrinsics, or a number is not finite; where: for the words."""
    K, side = camera.matrix, max(camera.size)
    if not all(np.isfinite(a).all() for a in (K, camera.distortions, camera.rotation, camera.translation)):
        raise FileFormatError(f"{where} holds a number that is not finite; calibrate again")
    if not all(16 <= length <= MAX_SIDE_PX for length in camera.size):
        raise FileFormatError(f"{where} size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {camera.size}")
    if not (np.allclose(K[2], (0, 0, 1), atol=1e-9) and K[0, 1] == K[1, 0] == 0.0):
        raise FileFormatError(f"{where} matrix must be [[fx, 0, cx], [0, fy, cy], [0, 0, 1]], got {K.tolist()}")
    for name, focal in (("fx", K[0, 0]), ("fy", K[1, 1])):
        if not FOCAL_RANGE[0] * side <= focal <= FOCAL_RANGE[1] * side:
            raise FileFormatError(
                f"{where} focal length {name} = {focal:g} px, expected {FOCAL_RANGE[0] * side:g} to {FOCAL_RANGE[1] * side:g} px "
                f"for an image {side} px long; is matrix in pixels and of this size?"
            )
    for name, center, length in (("cx", K[0, 2], camera.size[0]), ("cy", K[1, 2], camera.size[1])):
        if not -0.5 * length <= center <= 1.5 * length:
            raise FileFormatError(
                f"{where} principal point {name} = {center:g} px is far outside the image of {length} px; does size fit matrix?"
            )
    if np.abs(camera.distortions).max() > MAX_DISTORTION:
        raise FileFormatError(
            f"{where} distortions up to {np.abs(camera.distortions).max():g}, expected at most {MAX_DISTORTION:g}"
        )
    R = camera.rotation
    if not np.allclose(R @ R.T, np.eye(3), atol=1e-3) or np.linalg.det(R) < 0.5:
        raise FileFormatError(
            f"{where} rotation is no rotation: {np.round(R, 4).tolist()}; expected a right-handed, orthonormal one"
        )


def check_baseline(where: str, rig: Rig) -> None:
    """Raise FileFormatError unless the two cameras are as far apart as two cameras can be; where: for the words."""
    low, high = BASELINE_RANGE_M
    if not low <= rig.baseline_m <= high:
        raise FileFormatError(
            f"{where}: the cameras are {rig.baseline_m:g} m apart, expected {low:g} to {high:g} m; translations are in metres: "
            "`duocap calibrate convert FILE --unit mm --out rig.toml` takes files in another unit"
        )
