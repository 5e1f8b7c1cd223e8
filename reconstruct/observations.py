"""What the solver is told of the markers: world points with their uncertainty, image points where one camera sees them."""

import math
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import Bools, MarkerFrame
from config.jit import kernel
from database.rotations import Floats


@kernel
def _root_information(covariance: Floats, sigma: Floats, valid: Bools, out: Floats) -> bool:
    """Write L (M, 3, 3), L'L = (S + sigma^2 I)^-1, of valid markers; False where S + sigma^2 I is not positive definite.

    With S + sigma^2 I = K K', K lower triangular (Cholesky), L is the inverse of K: lower triangular, too.
    """
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


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations of M markers in the solver's form.

    point_m: (M, 3) world; root_info: L with L'L = inverse covariance, (M, 3, 3) [1/m], zero where not triangulated;
    ideal: undistorted normalised image points, (2, M, 2); weight_px: 1 / variance, (2, M) [1/px^2], zero where unused;
    view_rotation (2, 3, 3), view_translation (2, 3) [m], view_focal (2,) [px]: the cameras.
    """

    point_m: Floats
    root_info: Floats
    ideal: Floats
    weight_px: Floats
    view_rotation: Floats
    view_translation: Floats
    view_focal: Floats

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats, tuple[Floats, Floats, Floats]]:
        """Give the arrays as the kernels take them."""
        views = (self.view_rotation, self.view_translation, self.view_focal)
        return self.point_m, self.root_info, self.ideal, self.weight_px, views


def observations_from_markers(
    frame: MarkerFrame, rig: Rig, model_sigma_m: Floats, expected_m: Floats | None = None
) -> Observations:
    """Weigh labelled markers by their triangulation covariance and the model's own error.

    model_sigma_m: how far a marker may sit from where skeleton and offset put it, (M,) [m]. A marker seen by
    one camera is weighed in pixels, the model's error brought to the image at an approximate depth, that of the markers'
    expected places, (M, 3) [m] world, where none are triangulated. Raises ValueError: a covariance not positive definite.
    """
    n = len(frame.valid)
    root_info, ideal, weight = np.zeros((n, 3, 3)), np.zeros((2, n, 2)), np.zeros((2, n))
    if not _root_information(frame.covariance_m2, model_sigma_m, frame.valid, root_info):
        raise ValueError("a marker's covariance is not positive definite")
    alone = frame.seen & ~frame.valid
    if alone.any():
        depths = _depths(frame, rig, expected_m)
        for c, camera in enumerate(rig.cameras):
            ideal[c, alone[c]] = camera.undistort(frame.image_px[c, alone[c]])
            model_px = camera.focal_px * model_sigma_m[alone[c]] / depths[c]
            weight[c, alone[c]] = 1.0 / (frame.sigma_px[c, alone[c]] ** 2 + model_px**2)
    rotation = np.array([camera.rotation for camera in rig.cameras])
    translation = np.array([camera.translation for camera in rig.cameras])
    focal = np.array([camera.focal_px for camera in rig.cameras])
    return Observations(frame.point_m, root_info, ideal, weight, rotation, translation, focal)


def _depths(frame: MarkerFrame, rig: Rig, expected_m: Floats | None) -> tuple[float, float]:
    """Give a typical distance of the performer from each camera [m], 3 m where nothing is known."""
    points = frame.point_m[frame.valid] if frame.valid.any() else expected_m
    if points is None:
        return 3.0, 3.0
    z = [float(np.median(camera.to_camera(points)[:, 2])) for camera in rig.cameras]
    return max(z[0], 0.3), max(z[1], 0.3)
