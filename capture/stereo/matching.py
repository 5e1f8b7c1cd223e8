"""Correspondences between the views of one time, and their triangulated points.

Distance from the epipolar line, colour and time decide together (Chai & Hodgins 2005, sec. 3.2, take them one by one): each
possible pair of blobs costs its squared, scaled differences, each unpaired blob a constant. Two views are matched by the
assignment of least cost. In more views pairs grow into clusters with at most a blob of each view, the cheapest first, less what
blobs of other views save that pair with both.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Camera, Rig, undistort_points
from calibration.epipolar import TwoViews, two_views, write_epipolar_distances
from calibration.triangulate import Sights, write_triangulated
from capture.packets import Blobs, Points, Views
from capture.stereo.clusters import (
    grow_clusters,
    make_blob_table,
    pack_cameras,
    score_pairs,
    start_clusters,
    triangulate_clusters,
)
from config.arrays import Floats, Ints, read_only
from config.jit import kernel
from config.settings import MatchSettings

# Costs are chi-square-like: two unpaired blobs cost as much as one pair at the edge of every tolerance together.
UNPAIRED = 16.0
UNSEEN = 0.5 * UNPAIRED  # a view that does not see a point, as an unpaired blob
MAX_COLOR, MAX_POSITION = 4.0, 6.0  # largest costs of colour and position, so that neither excludes a pair on its own
MAX_DEPTHS = 48  # tried without a prediction
UNPREDICTED = 2.0  # additional cost of a position within the body but near no prediction
LIKELIER = 1.0  # by how much less two blobs must cost as images of two predicted markers than as a point, not to be one
IMPOSSIBLE = 1e6
NO_PREDICTION = read_only(np.zeros((0, 3)))
NO_MATCH = np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0)


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


def match(views: Views, rig: Rig, settings: MatchSettings, predicted_m: ArrayLike | None = None) -> Points:
    """Return the points that two cameras see at least, and the blobs that only one sees.

    predicted_m: predicted markers, (M, 3) [m] world, None or empty without a prediction. Points behind a camera or outside
    min_depth_m..max_depth_m are no candidates; with a time skew the epipolar tolerance grows by skew_px_s.
    """
    predicted = read_only(NO_PREDICTION if predicted_m is None else np.asarray(predicted_m, float).reshape(-1, 3))
    seeing = [camera for camera, blobs in enumerate(views.blobs) if blobs is not None and len(blobs)]
    if len(seeing) > 2:
        return _match_many(views, seeing, rig, settings, predicted)
    blob, parts = np.empty((len(views), 0), np.int64), NO_MATCH
    if len(seeing) == 2:
        a, b = seeing
        found = _candidates(views, (a, b), rig, settings, predicted)
        chosen = _chosen(found, len(views[a]), len(views[b]), settings, len(predicted) > 0)
        blob = np.full((len(views), len(chosen)), -1)
        blob[a], blob[b] = found.first[chosen], found.second[chosen]
        parts = found.point_m[chosen], found.covariance_m2[chosen], found.distance_px[chosen]
    return _points_of(views, blob, parts)


def _points_of(views: Views, blob: Ints, parts: tuple[Floats, Floats, Floats]) -> Points:
    """Return the points of blobs, (V, P); parts: where, covariances, and distances from epipolar lines."""
    point_m, covariance_m2, distance_px = parts
    counts = [0 if blobs is None else len(blobs) for blobs in views.blobs]
    single = tuple(complement(n, row[row >= 0]) for n, row in zip(counts, blob, strict=True))
    return Points(point_m, covariance_m2, blob, distance_px, single)


def complement(count: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from 0 to `count` - 1 that are not in `taken`, ascending."""
    free = np.ones(count, bool)
    free[taken] = False
    return free.nonzero()[0]


def _candidates(views: Views, pair: tuple[int, int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> Candidates:
    """Return the possible pairs of blobs of two views, ordered by the first, then the second; predicted_m: (M, 3)."""
    first, second = views[pair[0]], views[pair[1]]
    most = len(first) * len(second)
    limits = _limits(abs(first.t_capture_ns - second.t_capture_ns), s)
    blobs, numbers = np.empty((2, most), np.int64), np.empty((3, most))
    found = Candidates(blobs[0], blobs[1], numbers[0], np.empty((most, 3)), np.empty((most, 3, 3)), numbers[1], numbers[2])
    cameras = two_views(rig.cameras[pair[0]], rig.cameras[pair[1]])
    n = _write_candidates(_arrays_of(first), _arrays_of(second), cameras, limits, predicted_m, found)
    return Candidates._make(part[:n] for part in found)


def _limits(skew_ns: int, s: MatchSettings) -> MatchLimits:
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


def _arrays_of(blobs: Blobs) -> BlobArrays:
    """Return blobs as the kernels take them."""
    return BlobArrays(read_only(blobs.points_px), read_only(blobs.sigma_px), read_only(blobs.color_rgb))


def _chosen(found: Candidates, n_first: int, n_second: int, s: MatchSettings, predicted: bool) -> Ints:
    """Return the candidates of two views that are pairs."""
    if predicted:
        return _assigned(found.first, found.second, found.cost, n_first, n_second)
    return _assigned_at_one_depth(found, n_first, n_second, s.depth_extent_m)


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
    n = _within_depths(views, limits, found, n)
    _write_costs(first.color_rgb, second.color_rgb, limits, predicted_m, found, n)
    return n


@kernel
def _within_depths(views: TwoViews, limits: MatchLimits, found: Candidates, n: int) -> int:
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


def _assigned_at_one_depth(found: Candidates, n_first: int, n_second: int, extent_m: float) -> Ints:
    """Return the assignment of least cost over all depths of the body, without a prediction.

    Horizontal arms lie along one epipolar line, where any blob pairs with any other; only one shift has the arms at the depth of
    the legs.
    """
    best, lowest = np.zeros(0, np.int64), np.inf
    for middle in _spread(found.depth_m):
        at_depth = found.cost + np.minimum(((found.depth_m - middle) / extent_m) ** 2, MAX_POSITION)
        chosen = _assigned(found.first, found.second, at_depth, n_first, n_second)
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


def _assigned(first: Ints, second: Ints, cost: Floats, n_first: int, n_second: int) -> Ints:
    """Return the candidates of the assignment of least cost: `cost`, (C,), a pair, UNPAIRED / 2 an unpaired blob.

    Every blob has a dummy partner on the other side; two dummies pair at no cost.
    """
    matrix, partner = np.empty((n_first + n_second, n_first + n_second)), np.empty(n_first, np.int64)
    if not _each_its_cheapest(first, second, cost, matrix, partner):
        partner = linear_sum_assignment(matrix)[1]
    return np.nonzero((partner[first] == second) & (cost < UNPAIRED))[0]


@kernel
def _each_its_cheapest(first: Ints, second: Ints, cost: Floats, matrix: Floats, partner: Ints) -> bool:
    """Write the cheapest partner of each first blob, (L,), -1 for none cheap enough; return whether no two have the same one.

    No assignment costs less then. Otherwise write the costs of one with dummies, the first ones after the second blobs and
    the second ones after the first.
    """
    n_first = len(partner)
    n_second = len(matrix) - n_first
    least, taken, settled = np.full(n_first, UNPAIRED), np.zeros(n_second, np.bool_), True
    partner[:] = -1
    for k in range(len(cost)):
        if cost[k] < least[first[k]]:
            least[first[k]], partner[first[k]] = cost[k], second[k]
    for i in range(n_first):
        if partner[i] >= 0:
            settled = settled and not taken[partner[i]]
            taken[partner[i]] = True
    if settled:
        return True
    matrix[:] = IMPOSSIBLE
    matrix[n_first:, n_second:] = 0.0
    for i in range(n_first):
        matrix[i, n_second + i] = 0.5 * UNPAIRED
    for j in range(n_second):
        matrix[n_first + j, j] = 0.5 * UNPAIRED
    for k in range(len(cost)):
        matrix[first[k], second[k]] = cost[k]
    return False


class _Edges(NamedTuple):
    """Possible pairs of blobs of several views: rows of a `BlobTable`, (E,) each, and fields as in `Candidates`."""

    first: Ints
    second: Ints
    distance_px: Floats
    point_m: Floats
    cost: Floats


def _match_many(views: Views, seeing: list[int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> Points:
    """Match three views or more, `seeing` of the rig's."""
    blobs, lenses = [views[camera] for camera in seeing], [rig.cameras[camera] for camera in seeing]
    table, cameras = make_blob_table(blobs, lenses), pack_cameras(lenses)
    edges = _edges_of(views, seeing, rig, s, predicted_m)
    score, clusters = np.empty(len(edges.first)), start_clusters(len(table.camera), len(seeing))
    score_pairs(table.camera, edges.first, edges.second, edges.cost, UNSEEN, score)
    confirmed = score < edges.cost
    if len(predicted_m):
        apart = _cost_apart(blobs, lenses, edges, predicted_m, s.temporal_sigma_m)
        score = np.where(confirmed | (edges.cost < apart + LIKELIER), score, UNPAIRED)
    else:
        score = score + np.where(confirmed, 0.0, _cost_outside(edges.point_m, edges.point_m[confirmed], s.extent_m))
    order = np.argsort(score, kind="stable")
    order = order[score[order] < UNPAIRED]
    limit_px = _limits(abs(views.residual_skew_ns), s).max_epipolar_px
    grow_clusters(cameras, table, edges.first, edges.second, order, limit_px, clusters)
    member = clusters.member[clusters.member.max(axis=1) >= 0]
    blob = np.full((len(views), len(member)), -1)
    blob[seeing] = np.where(member >= 0, table.blob[member], -1).T
    return _points_of(views, blob, (*triangulate_clusters(cameras, table, member), _distances_within(edges, member)))


def _edges_of(views: Views, seeing: list[int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> _Edges:
    """Return the possible pairs of blobs of all views that are cheap enough."""
    start = dict(zip(seeing, np.cumsum([0, *(len(views[camera]) for camera in seeing)]).tolist(), strict=False))
    found = list[_Edges]()
    for a, b in combinations(seeing, 2):
        pair = _candidates(views, (a, b), rig, s, predicted_m)
        cheap = pair.cost < UNPAIRED
        first, second = pair.first[cheap] + start[a], pair.second[cheap] + start[b]
        found.append(_Edges(first, second, pair.distance_px[cheap], pair.point_m[cheap], pair.cost[cheap]))
    return _Edges._make(np.concatenate(parts) for parts in zip(*found, strict=True))


def _cost_apart(blobs: Sequence[Blobs], cameras: Sequence[Camera], edges: _Edges, predicted_m: Floats, sigma_m: float) -> Floats:
    """Return what pairs of blobs cost as images of two predicted markers, (E,): squared distances from these in their sigmas.

    A pair that no third view confirms and that costs more is most likely no point: with three views or more, lines through the
    images of different markers cross in many places of the body.

    Args:
        blobs: of each view, whose rows in their order are those of the edges.
        cameras: of these views.
        predicted_m: markers, (M, 3) [m] world.
        sigma_m: of each of them [m].
    """
    squared = np.concatenate(
        [_squared_to_images(each, camera, predicted_m, sigma_m) for each, camera in zip(blobs, cameras, strict=True)]
    )
    nearest = squared.argmin(axis=1)
    first = squared[np.arange(len(squared)), nearest]
    squared[np.arange(len(squared)), nearest] = np.inf
    second = squared.min(axis=1)
    a, b = edges.first, edges.second
    same = np.minimum(first[a] + second[b], second[a] + first[b])
    return np.asarray(np.where(nearest[a] == nearest[b], same, first[a] + first[b]))


def _squared_to_images(blobs: Blobs, camera: Camera, marker_m: Floats, sigma_m: float) -> Floats:
    """Return squared distances of blobs from the images of markers, (N, M), in sigmas of the markers."""
    depth_m = np.maximum(camera.to_camera(marker_m)[:, 2], 0.3)
    away_px = np.linalg.norm(blobs.points_px[:, None] - camera.project(marker_m)[None], axis=2)
    return np.asarray((away_px * depth_m / (camera.focal_px * sigma_m)) ** 2)


def _cost_outside(point_m: Floats, confirmed_m: Floats, extent_m: float) -> Floats:
    """Return what points, (E, 3), cost by their distance from the middle of confirmed ones, (C, 3) [m]."""
    if not len(confirmed_m):
        return np.zeros(len(point_m))
    from_body_m = np.linalg.norm(point_m - np.median(confirmed_m, axis=0), axis=1)
    return np.asarray(np.minimum((from_body_m / extent_m) ** 2 + UNPREDICTED, MAX_POSITION))


def _distances_within(edges: _Edges, member: Ints) -> Floats:
    """Return the largest distance from an epipolar line within each cluster, (P,) [px]."""
    of = np.full(int(max(edges.first.max(initial=-1), edges.second.max(initial=-1), member.max(initial=-1))) + 1, -1)
    cluster, view = np.nonzero(member >= 0)
    of[member[cluster, view]] = cluster
    within = (of[edges.first] == of[edges.second]) & (of[edges.first] >= 0)
    distance_px = np.zeros(len(member))
    np.maximum.at(distance_px, of[edges.first[within]], edges.distance_px[within])
    return distance_px


def with_rig_error(views: Views, sigma_px: float) -> Views:
    """Return views with the error of calibration and time skew added to the sigma of every blob."""
    return views.changed(lambda _, blobs: _with_error(blobs, sigma_px))


def _with_error(blobs: Blobs, sigma_px: float) -> Blobs:
    """Return blobs with an error added to each."""
    sigma = np.hypot(blobs.sigma_px, sigma_px)
    same = (blobs.camera, blobs.index, blobs.t_capture_ns, blobs.points_px, blobs.area_px, blobs.color_rgb)
    return Blobs(*same, sigma, blobs.light)
