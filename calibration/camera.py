"""Camera and rig: pinhole with Brown-Conrady distortion (k1, k2, p1, p2[, k3]), world to camera.

x_camera = R x_world + t; x to the right of the image, y down, z away from the camera; metres and pixels.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike

from config.jit import kernel
from database.rotations import Floats

UNDISTORT_STEPS = 40


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

    @property
    def called(self) -> str:
        """Its name in a sentence."""
        return called(self.name)

    @property
    def intrinsics(self) -> Floats:
        """The lens in nine numbers, (9,): fx, fy, cx, cy, k1, k2, p1, p2, k3; a k3 that is not there is 0."""
        K, out = self.matrix, np.zeros(9)
        out[:4] = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
        out[4 : 4 + len(self.distortions)] = self.distortions
        return out

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
        ideal = np.empty((px.size // 2, 2))
        _undistort(np.ascontiguousarray(px.reshape(-1, 2)), self.matrix, self.intrinsics[4:], ideal)
        return ideal.reshape(px.shape)

    def rays(self, points_px: ArrayLike) -> Floats:
        """Give the directions in which image points lie, in the camera's frame at depth 1: (..., 2) raw [px] -> (..., 3)."""
        ideal = self.undistort(points_px)
        return np.concatenate([ideal, np.ones((*ideal.shape[:-1], 1))], axis=-1)


def called(name: str) -> str:
    """Give a camera's name in a sentence: `the left camera`, `the camera` of one alone, `camera cam_2` of other programs."""
    if name in ("", "camera"):
        return "the camera"
    return f"camera {name}" if "cam" in name.lower() else f"the {name} camera"


@dataclass(frozen=True, slots=True)
class Rig:
    """Two calibrated cameras, `cam_0` left and `cam_1` right, and what is known of their calibration.

    error_px: reprojection RMS of the calibration, NaN where unknown; floor_known: the world has Y up and its floor at 0;
    verdict: on the calibration, `pass` or `poor`, empty where nobody judged it.
    A rig of one camera has it on both sides; pairs of views then show nothing on the right (`capture.packets.lone_pair`).
    """

    left: Camera
    right: Camera
    error_px: float = float("nan")
    floor_known: bool = False
    verdict: str = ""

    @property
    def is_lone(self) -> bool:
        """Tell whether there is one camera only."""
        return self.left is self.right

    @property
    def cameras(self) -> tuple[Camera, Camera]:
        """Both cameras, left first."""
        return self.left, self.right

    @property
    def baseline_m(self) -> float:
        """Distance between the two optical centres."""
        return float(np.linalg.norm(self.left.center_m - self.right.center_m))

    @property
    def left_to_right(self) -> tuple[Floats, Floats]:
        """The right camera's pose in the left one's frame: x_right = R x_left + t, (3, 3) and (3,) [m]."""
        R = np.asarray(self.right.rotation @ self.left.rotation.T)
        return R, np.asarray(self.right.translation - R @ self.left.translation)


@kernel
def _undistort(px: Floats, K: Floats, k: Floats, ideal: Floats) -> None:
    """Invert the lens model by fixed-point iteration, as OpenCV does, to convergence: px (N, 2), k (5,) -> ideal (N, 2).

    OpenCV 4 stops after five steps and only OpenCV 5 takes a criterion, hence our own. Far outside the image, where the model
    turns back on itself, the last point that still made sense is given.
    """
    for n in range(len(px)):
        xd, yd = (px[n, 0] - K[0, 2]) / K[0, 0], (px[n, 1] - K[1, 2]) / K[1, 1]
        x, y = xd, yd
        for _ in range(UNDISTORT_STEPS):
            r2 = x * x + y * y
            radial = 1.0 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]))
            if radial < 0.1:
                break
            dx = 2.0 * k[2] * x * y + k[3] * (r2 + 2.0 * x * x)
            dy = k[2] * (r2 + 2.0 * y * y) + 2.0 * k[3] * x * y
            new_x, new_y = (xd - dx) / radial, (yd - dy) / radial
            done = abs(new_x - x) + abs(new_y - y) < 1e-13
            x, y = new_x, new_y
            if done:
                break
        ideal[n, 0], ideal[n, 1] = x, y
