"""What is observed of the markers of one frame: points in space, image points, rays.

A marker that both cameras see is a point with a covariance. One that a single camera sees is an image point, which leaves it a
ray (Chai & Hodgins 2005, section 6, takes its distance in the image): depth comes from the size of the body, which is known, and
from the prediction.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from calibration.camera import Rig
from calibration.triangulate import triangulate_views
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, make_read_only
from config.jit import kernel

UNKNOWN_DEPTH_M, MIN_DEPTH_M = 3.0, 0.3
AGREES = 4.0  # standard deviations that the images of one landmark may be off its point


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations of M markers.

    Attributes:
        point_m: positions, (M, 3) world.
        root_info: L with L'L = inverse covariance, (M, 3, 3) [1/m], zero where not triangulated.
        ideal: undistorted normalised image points, (V, M, 2).
        weight_px: 1 / variance, (V, M) [1/px^2], zero where unused; view_rotation (V, 3, 3), view_translation (V, 3) [m],
            view_focal (V,) [px]: the cameras, world to camera.
        share: share of each marker's image points that counts, (M,), less than 1 where the errors of consecutive frames are alike
            (the weights have it already); None: all.
    """

    point_m: Floats
    root_info: Floats
    ideal: Floats
    weight_px: Floats
    view_rotation: Floats
    view_translation: Floats
    view_focal: Floats
    share: Floats | None = None

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats, tuple[Floats, Floats, Floats]]:
        """Return the arrays as the kernels of synthesis take them."""
        views = (self.view_rotation, self.view_translation, self.view_focal)
        return self.point_m, self.root_info, self.ideal, self.weight_px, views


@dataclass(frozen=True, slots=True)
class Rays:
    """Rays of the markers that one camera alone sees, world frame.

    Attributes:
        monocular: mask of these markers, (M,).
        from_m: optical centres, (M, 3) [m].
        direction: unit vectors, (M, 3), both zero elsewhere.
        sigma_rad: standard deviation across the ray, (M,).
    """

    monocular: Bools
    from_m: Floats
    direction: Floats
    sigma_rad: Floats


def observations_from_markers(
    frame: MarkerFrame, rig: Rig, model_sigma_m: Floats, expected_m: Floats | None = None, share: Floats | None = None
) -> Observations:
    """Return the observations of a frame, weighted by their covariance and the model's own error.

    For a marker that one camera sees it is converted to pixels at an approximate depth: that of the triangulated markers, else of
    the expected ones, (M, 3) [m] world.

    Args:
        frame: the markers.
        rig: the cameras, in the world.
        model_sigma_m: standard deviation of each marker from its place by skeleton and offset, (M,) [m].
        expected_m: expected markers, (M, 3) [m], or None.
        share: share of each marker's image points that counts, (M,), or None for all.
    Raises ValueError: a covariance that is not positive definite.
    """
    n = len(frame.valid)
    root_info, ideal, weight = np.zeros((n, 3, 3)), np.zeros(frame.image_px.shape), np.zeros(frame.seen.shape)
    if not _compute_root_information(frame.covariance_m2, make_read_only(model_sigma_m), frame.valid, root_info):
        raise ValueError("a marker's covariance is not positive definite")
    monocular = frame.seen & ~frame.valid
    if np.count_nonzero(monocular):
        depths_m = _estimate_depths(frame, rig, expected_m)
        for c, camera in enumerate(rig.cameras):
            which = monocular[c]
            ideal[c, which] = camera.undistort(frame.image_px[c, which])
            model_px = camera.focal_px * model_sigma_m[which] / depths_m[c]
            sigma_px = frame.sigma_px[c, which] * camera.magnification(frame.image_px[c, which])
            weight[c, which] = 1.0 / (sigma_px**2 + model_px**2)
            if share is not None:
                weight[c, which] *= share[which]
    views = _collect_camera_arrays(rig)
    return Observations(frame.point_m, root_info, ideal, weight, views.rotation, views.translation, views.focal_px, share)


class CameraArrays(NamedTuple):
    """Cameras of `Observations`: rotation (V, 3, 3), translation (V, 3) [m], focal length (V,) [px]."""

    rotation: Floats
    translation: Floats
    focal_px: Floats


@lru_cache(maxsize=8)
def _collect_camera_arrays(rig: Rig) -> CameraArrays:
    """Return the cameras of a rig as arrays."""
    rotation = np.array([camera.rotation for camera in rig.cameras])
    translation = np.array([camera.translation for camera in rig.cameras])
    return CameraArrays(rotation, translation, np.array([camera.focal_px for camera in rig.cameras]))


def _estimate_depths(frame: MarkerFrame, rig: Rig, expected_m: Floats | None) -> list[float]:
    """Return a typical depth of the performer from each camera [m]."""
    points = frame.point_m[frame.valid] if frame.any_valid else expected_m
    if points is None:
        return [UNKNOWN_DEPTH_M] * len(rig)
    return [max(float(np.median(camera.to_camera(points)[:, 2])), MIN_DEPTH_M) for camera in rig.cameras]


@kernel
def _compute_root_information(covariance: Floats, sigma: Floats, valid: Bools, out: Floats) -> bool:
    """Write L (M, 3, 3), the inverse of the Cholesky factor K of S + sigma^2 I; return whether all are positive definite."""
    for m in range(valid.shape[0]):
        if not valid[m]:
            continue
        S, L, v = covariance[m], out[m], sigma[m] * sigma[m]
        a = S[0, 0] + v
        if not a > 0.0:
            return False
        k00 = math.sqrt(a)
        k10, k20 = S[1, 0] / k00, S[2, 0] / k00
        b = S[1, 1] + v - k10 * k10
        if not b > 0.0:
            return False
        k11 = math.sqrt(b)
        k21 = (S[2, 1] - k20 * k10) / k11
        c = S[2, 2] + v - k20 * k20 - k21 * k21
        if not c > 0.0:
            return False
        k22 = math.sqrt(c)
        L[0, 0], L[1, 1], L[2, 2] = 1.0 / k00, 1.0 / k11, 1.0 / k22
        L[1, 0], L[2, 1] = -k10 / (k00 * k11), -k21 / (k11 * k22)
        L[2, 0] = (k10 * k21 - k11 * k20) / (k00 * k11 * k22)
    return True


def compute_landmark_share(seconds: float, lasts_s: float) -> float:
    """Return the share of the image points of landmarks that counts, some time after the last, as their errors last; 1 of none.

    tanh(t / 2 tau): over many frames the information of correlated errors, exp(-t / tau), on what stands still.
    """
    return math.tanh(0.5 * seconds / lasts_s) if seconds > 0.0 else 1.0


def find_single_view_markers(frame: MarkerFrame) -> Bools:
    """Return which markers are seen but not triangulated, (M,)."""
    return np.asarray(frame.shown & ~frame.valid)


def find_monocular_rays(frame: MarkerFrame, rig: Rig) -> Rays:
    """Return the rays of the markers that are seen but not triangulated; the first camera's where several see one."""
    n = len(frame.valid)
    monocular = find_single_view_markers(frame)
    start, direction, sigma = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
    for c in reversed(range(len(rig))):
        camera, which = rig.cameras[c], monocular & frame.seen[c]
        if not which.any():
            continue
        ideal = camera.undistort(frame.image_px[c, which])
        along = np.column_stack([ideal, np.ones(len(ideal))]) @ camera.rotation
        start[which] = camera.center_m
        direction[which] = along / np.linalg.norm(along, axis=1, keepdims=True)
        sigma[which] = frame.sigma_px[c, which] / camera.focal_px
    return Rays(monocular, start, direction, sigma)


def find_nearest_on_rays(rays: Rays, point_m: Floats) -> Floats:
    """Return the point of every ray's line that is nearest to a given point, (M, 3) [m] both."""
    along = np.einsum("mi,mi->m", rays.direction, point_m - rays.from_m)
    return np.asarray(rays.from_m + along[:, None] * rays.direction)


def triangulate_landmarks(frame: MarkerFrame, rig: Rig, landmark: Bools) -> MarkerFrame:
    """Return a frame in which landmarks that several views show, and agree on, are points, to begin and to search with."""
    rows = np.flatnonzero(landmark & (np.count_nonzero(frame.seen, axis=0) > 1))
    if not len(rows):
        return frame
    px, seen, sigma = frame.image_px[:, rows], frame.seen[:, rows], frame.sigma_px[:, rows]
    point_m, covariance = triangulate_views(rig, px, seen, np.where(seen, sigma, 1.0))
    again = np.stack([np.nan_to_num(camera.project(point_m), nan=1e6) for camera in rig.cameras])
    off = np.where(seen, np.linalg.norm(again - px, axis=2) / np.where(seen, sigma, 1.0), 0.0)
    fits = (off.max(axis=0) < AGREES) & (covariance[:, 0, 0] < 1.0)
    valid, points, covariances = frame.valid.copy(), frame.point_m.copy(), frame.covariance_m2.copy()
    rows = rows[fits]
    valid[rows], points[rows], covariances[rows] = True, point_m[fits], covariance[fits]
    return replace(frame, valid=valid, point_m=points, covariance_m2=covariances)
