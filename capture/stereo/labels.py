"""Labels: which point is which marker, by the markers of the last synthesized pose (Chai & Hodgins 2005, section 4).

The synthesized pose includes occluded markers, so a marker that reappears is labelled again by itself. All points are labelled in
one assignment, with the covariance of the triangulation: depth is less certain than x and y.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from calibration.camera import Camera, Rig
from calibration.epipolar import epipolar_distances
from capture.packets import Blobs, MarkerFrame, Points, Views
from capture.stereo.matching import complement
from config.arrays import Bools, Floats, Ints, read_only
from config.jit import kernel

IMPOSSIBLE = 1e6  # cost of a point beyond the gate
GATE = 4.0  # sigmas, beyond which a point is no candidate
ONE_POINT_PX = 8.0  # distance from an epipolar line within which blobs of two views may be images of one point


@dataclass(frozen=True, slots=True)
class ExpectedMarkers:
    """Predicted markers: point_m (M, 3) [m] world, sigma_m (M,) [m]."""

    point_m: Floats
    sigma_m: Floats


def _one_to_one(distance2: Floats, log_volume: Floats, gate: float) -> Ints:
    """Return the column of each row in the likeliest assignment, -1 for none within the gate.

    distance2: squared distances in sigmas, (M, N); log_volume: ln det of their covariances, (M, N). Their sum is -2 ln of a
    normal density: without log_volume a marker unseen for long, with its large sigma, would take the points of others.
    """
    rows, columns = distance2.shape
    result, cost = np.empty(rows, np.int64), np.empty((rows, rows + columns))
    if _settled(distance2, log_volume, gate**2, result, cost):
        return result
    chosen = linear_sum_assignment(cost)[1]
    return np.where((chosen < columns) & (cost[np.arange(rows), chosen] < IMPOSSIBLE), chosen, -1)


@kernel
def _settled(distance2: Floats, log_volume: Floats, gate2: float, result: Ints, cost: Floats) -> bool:
    """Write the column within the gate of each row, -1 for none, (M,), and return whether each has one at most and vice versa.

    Otherwise write the costs of an assignment, (M, M + N), with a column for every row that is left unassigned.
    """
    rows, columns = distance2.shape
    settled, taken = True, np.zeros(columns, np.bool_)
    least, largest = np.inf, -np.inf
    for m in range(rows):
        result[m] = -1
        for n in range(columns):
            least, largest = min(least, log_volume[m, n]), max(largest, log_volume[m, n])
            if distance2[m, n] < gate2:
                settled = settled and result[m] < 0 and not taken[n]
                result[m], taken[n] = n, True
    if settled:
        return True
    for m in range(rows):
        for n in range(columns):
            cost[m, n] = distance2[m, n] + (log_volume[m, n] - least) if distance2[m, n] < gate2 else IMPOSSIBLE
        cost[m, columns:] = gate2 + (largest - least) + 1.0
    return False


def labelled_points(points: Points, expected: ExpectedMarkers) -> Ints:
    """Return the triangulated point of every marker, (M,), -1 for none."""
    if not len(points.point_m):
        return np.full(len(expected.point_m), -1, np.int64)
    return _one_to_one(*mahalanobis(points, expected.point_m, expected.sigma_m), GATE)


def mahalanobis(points: Points, marker_m: Floats, sigma_m: Floats) -> tuple[Floats, Floats]:
    """Return squared distances in sigmas of all markers, (M, 3) +- (M,) [m], from all points, and ln det of their covariances.

    (M, P) each; the covariance of a distance is that of the point and sigma^2 I.
    """
    distance2, log_volume = np.empty((2, len(marker_m), len(points.point_m)))
    given = read_only(points.point_m), read_only(points.covariance_m2)
    _mahalanobis(*given, read_only(marker_m), read_only(sigma_m), distance2, log_volume)
    return distance2, log_volume


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


def _label_singles(views: Views, rig: Rig, free: Sequence[Ints], open_markers: Ints, expected: ExpectedMarkers) -> Ints:
    """Return the blob of each of some markers in each view, (V, K), -1 for none.

    Each view is labelled by itself. Where the blobs of a marker in two views are no images of one point, the likelier one stays;
    of three views or more none are, for the matching has weighed each pair against the images of two markers.

    Args:
        free: blobs of each view that are of no point.
        open_markers: those to be labelled, (K,).
    """
    blob, cost = np.full((len(free), len(open_markers)), -1), np.full((len(free), len(open_markers)), np.inf)
    for c, each in enumerate(free):
        if len(each):
            distance2, log_volume = _distances_in_view(views[c], rig.cameras[c], each, open_markers, expected)
            column = _one_to_one(distance2, log_volume, 0.75 * GATE)
            has = np.flatnonzero(column >= 0)
            blob[c, has], cost[c, has] = each[column[has]], (distance2 + log_volume)[has, column[has]]
    limit_px = ONE_POINT_PX if np.count_nonzero([len(each) for each in views.present]) < 3 else -1.0
    for a, b in combinations(range(len(free)), 2):
        for m in np.flatnonzero((blob[a] >= 0) & (blob[b] >= 0)):
            px = views[a].points_px[blob[a, m], None], views[b].points_px[blob[b, m], None]
            if epipolar_distances((rig.cameras[a], rig.cameras[b]), *px)[0, 0] > limit_px:
                blob[a if cost[a, m] > cost[b, m] else b, m] = -1
    return blob


def _distances_in_view(
    blobs: Blobs, camera: Camera, free: Ints, markers: Ints, expected: ExpectedMarkers
) -> tuple[Floats, Floats]:
    """Return squared distances of markers' images from blobs in sigmas, and ln det of their covariances, (K, F) both."""
    predicted = camera.project(expected.point_m[markers])
    depth = np.maximum(camera.to_camera(expected.point_m[markers])[:, 2], 0.3)
    sigma2 = (camera.focal_px * expected.sigma_m[markers] / depth)[:, None] ** 2 + blobs.sigma_px[free][None] ** 2
    distance2 = np.sum((predicted[:, None] - blobs.points_px[free][None]) ** 2, axis=2) / sigma2
    return np.nan_to_num(distance2, nan=IMPOSSIBLE), 2.0 * np.log(sigma2)


def label(views: Views, points: Points, rig: Rig, expected: ExpectedMarkers) -> MarkerFrame:
    """Label the points and the monocular blobs."""
    choice = labelled_points(points, expected)
    return marker_frame(views, points, rig, choice, expected)


def frame_of_view(views: Views, camera_index: int, blob_of_marker: Ints) -> MarkerFrame:
    """Return the marker frame of one view, without triangulation. blob_of_marker: (M,), -1 for none."""
    n, blobs, n_views = len(blob_of_marker), views[camera_index], len(views)
    found = blob_of_marker >= 0
    seen, image, sigma = np.zeros((n_views, n), bool), np.zeros((n_views, n, 2)), np.zeros((n_views, n))
    seen[camera_index] = found
    image[camera_index, found] = blobs.points_px[blob_of_marker[found]]
    sigma[camera_index, found] = blobs.sigma_px[blob_of_marker[found]]
    no_points = (np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3, 3)))
    times = (views.first.index, views.t_capture_ns, views.skew_ns)
    return MarkerFrame(*times, *no_points, seen, image, sigma, np.zeros(n), np.zeros((0, 3)))


class LabelledPoints(NamedTuple):
    """The points of markers; fields as in `MarkerFrame`, and blob, (V, M): -1 for none."""

    valid: Bools
    point_m: Floats
    covariance_m2: Floats
    epipolar_px: Floats
    blob: Ints


def marker_frame(views: Views, points: Points, rig: Rig, choice: Ints, expected: ExpectedMarkers | None) -> MarkerFrame:
    """Return the marker frame of labelled points; label monocular blobs where `expected` is given.

    choice: point of each marker, (M,), -1 for none.
    """
    n = len(choice)
    taken = LabelledPoints(np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros(n), np.full((len(views), n), -1))
    _take_points(points.point_m, points.covariance_m2, points.epipolar_px, read_only(points.blob), choice, taken)
    unused = complement(len(points.point_m), choice[taken.valid])
    if expected is not None and np.count_nonzero(taken.valid) < n:
        open_markers = np.flatnonzero(~taken.valid)
        loose = (row[row >= 0] for row in points.blob[:, unused])
        free = [np.concatenate(parts) for parts in zip(points.single, loose, strict=True)]
        taken.blob[:, open_markers] = _label_singles(views, rig, free, open_markers, expected)
    image, sigma = np.zeros((len(views), n, 2)), np.zeros((len(views), n))
    for c, blobs in enumerate(views.blobs):
        if blobs is not None:
            _take_blobs(read_only(blobs.points_px), read_only(blobs.sigma_px), taken.blob[c], image[c], sigma[c])
    times = (views.first.index, views.t_capture_ns, views.skew_ns)
    valid, point, covariance, epipolar, blob = taken
    return MarkerFrame(*times, valid, point, covariance, blob >= 0, image, sigma, epipolar, points.point_m[unused])


@kernel
def _take_points(
    point_m: Floats, covariance_m2: Floats, epipolar_px: Floats, blob: Ints, choice: Ints, taken: LabelledPoints
) -> None:
    """Write the points that markers have, of choice (M,), -1 for none; the first four: of `Points`."""
    for m in range(choice.shape[0]):
        k = choice[m]
        if k >= 0:
            taken.valid[m], taken.epipolar_px[m] = True, epipolar_px[k]
            taken.point_m[m], taken.covariance_m2[m] = point_m[k], covariance_m2[k]
            taken.blob[:, m] = blob[:, k]


@kernel
def _take_blobs(points_px: Floats, sigma_px: Floats, blob: Ints, image: Floats, sigma: Floats) -> None:
    """Write image points (M, 2) and standard deviations (M,) of the markers that have a blob, of blob (M,), -1 for none."""
    for m in range(blob.shape[0]):
        if blob[m] >= 0:
            image[m, 0], image[m, 1], sigma[m] = points_px[blob[m], 0], points_px[blob[m], 1], sigma_px[blob[m]]
