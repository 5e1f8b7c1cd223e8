"""Camera and rig: pinhole with Brown-Conrady distortion (k1, k2, p1, p2[, k3]), world to camera.

x_camera = R x_world + t; x to the right of the image, y down, z away from the camera; metres and pixels.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike

from database.rotations import Floats


@dataclass(frozen=True, slots=True)
class Camera:
    """One calibrated camera.

    size: width, height [px]; matrix: intrinsics, (3, 3) [px]; distortions: (4,) or (5,);
    rotation: world to camera, (3, 3); translation: world to camera, (3,) [m].
    """

    name: str
    size: tuple[int, int]
    matrix: Floats
    distortions: Floats
    rotation: Floats
    translation: Floats

    def __post_init__(self) -> None:
        for array in (self.matrix, self.distortions, self.rotation, self.translation):
            array.setflags(write=False)

    @property
    def center_m(self) -> Floats:
        """The optical centre in the world frame, (3,) [m]."""
        return np.asarray(-self.rotation.T @ self.translation)

    @property
    def focal_px(self) -> float:
        """Mean focal length [px]."""
        return float(0.5 * (self.matrix[0, 0] + self.matrix[1, 1]))

    def to_camera(self, points_m: ArrayLike) -> Floats:
        """Give points in the camera's frame: (..., 3) [m] world -> (..., 3) [m]."""
        return np.asarray(points_m, float) @ self.rotation.T + self.translation

    def project(self, points_m: ArrayLike) -> Floats:
        """Give image points with distortion: (..., 3) [m] world -> (..., 2) [px]; NaN behind the camera."""
        x = self.to_camera(points_m)
        flat = x.reshape(-1, 1, 3)
        behind = flat[:, 0, 2] <= 1e-6
        safe = np.where(behind[:, None, None], np.array([0.0, 0.0, 1.0]), flat)
        if not len(safe):
            return np.zeros((*x.shape[:-1], 2))
        px, _ = cv2.projectPoints(safe, np.zeros(3), np.zeros(3), self.matrix, self.distortions)
        px = np.asarray(px, float).reshape(-1, 2)
        px[behind] = np.nan
        return px.reshape(*x.shape[:-1], 2)

    def undistort(self, points_px: ArrayLike) -> Floats:
        """Give ideal normalised image points (x/z, y/z): (..., 2) [px] -> (..., 2)."""
        px = np.asarray(points_px, float)
        if not px.size:
            return np.zeros(px.shape)
        return _undistorted(px.reshape(-1, 1, 2), self.matrix, self.distortions).reshape(px.shape)


def _undistorted(points_px: Floats, matrix: Floats, distortions: Floats) -> Floats:
    """Undistort by iterating to 1e-10: (N, 1, 2) [px] -> (N, 1, 2); OpenCV's default of five rounds is not enough."""
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-10)
    if hasattr(cv2, "undistortPointsIter"):  # OpenCV 4: undistortPoints takes no criteria
        return np.asarray(cv2.undistortPointsIter(points_px, matrix, distortions, np.eye(3), np.eye(3), criteria), float)
    return np.asarray(cv2.undistortPoints(points_px, matrix, distortions, criteria=criteria), float)


@dataclass(frozen=True, slots=True)
class Rig:
    """Two calibrated cameras, `cam_0` left and `cam_1` right, and what is known of their calibration.

    error_px: reprojection RMS of the calibration, NaN where unknown; floor_known: the world has Y up and its floor at 0.
    """

    left: Camera
    right: Camera
    error_px: float = float("nan")
    floor_known: bool = False

    @property
    def cameras(self) -> tuple[Camera, Camera]:
        """Both cameras, left first."""
        return self.left, self.right

    @property
    def baseline_m(self) -> float:
        """Distance between the two optical centres."""
        return float(np.linalg.norm(self.left.center_m - self.right.center_m))
