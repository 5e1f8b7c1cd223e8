"""Where each joint of a pose comes from and how sure it is, and how far markers are from what was seen: kernels."""

import math

import numpy as np

from calibration.triangulate import project_point
from config.arrays import Bools, Bytes, Floats
from config.jit import kernel

RESIDUAL_M = 0.1  # a marker this far from its point halves the confidence of the joints it moves with
BOTH, ONE, INFERRED, COASTING = 0.9, 0.7, 0.5, 0.2  # confidence; one camera alone measures little of a joint's depth
FROM_MARKERS, FROM_EXAMPLES = 0, 1  # as `JointSource`


@kernel
def _points_missed(point_m: Floats, valid: Bools, marker_m: Floats, residual_m: Floats) -> None:
    """Write the distances of markers from their points, (M,), where these are valid."""
    for m in range(valid.shape[0]):
        if valid[m]:
            x, y, z = marker_m[m, 0] - point_m[m, 0], marker_m[m, 1] - point_m[m, 1], marker_m[m, 2] - point_m[m, 2]
            residual_m[m] = math.sqrt(x * x + y * y + z * z)


@kernel
def _views_missed(cameras: Floats, image_px: Floats, seen: Bools, marker_m: Floats, residual_px: Floats) -> None:
    """Write reprojection errors, (V, M), where a marker is seen and not behind the camera."""
    uv, J = np.empty(2), np.empty((2, 3))
    for c in range(len(cameras)):
        for m in range(marker_m.shape[0]):
            if seen[c, m] and project_point(cameras[c], marker_m[m], uv, J):
                u, v = uv[0] - image_px[c, m, 0], uv[1] - image_px[c, m, 1]
                residual_px[c, m] = math.sqrt(u * u + v * v)


@kernel
def _provenance(
    carries: Bools,
    shown: Bools,
    valid: Bools,
    residual_m: Floats,
    sigma_m: Floats,
    usual_m: float,
    source: Bytes,
    confidence: Floats,
) -> None:
    """Write `provenance` of a pose that is tracked; carries (M, J); sigma_m: (M,), or (0,) for none; usual_m: median residual."""
    for j in range(carries.shape[1]):
        measured = triangulated = any_valid = False
        worst_m = usual_m
        for m in range(carries.shape[0]):
            any_valid = any_valid or valid[m]
            if carries[m, j] and shown[m]:
                measured, triangulated = True, triangulated or valid[m]
                worst_m = max(worst_m, residual_m[m])  # zero where not valid
        source[j] = FROM_MARKERS if measured else FROM_EXAMPLES
        sure = BOTH if triangulated else ONE if measured else INFERRED
        for m in range(sigma_m.shape[0]):
            if carries[m, j] and not measured:
                sure = min(sure, INFERRED / (1.0 + (sigma_m[m] / RESIDUAL_M) ** 2))
        confidence[j] = max(sure / (1.0 + (worst_m / RESIDUAL_M) ** 2), COASTING) if any_valid else sure
