"""Correspondences between two views as one assignment, and their triangulated points.

Distance from the epipolar line, colour and time decide together (Chai & Hodgins 2005, sec. 3.2, take them one by one): each
possible pair costs its squared, scaled differences, each unpaired blob a constant, and the assignment of least cost is taken.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Rig, undistort_points
from calibration.epipolar import TwoViews, two_views, write_epipolar_distances
from calibration.triangulate import _triangulate
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
NO_PREDICTION = read_only(np.zeros((0, 3)))


class View(NamedTuple):
    """One camera's blobs for the kernels; fields as in `Blobs`."""

    points_px: Floats
    sigma_px: Floats
    color_rgb: Floats


class Limits(NamedTuple):
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

    left, right: the blobs, (C,); distance_px: from the epipolar line, (C,); point_m (C, 3), covariance_m2 (C, 3, 3): where they
    would be; depth_m: along both optical axes, their mean, (C,); cost: but for depths without a prediction, (C,).
    """

    left: Ints
    right: Ints
    distance_px: Floats
    point_m: Floats
    covariance_m2: Floats
    depth_m: Floats
    cost: Floats


def match(pair: PairedBlobs, rig: Rig, settings: MatchSettings, predicted_m: ArrayLike | None = None) -> Points:
    """Return the points that both cameras see, and the blobs that only one sees.

    predicted_m: predicted markers, (M, 3) [m] world, None or empty without a prediction. Points behind a camera or outside
    min_depth_m..max_depth_m are no candidates; with a time skew the epipolar tolerance grows by skew_px_s.
    """
    n_left, n_right = len(pair.left), len(pair.right)
    predicted = read_only(NO_PREDICTION if predicted_m is None else np.asarray(predicted_m, float).reshape(-1, 3))
    found = _candidates(pair, rig, settings, predicted)
    if len(predicted):
        chosen = _assigned(found.left, found.right, found.cost, n_left, n_right)
    else:
        chosen = _assigned_at_one_depth(found, n_left, n_right, settings.depth_extent_m)
    left, right = found.left[chosen], found.right[chosen]
    point, covariance, distance = found.point_m[chosen], found.covariance_m2[chosen], found.distance_px[chosen]
    return Points(point, covariance, left, right, distance, complement(n_left, left), complement(n_right, right))


def complement(count: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from 0 to `count` - 1 that are not in `taken`, ascending."""
    free = np.ones(count, bool)
    free[taken] = False
    return free.nonzero()[0]


def _candidates(pair: PairedBlobs, rig: Rig, s: MatchSettings, predicted_m: Floats) -> Candidates:
    """Return the possible pairs of blobs, in the order of the left ones and then of the right ones; predicted_m: (M, 3)."""
    most = len(pair.left) * len(pair.right)
    tolerance = s.max_epipolar_px + s.skew_px_s * abs(pair.residual_skew_ns) * 1e-9
    scales = (s.epipolar_sigma_px, s.color_sigma, s.temporal_sigma_m, s.extent_m)
    left, right = np.empty((2, most), np.int64)
    distance_px, depth_m, cost = np.empty((3, most))
    found = Candidates(left, right, distance_px, np.empty((most, 3)), np.empty((most, 3, 3)), depth_m, cost)
    limits = Limits(tolerance, s.min_depth_m, s.max_depth_m, *scales)
    n = _write_candidates(_view(pair.left), _view(pair.right), two_views(rig), limits, predicted_m, found)
    return Candidates._make(part[:n] for part in found)


def _view(blobs: Blobs) -> View:
    """Return blobs as the kernels take them."""
    return View(read_only(blobs.points_px), read_only(blobs.sigma_px), read_only(blobs.color_rgb))


@kernel
def _write_candidates(left: View, right: View, views: TwoViews, limits: Limits, predicted_m: Floats, found: Candidates) -> int:
    """Write the candidates and return their number."""
    ideal_left, ideal_right = np.empty(left.points_px.shape), np.empty(right.points_px.shape)
    undistort_points(left.points_px, views.lenses[0], ideal_left)
    undistort_points(right.points_px, views.lenses[1], ideal_right)
    distance_px = np.empty((len(ideal_left), len(ideal_right)))
    write_epipolar_distances(views, ideal_left, ideal_right, distance_px)
    n = 0
    for i in range(len(ideal_left)):
        for j in range(len(ideal_right)):
            if distance_px[i, j] <= limits.max_epipolar_px:
                found.left[n], found.right[n], found.distance_px[n] = i, j, distance_px[i, j]
                n += 1
    px, ideal, sigma_px = np.empty((2, n, 2)), np.empty((2, n, 2)), np.empty((2, n))
    for k in range(n):
        i, j = found.left[k], found.right[k]
        sigma_px[0, k], sigma_px[1, k] = left.sigma_px[i], right.sigma_px[j]
        for axis in range(2):
            px[0, k, axis], px[1, k, axis] = left.points_px[i, axis], right.points_px[j, axis]
            ideal[0, k, axis], ideal[1, k, axis] = ideal_left[i, axis], ideal_right[j, axis]
    _triangulate(views.cameras, px, ideal, sigma_px, found.point_m[:n], found.covariance_m2[:n])
    n = _within_depths(views, limits, found, n)
    _write_costs(left.color_rgb, right.color_rgb, limits, predicted_m, found, n)
    return n


@kernel
def _within_depths(views: TwoViews, limits: Limits, found: Candidates, n: int) -> int:
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
            found.left[kept], found.right[kept], found.distance_px[kept] = found.left[k], found.right[k], found.distance_px[k]
            found.point_m[kept], found.covariance_m2[kept], found.depth_m[kept] = p, found.covariance_m2[k], depth
            kept += 1
    return kept


@kernel
def _write_costs(left_rgb: Floats, right_rgb: Floats, scales: Limits, predicted_m: Floats, found: Candidates, n: int) -> None:
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
        a, b = left_rgb[found.left[k]], right_rgb[found.right[k]]
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


def _assigned_at_one_depth(found: Candidates, n_left: int, n_right: int, extent_m: float) -> Ints:
    """Return the assignment of least cost over all depths of the body, without a prediction.

    Horizontal arms lie along one epipolar line, where any blob pairs with any other; only one shift has the arms at the depth of
    the legs.
    """
    best, lowest = np.zeros(0, np.int64), np.inf
    for middle in _spread(found.depth_m):
        at_depth = found.cost + np.minimum(((found.depth_m - middle) / extent_m) ** 2, MAX_POSITION)
        chosen = _assigned(found.left, found.right, at_depth, n_left, n_right)
        total = float((at_depth[chosen] - UNPAIRED).sum())
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


def _assigned(left: Ints, right: Ints, cost: Floats, n_left: int, n_right: int) -> Ints:
    """Return the candidates of the assignment of least cost: `cost`, (C,), a pair, UNPAIRED / 2 an unpaired blob.

    Every blob has a dummy partner on the other side; two dummies pair at no cost.
    """
    matrix, partner = np.empty((n_left + n_right, n_left + n_right)), np.empty(n_left, np.int64)
    if not _each_its_cheapest(left, right, cost, matrix, partner):
        partner = linear_sum_assignment(matrix)[1]
    return np.nonzero((partner[left] == right) & (cost < UNPAIRED))[0]


@kernel
def _each_its_cheapest(left: Ints, right: Ints, cost: Floats, matrix: Floats, partner: Ints) -> bool:
    """Write the cheapest partner of each left blob, (L,), -1 for none cheap enough; return whether no two have the same one.

    No assignment costs less then. Otherwise write the costs of one with dummies, the left ones after the right blobs and the
    right ones after the left.
    """
    n_left = len(partner)
    n_right = len(matrix) - n_left
    least, taken, settled = np.full(n_left, UNPAIRED), np.zeros(n_right, np.bool_), True
    partner[:] = -1
    for k in range(len(cost)):
        if cost[k] < least[left[k]]:
            least[left[k]], partner[left[k]] = cost[k], right[k]
    for i in range(n_left):
        if partner[i] >= 0:
            settled = settled and not taken[partner[i]]
            taken[partner[i]] = True
    if settled:
        return True
    matrix[:] = IMPOSSIBLE
    matrix[n_left:, n_right:] = 0.0
    for i in range(n_left):
        matrix[i, n_right + i] = 0.5 * UNPAIRED
    for j in range(n_right):
        matrix[n_left + j, j] = 0.5 * UNPAIRED
    for k in range(len(cost)):
        matrix[left[k], right[k]] = cost[k]
    return False


def with_rig_error(pair: PairedBlobs, sigma_px: float) -> PairedBlobs:
    """Return a pair with the error of calibration and time skew added to the sigma of every blob."""
    left, right = (_with_error(blobs, sigma_px) for blobs in (pair.left, pair.right))
    return PairedBlobs(left, right, pair.measured_skew_ns)


def _with_error(blobs: Blobs, sigma_px: float) -> Blobs:
    """Return blobs with an error added to each."""
    sigma = np.hypot(blobs.sigma_px, sigma_px)
    same = (blobs.camera, blobs.index, blobs.t_capture_ns, blobs.points_px, blobs.area_px, blobs.color_rgb)
    return Blobs(*same, sigma, blobs.light)
