"""Correspondences between two views as one assignment, and their triangulated points.

Distance from the epipolar line, colour and time decide together (Chai & Hodgins 2005, sec. 3.2, take them one by one): each
possible pair costs its squared, scaled differences, each unpaired blob a constant, and the assignment of least cost is taken.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Rig
from calibration.epipolar import epipolar_distances
from calibration.triangulate import depths_m, triangulate
from capture.packets import Blobs, PairedBlobs, Points
from config.arrays import Floats, Ints, read_only
from config.jit import kernel
from config.settings import MatchSettings

# Costs are chi-square-like: two unpaired blobs cost as much as one pair at the edge of every tolerance together.
UNPAIRED = 16.0
MAX_COLOR, MAX_POSITION = 4.0, 6.0  # largest costs of colour and position, so that neither excludes a pair on its own
MAX_DEPTHS = 48  # tried without a prediction
UNPREDICTED = 2.0  # additional cost of a position within the body but near no prediction
IMPOSSIBLE = 1e6


def match(pair: PairedBlobs, rig: Rig, settings: MatchSettings, predicted_m: ArrayLike | None = None) -> Points:
    """Return the points that both cameras see, and the blobs that only one sees.

    predicted_m: predicted markers, (M, 3) [m] world, None or empty without a prediction. Points behind a camera or outside
    min_depth_m..max_depth_m are no candidates; with a time skew the epipolar tolerance grows by skew_px_s.
    """
    left, right = pair.left, pair.right
    distance = epipolar_distances(rig, left.points_px, right.points_px)
    tolerance = settings.max_epipolar_px + settings.skew_px_s * abs(pair.residual_skew_ns) * 1e-9
    i, j = np.nonzero(distance <= tolerance)
    point, covariance = triangulate(rig, left.points_px[i], right.points_px[j], left.sigma_px[i], right.sigma_px[j])
    depth = depths_m(rig, point)
    sane = ((depth >= settings.min_depth_m) & (depth <= settings.max_depth_m)).all(axis=0)
    i, j, point, covariance = i[sane], j[sane], point[sane], covariance[sane]
    predicted = read_only(np.zeros((0, 3)) if predicted_m is None else np.asarray(predicted_m, float).reshape(-1, 3))
    cost = _costs(pair, i, j, distance[i, j], (point, covariance), predicted, settings)
    if len(predicted):
        chosen = _assigned(i, j, cost, len(left), len(right))[0]
    else:
        chosen = _assigned_at_one_depth(i, j, cost, depth[:, sane].mean(axis=0), settings.depth_extent_m)
    return Points(
        np.ascontiguousarray(point[chosen]),
        np.ascontiguousarray(covariance[chosen]),
        i[chosen],
        j[chosen],
        distance[i[chosen], j[chosen]],
        complement(len(left), i[chosen]),
        complement(len(right), j[chosen]),
    )


def complement(count: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from 0 to `count` - 1 that are not in `taken`, ascending."""
    free = np.ones(count, bool)
    free[taken] = False
    return np.flatnonzero(free)


def _costs(
    pair: PairedBlobs, i: Ints, j: Ints, distance_px: Floats, points: tuple[Floats, Floats], predicted_m: Floats, s: MatchSettings
) -> Floats:
    """Return the costs of candidates but for depths without a prediction, (C,).

    i, j: the blobs, (C,); distance_px: from the epipolar line, (C,); points: positions (C, 3) [m] and covariances (C, 3, 3);
    predicted_m: (M, 3).
    """
    cost = np.empty(len(i))
    scales = CostScales(s.epipolar_sigma_px, s.color_sigma, s.temporal_sigma_m, s.extent_m)
    colors = read_only(pair.left.color_rgb[i]), read_only(pair.right.color_rgb[j])
    _candidate_costs(distance_px, *colors, *points, predicted_m, scales, cost)
    return cost


class CostScales(NamedTuple):
    """What a difference is measured by: distances from lines, colours without brightness, predictions, the body's extent."""

    epipolar_px: float
    color: float
    temporal_m: float
    extent_m: float


@kernel
def _candidate_costs(
    distance_px: Floats,
    left_rgb: Floats,
    right_rgb: Floats,
    point_m: Floats,
    covariance_m2: Floats,
    predicted_m: Floats,
    scales: CostScales,
    cost: Floats,
) -> None:
    """Write the costs of candidates, (C,).

    Of a distance d from the epipolar line 2 log(1 + d^2 / 2 sigma^2): quadratic near 0, then slow, since unknown time skews make
    large distances common. Of colours the squared difference when both are scaled to one brightness, which differs between
    cameras. Of a position the squared distance to the nearest prediction, or to the mean of all, in standard deviations.
    """
    mean = np.zeros(3)
    for m in range(predicted_m.shape[0]):
        for i in range(3):
            mean[i] += predicted_m[m, i] / predicted_m.shape[0]
    for n in range(cost.shape[0]):
        cost[n] = 2.0 * math.log1p(0.5 * (distance_px[n] / scales.epipolar_px) ** 2)
        a, b = left_rgb[n], right_rgb[n]
        bright_a, bright_b = max(a[0], a[1], a[2], 1.0), max(b[0], b[1], b[2], 1.0)
        color = 0.0
        for i in range(3):
            color += (255.0 * a[i] / bright_a - 255.0 * b[i] / bright_b) ** 2
        cost[n] += min(color / scales.color**2, MAX_COLOR)
        if not predicted_m.shape[0]:
            continue
        in_body, nearest = 0.0, np.inf
        for i in range(3):
            in_body += (point_m[n, i] - mean[i]) ** 2
        for m in range(predicted_m.shape[0]):
            squared = 0.0
            for i in range(3):
                squared += (point_m[n, i] - predicted_m[m, i]) ** 2
            nearest = min(nearest, squared)
        own = covariance_m2[n, 0, 0] + covariance_m2[n, 1, 1] + covariance_m2[n, 2, 2]
        nearest /= scales.temporal_m**2 + own
        cost[n] += min(nearest, in_body / scales.extent_m**2 + UNPREDICTED, MAX_POSITION)


def _assigned_at_one_depth(
    i: NDArray[np.int64], j: NDArray[np.int64], cost: Floats, depth_m: Floats, extent_m: float
) -> NDArray[np.int64]:
    """Return the assignment of least cost over all depths of the body, without a prediction.

    Horizontal arms lie along one epipolar line, where any blob pairs with any other; only one shift has the arms at the depth of
    the legs.
    """
    best, lowest = np.zeros(0, np.int64), np.inf
    for middle in _spread(depth_m):
        at_depth = cost + np.minimum(((depth_m - middle) / extent_m) ** 2, MAX_POSITION)
        chosen, total = _assigned(i, j, at_depth, int(i.max(initial=-1)) + 1, int(j.max(initial=-1)) + 1)
        if total < lowest:
            best, lowest = chosen, total
    return best


def _spread(depth_m: Floats) -> Floats:
    """Return at most MAX_DEPTHS depths, evenly spaced in rank."""
    ranked = np.sort(depth_m)
    return (
        ranked[np.unique(np.linspace(0, len(ranked) - 1, min(MAX_DEPTHS, len(ranked))).astype(np.int64))]
        if len(ranked)
        else ranked
    )


def _assigned(
    i: NDArray[np.int64], j: NDArray[np.int64], cost: Floats, n_left: int, n_right: int
) -> tuple[NDArray[np.int64], float]:
    """Return the candidates of the assignment of least cost, and its cost: `cost` a pair (i, j), UNPAIRED / 2 an unpaired blob.

    Every blob has a dummy partner on the other side; two dummies pair at no cost.
    """
    n = n_left + n_right
    matrix = np.full((n, n), IMPOSSIBLE)
    matrix[i, j] = cost
    matrix[np.arange(n_left), n_right + np.arange(n_left)] = 0.5 * UNPAIRED
    matrix[n_left + np.arange(n_right), np.arange(n_right)] = 0.5 * UNPAIRED
    matrix[n_left:, n_right:] = 0.0
    rows, columns = linear_sum_assignment(matrix)
    partner = np.full(n, -1)
    partner[rows] = columns
    return np.nonzero((partner[i] == j) & (cost < UNPAIRED))[0], float(matrix[rows, columns].sum())


def with_rig_error(pair: PairedBlobs, sigma_px: float) -> PairedBlobs:
    """Return a pair with the error of calibration and time skew added to the sigma of every blob."""
    left, right = (_with_error(blobs, sigma_px) for blobs in (pair.left, pair.right))
    return PairedBlobs(left, right, pair.measured_skew_ns)


def _with_error(blobs: Blobs, sigma_px: float) -> Blobs:
    """Return blobs with an error added to each."""
    sigma = np.hypot(blobs.sigma_px, sigma_px)
    same = (blobs.camera, blobs.index, blobs.t_capture_ns, blobs.points_px, blobs.area_px, blobs.color_rgb)
    return Blobs(*same, sigma, blobs.light)
