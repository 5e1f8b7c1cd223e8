"""Possible pairs of blobs of two views: where their points would be and what each pair costs.

Distance from the epipolar line, colour and time decide together (Chai & Hodgins 2005, sec. 3.2, take them one by one): each
possible pair costs its squared, scaled differences, each unpaired blob a constant.
"""

import math
from typing import NamedTuple

import numpy as np

from calibration.camera import Rig, undistort_points
from calibration.epipolar import TwoViews, pack_two_views, write_epipolar_distances
from calibration.triangulate import Sights, write_triangulated
from capture.packets import Blobs, Views
from config.arrays import Floats, Ints, make_read_only
from config.jit import inline_kernel, kernel
from config.settings import MatchSettings

# Costs are chi-square-like: two unpaired blobs cost as much as one pair at the edge of every tolerance together.
UNPAIRED = 16.0
MAX_COLOR, MAX_POSITION = 4.0, 6.0  # largest costs of colour and position, so that neither excludes a pair on its own
UNPREDICTED = 2.0  # additional cost of a position within the body but near no prediction


class BlobArrays(NamedTuple):
    """One camera's blobs for the kernels; fields as in `Blobs`."""

    points_px: Floats
    sigma_px: Floats
    color_rgb: Floats


class MatchLimits(NamedTuple):
    """What is a candidate, and what its differences are measured by: distances from lines, colours, predictions, the body."""

    max_epipolar_px: float
    min_depth_m: float
    max_depth_m: float
    epipolar_sigma_px: float
    color_sigma: float
    temporal_sigma_m: float
    extent_m: float


class Candidates(NamedTuple):
    """Possible pairs of blobs.

    first, second: the blobs, (C,); distance_px: from the epipolar line, (C,); point_m (C, 3), covariance_m2 (C, 3, 3): where they
    would be; depth_m: along both optical axes, their mean, (C,); cost: but for depths without a prediction, (C,).
    """

    first: Ints
    second: Ints
    distance_px: Floats
    point_m: Floats
    covariance_m2: Floats
    depth_m: Floats
    cost: Floats


class MatchedBlobs(NamedTuple):
    """Blobs that are images of one point: number in each view, (V, P), -1 for none; fields as in `Points`."""

    blob: Ints
    point_m: Floats
    covariance_m2: Floats
    epipolar_px: Floats


def find_candidates(views: Views, pair: tuple[int, int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> Candidates:
    """Return the possible pairs of blobs of two views, ordered by the first, then the second.

    Args:
        views: what the cameras saw at one time.
        pair: numbers of the two cameras.
        s: of the matching.
        predicted_m: (M, 3).
    """
    first, second = views[pair[0]], views[pair[1]]
    most = len(first) * len(second)
    limits = compute_match_limits(abs(first.t_capture_ns - second.t_capture_ns), s)
    blobs, numbers = np.empty((2, most), np.int64), np.empty((3, most))
    found = Candidates(blobs[0], blobs[1], numbers[0], np.empty((most, 3)), np.empty((most, 3, 3)), numbers[1], numbers[2])
    cameras = pack_two_views(rig.cameras[pair[0]], rig.cameras[pair[1]])
    n = _write_candidates(_arrays_from_blobs(first), _arrays_from_blobs(second), cameras, limits, predicted_m, found)
    return Candidates._make(part[:n] for part in found)


def compute_match_limits(skew_ns: int, s: MatchSettings) -> MatchLimits:
    """Return what is a candidate in two views that were taken so far apart in time."""
    return MatchLimits(
        max_epipolar_px=s.max_epipolar_px + s.skew_px_s * skew_ns * 1e-9,
        min_depth_m=s.min_depth_m,
        max_depth_m=s.max_depth_m,
        epipolar_sigma_px=s.epipolar_sigma_px,
        color_sigma=s.color_sigma,
        temporal_sigma_m=s.temporal_sigma_m,
        extent_m=s.extent_m,
    )


def _arrays_from_blobs(blobs: Blobs) -> BlobArrays:
    """Return blobs as the kernels take them."""
    return BlobArrays(make_read_only(blobs.points_px), make_read_only(blobs.sigma_px), make_read_only(blobs.color_rgb))


@kernel
def _write_candidates(
    first: BlobArrays, second: BlobArrays, views: TwoViews, limits: MatchLimits, predicted_m: Floats, found: Candidates
) -> int:
    """Write the candidates and return their number."""
    ideal_first, ideal_second = np.empty(first.points_px.shape), np.empty(second.points_px.shape)
    undistort_points(first.points_px, views.lenses[0], ideal_first)
    undistort_points(second.points_px, views.lenses[1], ideal_second)
    distance_px = np.empty((len(ideal_first), len(ideal_second)))
    write_epipolar_distances(views, ideal_first, ideal_second, distance_px)
    n = 0
    for i in range(len(ideal_first)):
        for j in range(len(ideal_second)):
            if distance_px[i, j] <= limits.max_epipolar_px:
                found.first[n], found.second[n], found.distance_px[n] = i, j, distance_px[i, j]
                n += 1
    px, ideal, sigma_px = np.empty((2, n, 2)), np.empty((2, n, 2)), np.empty((2, n))
    for k in range(n):
        i, j = found.first[k], found.second[k]
        sigma_px[0, k], sigma_px[1, k] = first.sigma_px[i], second.sigma_px[j]
        for axis in range(2):
            px[0, k, axis], px[1, k, axis] = first.points_px[i, axis], second.points_px[j, axis]
            ideal[0, k, axis], ideal[1, k, axis] = ideal_first[i, axis], ideal_second[j, axis]
    sights = Sights(px, ideal, sigma_px, np.ones((2, n), np.bool_))
    write_triangulated(views.cameras, sights, found.point_m[:n], found.covariance_m2[:n])
    n = _keep_within_depths(views, limits, found, n)
    _write_costs(first.color_rgb, second.color_rgb, limits, predicted_m, found, n)
    return n


@inline_kernel
def _keep_within_depths(views: TwoViews, limits: MatchLimits, found: Candidates, n: int) -> int:
    """Keep those of n candidates whose depths are within the limits, with these depths; return their number."""
    kept = 0
    for k in range(n):
        p, depth, within = found.point_m[k], 0.0, True
        for camera in range(2):
            c = views.cameras[camera]
            along = c[15] * p[0] + c[16] * p[1] + c[17] * p[2] + c[20]
            within = within and limits.min_depth_m <= along <= limits.max_depth_m
            depth += 0.5 * along
        if within:
            found.first[kept], found.second[kept], found.distance_px[kept] = found.first[k], found.second[k], found.distance_px[k]
            found.point_m[kept], found.covariance_m2[kept], found.depth_m[kept] = p, found.covariance_m2[k], depth
            kept += 1
    return kept


@kernel
def _write_costs(
    first_rgb: Floats, second_rgb: Floats, scales: MatchLimits, predicted_m: Floats, found: Candidates, n: int
) -> None:
    """Write the costs of n candidates, whose blobs have colours (N, 3) and (M, 3).

    Of a distance d from the epipolar line 2 log(1 + d^2 / 2 sigma^2): quadratic near 0, then slow, since unknown time skews make
    large distances common. Of colours the squared difference when both are scaled to one brightness, which differs between
    cameras. Of a position the squared distance to the nearest prediction, or to the mean of all, in standard deviations.
    """
    mean = np.zeros(3)
    for m in range(predicted_m.shape[0]):
        for i in range(3):
            mean[i] += predicted_m[m, i] / predicted_m.shape[0]
    for k in range(n):
        cost = 2.0 * math.log1p(0.5 * (found.distance_px[k] / scales.epipolar_sigma_px) ** 2)
        a, b = first_rgb[found.first[k]], second_rgb[found.second[k]]
        bright_a, bright_b = max(a[0], a[1], a[2], 1.0), max(b[0], b[1], b[2], 1.0)
        color = 0.0
        for i in range(3):
            color += (255.0 * a[i] / bright_a - 255.0 * b[i] / bright_b) ** 2
        cost += min(color / scales.color_sigma**2, MAX_COLOR)
        if predicted_m.shape[0]:
            in_body, nearest = 0.0, np.inf
            for i in range(3):
                in_body += (found.point_m[k, i] - mean[i]) ** 2
            for m in range(predicted_m.shape[0]):
                squared = 0.0
                for i in range(3):
                    squared += (found.point_m[k, i] - predicted_m[m, i]) ** 2
                nearest = min(nearest, squared)
            C = found.covariance_m2[k]
            nearest /= scales.temporal_sigma_m**2 + C[0, 0] + C[1, 1] + C[2, 2]
            cost += min(nearest, in_body / scales.extent_m**2 + UNPREDICTED, MAX_POSITION)
        found.cost[k] = cost
