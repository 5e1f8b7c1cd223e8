"""Camera and rig: a pinhole with Brown-Conrady distortion (k1, k2, p1, p2[, k3]), or a fisheye (k1, k2, k3, k4), and the checks
of every rig that is read.

Fisheye (Kannala & Brandt 2006, as OpenCV has it): a ray at an angle theta from the axis comes to a distance of
f theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8) from the centre. Rays at 85 degrees or more are not told apart.

x_camera = R x_world + t; x to the right of the image, y down, z ahead; metres and pixels.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, ReadOnlyArrays, make_read_only
from config.errors import FileFormatError
from config.jit import inline_kernel, kernel

MAX_CAMERAS = 8  # of a rig
UNDISTORT_STEPS = 40
MAX_FISHEYE_RAD = np.radians(85.0)  # angle from the axis: undistorted points lie on a plane, where 90 degrees are infinitely far


N_LENS_ROW = 10  # numbers of `Camera.intrinsics`
FISHEYE = 9  # the one that tells the model


@dataclass(frozen=True, slots=True, eq=False)
class Camera(ReadOnlyArrays):
    """One calibrated camera; equal to itself alone, so that what follows from it can be kept.

    size: width, height [px]; matrix: intrinsics, (3, 3) [px]; distortions: (4,) or (5,), of a fisheye (4,);
    rotation: world to camera, (3, 3); translation: world to camera, (3,) [m]; fisheye: which of the two lens models it is.
    """

    name: str
    size: tuple[int, int]
    matrix: Floats
    distortions: Floats
    rotation: Floats
    translation: Floats
    fisheye: bool = False

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
    def title(self) -> str:
        """The camera's name in a sentence."""
        return format_camera_name(self.name)

    @property
    def intrinsics(self) -> Floats:
        """The lens as ten numbers, (10,): fx, fy, cx, cy, k1, k2, p1, p2, k3, 0; k3 is 0 where there is none.

        Of a fisheye: fx, fy, cx, cy, k1, k2, k3, k4, 0, 1.
        """
        return _pack_intrinsics(self)

    def to_camera(self, points_m: ArrayLike) -> Floats:
        """Transform points to the camera's frame: (..., 3) world [m] -> (..., 3) [m]."""
        return np.asarray(points_m, float) @ self.rotation.T + self.translation

    def project(self, points_m: ArrayLike) -> Floats:
        """Project points to the image, with distortion: (..., 3) world [m] -> (..., 2) [px]; NaN behind the camera."""
        x = self.to_camera(points_m)
        flat = x.reshape(-1, 1, 3)
        behind = flat[:, 0, 2] <= 1e-6
        safe = np.where(behind[:, None, None], np.array([0.0, 0.0, 1.0]), flat)
        if not len(safe):
            return np.zeros((*x.shape[:-1], 2))
        model = cv2.fisheye.projectPoints if self.fisheye else cv2.projectPoints
        px, _ = model(np.ascontiguousarray(safe), np.zeros(3), np.zeros(3), self.matrix, self.distortions)
        px = np.asarray(px, float).reshape(-1, 2)
        px[behind] = np.nan
        return px.reshape(*x.shape[:-1], 2)

    def undistort(self, points_px: ArrayLike) -> Floats:
        """Return undistorted, normalised image points (x/z, y/z): (..., 2) raw [px] -> (..., 2)."""
        px = np.asarray(points_px, float)
        ideal = np.empty((px.size // 2, 2))
        undistort_points(make_read_only(px.reshape(-1, 2)), self.intrinsics, ideal)
        return ideal.reshape(px.shape)

    def magnification(self, points_px: ArrayLike) -> Floats:
        """Return how many ideal pixels a raw pixel is wide, the geometric mean of both directions: (..., 2) raw [px] -> (...).

        1 for lenses that are not fisheyes: theirs are not much larger.
        """
        ideal = self.undistort(points_px)
        wide = [compute_pixel_magnification(self.intrinsics, x, y) for x, y in ideal.reshape(-1, 2).tolist()]
        return np.array(wide, float).reshape(ideal.shape[:-1])

    def rays(self, points_px: ArrayLike) -> Floats:
        """Return the directions of image points in the camera's frame, at depth 1: (..., 2) raw [px] -> (..., 3)."""
        ideal = self.undistort(points_px)
        return np.concatenate([ideal, np.ones((*ideal.shape[:-1], 1))], axis=-1)


@lru_cache(maxsize=32)
def _pack_intrinsics(camera: Camera) -> Floats:
    """Return `Camera.intrinsics`."""
    K, out = camera.matrix, np.zeros(N_LENS_ROW)
    out[FISHEYE] = float(camera.fisheye)
    out[:4] = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
    out[4 : 4 + len(camera.distortions)] = camera.distortions
    out.setflags(write=False)
    return out


def camera_from_intrinsics(name: str, size: tuple[int, int], intrinsics: Floats, R: Floats, t: Floats) -> Camera:
    """Return the camera of intrinsics in a pose.

    Args:
        name: of the camera.
        size: width and height [px].
        intrinsics: as `Camera.intrinsics` has them, (10,).
        R: rotation, world to camera, (3, 3).
        t: translation, world to camera, (3,) [m].
    """
    fx, fy, cx, cy = intrinsics[:4]
    matrix, fisheye = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]), bool(intrinsics[FISHEYE])
    return Camera(name, size, matrix, intrinsics[4 : 8 if fisheye else 9].copy(), R.copy(), t.copy(), fisheye)


def format_camera_name(name: str) -> str:
    """Return a camera's name for use in a sentence: `the left camera`, `camera cam_2`, or `the camera` if it has no name."""
    if name in ("", "camera"):
        return "the camera"
    return f"camera {name}" if "cam" in name.lower() else f"the {name} camera"


@dataclass(frozen=True, slots=True, eq=False)
class Rig:
    """One to eight calibrated cameras, `cam_0` first, and what is known of their calibration; equal to itself alone.

    error_px: reprojection RMS of the calibration, NaN where unknown; floor_known: the world has Y up and its floor at 0; grade:
    of the quality report, `pass` or `poor`, empty where there was none; tilt_sigma_rad: of the world's up where a performer told
    it, a standard deviation, 0 where a floor was calibrated.
    """

    cameras: tuple[Camera, ...]
    error_px: float = float("nan")
    floor_known: bool = False
    grade: str = ""
    tilt_sigma_rad: float = 0.0

    def __len__(self) -> int:
        return len(self.cameras)

    @property
    def is_monocular(self) -> bool:
        """Whether there is one camera only."""
        return len(self.cameras) == 1

    @property
    def middle_m(self) -> Floats:
        """The mean of the optical centres, (3,) [m]."""
        return np.asarray(np.mean([camera.center_m for camera in self.cameras], axis=0))

    @property
    def ahead(self) -> Floats:
        """The mean direction in which the cameras look, (3,), a unit vector."""
        ahead = np.sum([camera.rotation[2] for camera in self.cameras], axis=0)
        return np.asarray(ahead / max(float(np.linalg.norm(ahead)), 1e-12))

    @property
    def baseline_m(self) -> float:
        """Largest distance between two optical centres [m], 0 with one camera."""
        centers = [camera.center_m for camera in self.cameras]
        return max((float(np.linalg.norm(a - b)) for a, b in combinations(centers, 2)), default=0.0)


def compute_relative_pose(first: Camera, second: Camera) -> tuple[Floats, Floats]:
    """Return the second camera's pose in the first one's frame: x_second = R x_first + t, (3, 3) and (3,) [m]."""
    R = np.asarray(second.rotation @ first.rotation.T)
    return R, np.asarray(second.translation - R @ first.translation)


@inline_kernel
def _undistort_fisheye(px: Floats, intrinsics: Floats, ideal: Floats) -> None:
    """Invert the fisheye model: px (N, 2), intrinsics (10,) -> ideal (N, 2)."""
    k1, k2, k3, k4 = intrinsics[4], intrinsics[5], intrinsics[6], intrinsics[7]
    for n in range(len(px)):
        xd, yd = (px[n, 0] - intrinsics[2]) / intrinsics[0], (px[n, 1] - intrinsics[3]) / intrinsics[1]
        bent = np.sqrt(xd * xd + yd * yd)
        theta = min(bent, MAX_FISHEYE_RAD)
        for _ in range(UNDISTORT_STEPS):
            t2 = theta * theta
            slope = 1.0 + t2 * (3.0 * k1 + t2 * (5.0 * k2 + t2 * (7.0 * k3 + t2 * 9.0 * k4)))
            if slope < 0.05:
                theta *= 0.9  # beyond the fold
                continue
            step = (theta * (1.0 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4)))) - bent) / slope
            theta = min(max(theta - step, 0.0), MAX_FISHEYE_RAD)
            if abs(step) < 1e-14:
                break
        scale = np.tan(theta) / bent if bent > 1e-12 else 1.0
        ideal[n, 0], ideal[n, 1] = xd * scale, yd * scale


@kernel
def undistort_points(px: Floats, intrinsics: Floats, ideal: Floats) -> None:
    """Invert the lens model by fixed-point iteration, as OpenCV does, but to convergence.

    OpenCV 4 stops after five steps, and only OpenCV 5 takes a criterion. Far outside the image, where the model folds back, the
    last point before that is returned. A fisheye is inverted by Newton's method, up to `MAX_FISHEYE_RAD`.

    Args:
        px: raw image points, (N, 2) [px].
        intrinsics: of the lens, (10,).
        ideal: undistorted, normalised points, (N, 2); written.
    """
    if intrinsics[FISHEYE] > 0.0:
        _undistort_fisheye(px, intrinsics, ideal)
        return
    fx, fy, cx, cy = intrinsics[0], intrinsics[1], intrinsics[2], intrinsics[3]
    k1, k2, p1, p2, k3 = intrinsics[4], intrinsics[5], intrinsics[6], intrinsics[7], intrinsics[8]
    for n in range(len(px)):
        xd, yd = (px[n, 0] - cx) / fx, (px[n, 1] - cy) / fy
        x, y = xd, yd
        for _ in range(UNDISTORT_STEPS):
            r2 = x * x + y * y
            radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
            if radial < 0.1:
                break
            dx = 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
            dy = p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
            new_x, new_y = (xd - dx) / radial, (yd - dy) / radial
            done = abs(new_x - x) + abs(new_y - y) < 1e-13
            x, y = new_x, new_y
            if done:
                break
        ideal[n, 0], ideal[n, 1] = x, y


@kernel
def compute_pixel_magnification(intrinsics: Floats, x: float, y: float) -> float:
    """Return `Camera.magnification` at an ideal point.

    Args:
        intrinsics: of the lens, (10,).
        x, y: the point, x/z and y/z.
    """
    if intrinsics[FISHEYE] == 0.0:
        return 1.0
    k1, k2, k3, k4 = intrinsics[4], intrinsics[5], intrinsics[6], intrinsics[7]
    r = max(np.sqrt(x * x + y * y), 1e-9)
    theta = np.arctan(r)
    t2 = theta * theta
    bent = theta * (1.0 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4))))
    slope = 1.0 + t2 * (3.0 * k1 + t2 * (5.0 * k2 + t2 * (7.0 * k3 + t2 * 9.0 * k4)))
    wide: float = np.sqrt((1.0 + r * r) / max(slope, 1e-3) * r / max(bent, 1e-9))
    return wide


FOCAL_RANGE = (0.2, 30.0)  # of the longer image side: from a fisheye-like 136 degrees to a 2 degree telephoto
BASELINE_RANGE_M = (0.005, 50.0)
MAX_SIDE_PX = 16384
MAX_DISTORTION = 1e3


def check_camera(where: str, camera: Camera) -> None:
    """Raise FileFormatError where no real lens has such intrinsics, or a number is not finite; where: the camera, for the
    message.
    """
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
    if camera.fisheye and len(camera.distortions) != 4:
        raise FileFormatError(f"{where} is a fisheye with {len(camera.distortions)} distortions; expected four: k1, k2, k3, k4")
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
    """Raise FileFormatError unless the distance between the cameras is plausible; where: the file, for the message."""
    low, high = BASELINE_RANGE_M
    for a, b in combinations(rig.cameras, 2):
        apart_m = float(np.linalg.norm(a.center_m - b.center_m))
        if low <= apart_m <= high:
            continue
        raise FileFormatError(
            f"{where}: the cameras {a.name} and {b.name} are {apart_m:g} m apart, expected {low:g} to {high:g} m; translations "
            "are in metres: `duocap calibrate convert FILE --unit mm --out rig.toml` takes files in another unit"
        )
