"""Labels: which point is which marker, by the markers of the last synthesized pose (Chai & Hodgins 2005, section 4).

The synthesized pose includes occluded markers, so a marker that reappears is labelled again by itself. All points are labelled in
one assignment, with the covariance of the triangulation: depth is less certain than x and y.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Rig
from capture.packets import MarkerFrame, PairedBlobs, Points
from capture.stereo.matching import complement
from config.arrays import Bools, Floats, read_only
from config.jit import kernel

GATE = 4.0  # sigmas, beyond which a point is no candidate


@dataclass(frozen=True, slots=True)
class ExpectedMarkers:
    """Predicted markers: point_m (M, 3) [m] world, sigma_m (M,) [m]."""

    point_m: Floats
    sigma_m: Floats


def _one_to_one(distance2: Floats, log_volume: Floats, gate: float) -> NDArray[np.int64]:
    """Return the column of each row in the likeliest assignment, -1 for none within the gate.

    distance2: squared distances in sigmas, (M, N); log_volume: ln det of their covariances, (M, N). Their sum is -2 ln of a
    normal density: without log_volume a marker unseen for long, with its large sigma, would take the points of others.
    """
    rows, columns = distance2.shape
    within = distance2 < gate**2
    if rows and columns and within.sum(axis=0).max() < 2 and within.sum(axis=1).max() < 2:  # nothing to decide
        return np.where(within.any(axis=1), within.argmax(axis=1), -1)
    volume = log_volume - log_volume.min(initial=np.inf)
    unassigned = gate**2 + float(volume.max(initial=0.0)) + 1.0
    cost = np.where(within, distance2 + volume, 1e6)
    chosen = linear_sum_assignment(np.hstack([cost, np.full((rows, rows), unassigned)]))[1]
    result = np.where(chosen < columns, chosen, -1)
    taken = np.flatnonzero(result >= 0)
    result[taken] = np.where(within[taken, result[taken]], result[taken], -1)
    return result


def labelled_points(points: Points, expected: ExpectedMarkers) -> NDArray[np.int64]:
    """Return the triangulated point of every marker, (M,), -1 for none."""
    if not len(points.point_m):
        return np.full(len(expected.point_m), -1, np.int64)
    distance2, log_volume = np.empty((2, len(expected.point_m), len(points.point_m)))
    given = read_only(points.point_m), read_only(points.covariance_m2)
    _mahalanobis(*given, read_only(expected.point_m), read_only(expected.sigma_m), distance2, log_volume)
    return _one_to_one(distance2, log_volume, GATE)


@kernel
def _mahalanobis(
    point_m: Floats, covariance_m2: Floats, marker_m: Floats, sigma_m: Floats, distance2: Floats, log_volume: Floats
) -> None:
    """Write d'S^-1 d and ln det S of every marker's distance d from every point, (M, P) each, with S = C + sigma^2 I.

    point_m (P, 3), covariance_m2: C (P, 3, 3); marker_m (M, 3), sigma_m (M,).
    """
    for m in range(marker_m.shape[0]):
        v = sigma_m[m] * sigma_m[m]
        for n in range(point_m.shape[0]):
            C = covariance_m2[n]
            # By S = K K', K z = d: |z|^2, and the squares of K's diagonal.
            a = C[0, 0] + v
            k10, k20 = C[1, 0] / a, C[2, 0] / a
            b = C[1, 1] + v - k10 * C[1, 0]
            k21 = (C[2, 1] - k20 * C[1, 0]) / b
            c = C[2, 2] + v - k20 * C[2, 0] - k21 * k21 * b
            z0 = point_m[n, 0] - marker_m[m, 0]
            z1 = point_m[n, 1] - marker_m[m, 1] - k10 * z0
            z2 = point_m[n, 2] - marker_m[m, 2] - k20 * z0 - k21 * z1
            distance2[m, n] = z0 * z0 / a + z1 * z1 / b + z2 * z2 / c
            log_volume[m, n] = math.log(a * b * c)


def _label_monocular(
    camera_index: int,
    pair: PairedBlobs,
    rig: Rig,
    free: NDArray[np.int64],
    open_markers: NDArray[np.int64],
    expected: ExpectedMarkers,
) -> NDArray[np.int64]:
    """Return the blob of each marker in `open_markers` among the `free` blobs of one camera, -1 for none."""
    camera, blobs = rig.cameras[camera_index], (pair.left, pair.right)[camera_index]
    predicted = camera.project(expected.point_m[open_markers])
    depth = np.maximum(camera.to_camera(expected.point_m[open_markers])[:, 2], 0.3)
    sigma2 = (camera.focal_px * expected.sigma_m[open_markers] / depth)[:, None] ** 2 + blobs.sigma_px[free][None] ** 2
    distance2 = np.sum((predicted[:, None] - blobs.points_px[free][None]) ** 2, axis=2) / sigma2
    column = _one_to_one(np.nan_to_num(distance2, nan=1e6), 2.0 * np.log(sigma2), 0.75 * GATE)
    return np.where(column >= 0, free[column], -1)


def label(pair: PairedBlobs, points: Points, rig: Rig, expected: ExpectedMarkers) -> MarkerFrame:
    """Label the points and the monocular blobs."""
    choice = labelled_points(points, expected)
    return marker_frame(pair, points, rig, choice, expected)


def frame_of_view(pair: PairedBlobs, camera_index: int, blob_of_marker: NDArray[np.int64]) -> MarkerFrame:
    """Return the marker frame of one view, without triangulation. blob_of_marker: (M,), -1 for none."""
    n, blobs = len(blob_of_marker), (pair.left, pair.right)[camera_index]
    found = blob_of_marker >= 0
    seen, image, sigma = np.zeros((2, n), bool), np.zeros((2, n, 2)), np.zeros((2, n))
    seen[camera_index] = found
    image[camera_index, found] = blobs.points_px[blob_of_marker[found]]
    sigma[camera_index, found] = blobs.sigma_px[blob_of_marker[found]]
    no_points = (np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3, 3)))
    times = (pair.left.index, pair.t_capture_ns, pair.skew_ns)
    return MarkerFrame(*times, *no_points, seen, image, sigma, np.zeros(n), np.zeros((0, 3)))


def marker_frame(
    pair: PairedBlobs, points: Points, rig: Rig, choice: NDArray[np.int64], expected: ExpectedMarkers | None
) -> MarkerFrame:
    """Return the marker frame of labelled points; label monocular blobs where `expected` is given.

    choice: point of each marker, (M,), -1 for none.
    """
    valid = choice >= 0
    point, covariance, epipolar = (
        _chosen(part, choice, valid) for part in (points.point_m, points.covariance_m2, points.epipolar_px)
    )
    blob = np.stack([np.where(valid, _chosen(side, choice, valid), -1) for side in (points.left, points.right)])
    unused = complement(len(points.point_m), choice[valid])
    if expected is not None and not valid.all():
        open_markers = np.flatnonzero(~valid)
        spare = (points.left[unused], points.right[unused])
        for c, singles in enumerate((points.single_left, points.single_right)):
            free = np.concatenate([singles, spare[c]])
            if len(free):
                blob[c, open_markers] = _label_monocular(c, pair, rig, free, open_markers, expected)
    seen = blob >= 0
    image, sigma = np.empty((*blob.shape, 2)), np.empty(blob.shape)
    for c, blobs in enumerate((pair.left, pair.right)):
        image[c], sigma[c] = _chosen(blobs.points_px, blob[c], seen[c]), _chosen(blobs.sigma_px, blob[c], seen[c])
    return MarkerFrame(
        pair.left.index,
        pair.t_capture_ns,
        pair.skew_ns,
        valid,
        point,
        covariance,
        seen,
        image,
        sigma,
        epipolar,
        points.point_m[unused],
    )


def _chosen(values: NDArray[Any], choice: NDArray[np.int64], valid: Bools) -> NDArray[Any]:
    """Return the chosen rows of some values, (M, ...), zero where the choice is not valid."""
    if not len(values):
        return np.zeros((len(choice), *values.shape[1:]), values.dtype)
    chosen = values[choice]
    if not valid.all():
        chosen[~valid] = 0
    return chosen
