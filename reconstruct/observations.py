"""What the solver is told of the markers: world points with their uncertainty, image points where one camera sees them."""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame
from database.rotations import Floats


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
    expected places, (M, 3) [m] world, where none are triangulated.
    """
    n = len(frame.valid)
    covariance = frame.covariance_m2 + model_sigma_m[:, None, None] ** 2 * np.eye(3)
    root_info = np.zeros((n, 3, 3))
    if frame.valid.any():
        # L = chol(S^-1)' so that L'L = S^-1.
        inverse = np.linalg.inv(covariance[frame.valid])
        root_info[frame.valid] = np.swapaxes(np.linalg.cholesky(inverse), -1, -2)
    ideal, weight = np.zeros((2, n, 2)), np.zeros((2, n))
    depths = _depths(frame, rig, expected_m)
    for c, camera in enumerate(rig.cameras):
        alone = frame.seen[c] & ~frame.valid
        if alone.any():
            ideal[c, alone] = camera.undistort(frame.image_px[c, alone])
            model_px = camera.focal_px * model_sigma_m[alone] / depths[c]
            weight[c, alone] = 1.0 / (frame.sigma_px[c, alone] ** 2 + model_px**2)
    rotation = np.ascontiguousarray(np.stack([camera.rotation for camera in rig.cameras]))
    translation = np.ascontiguousarray(np.stack([camera.translation for camera in rig.cameras]))
    focal = np.array([camera.focal_px for camera in rig.cameras])
    return Observations(frame.point_m, root_info, ideal, weight, rotation, translation, focal)


def _depths(frame: MarkerFrame, rig: Rig, expected_m: Floats | None) -> tuple[float, float]:
    """Give a typical distance of the performer from each camera [m], 3 m where nothing is known."""
    points = frame.point_m[frame.valid] if frame.valid.any() else expected_m
    if points is None:
        return 3.0, 3.0
    z = [float(np.median(camera.to_camera(points)[:, 2])) for camera in rig.cameras]
    return max(z[0], 0.3), max(z[1], 0.3)
