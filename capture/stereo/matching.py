"""Correspondences between the views of one time, and their triangulated points.

Two views are matched by the assignment of least cost, an unpaired blob costing a constant. In more views pairs grow into clusters
with at most a blob of each view (`clusters`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Rig
from capture.packets import Points, Views
from capture.stereo.candidates import MAX_POSITION, UNPAIRED, Candidates, MatchedBlobs, find_candidates
from capture.stereo.clusters import match_clusters
from config.arrays import Floats, Ints, make_read_only
from config.jit import kernel
from config.settings import MatchSettings

MAX_DEPTHS = 48  # tried without a prediction
IMPOSSIBLE = 1e6
NO_PREDICTION = make_read_only(np.zeros((0, 3)))


def match(views: Views, rig: Rig, settings: MatchSettings, predicted_m: ArrayLike | None = None) -> Points:
    """Return the points that two cameras see at least, and the blobs that only one sees.

    Points behind a camera or outside min_depth_m..max_depth_m are no candidates; with a time skew the epipolar tolerance grows
    by skew_px_s.

    Args:
        views: what the cameras saw at one time.
        predicted_m: predicted markers, (M, 3) world [m]; None or empty: no prediction.
    """
    predicted = make_read_only(NO_PREDICTION if predicted_m is None else np.asarray(predicted_m, float).reshape(-1, 3))
    seeing = [camera for camera, blobs in enumerate(views.blobs) if blobs is not None and len(blobs)]
    if len(seeing) > 2:
        matched = match_clusters(views, seeing, rig, settings, predicted)
    elif len(seeing) == 2:
        matched = _match_two(views, (seeing[0], seeing[1]), rig, settings, predicted)
    else:
        matched = MatchedBlobs(np.empty((len(views), 0), np.int64), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0))
    counts = [0 if blobs is None else len(blobs) for blobs in views.blobs]
    single = tuple(list_untaken(n, row[row >= 0]) for n, row in zip(counts, matched.blob, strict=True))
    return Points(matched.point_m, matched.covariance_m2, matched.blob, matched.epipolar_px, single)


def _match_two(views: Views, pair: tuple[int, int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> MatchedBlobs:
    """Match two views of the rig's."""
    a, b = pair
    found = find_candidates(views, pair, rig, s, predicted_m)
    if len(predicted_m):
        chosen = assign_candidates(found.first, found.second, found.cost, len(views[a]), len(views[b]))
    else:
        chosen = _assign_at_one_depth(found, len(views[a]), len(views[b]), s.depth_extent_m)
    blob = np.full((len(views), len(chosen)), -1)
    blob[a], blob[b] = found.first[chosen], found.second[chosen]
    return MatchedBlobs(blob, found.point_m[chosen], found.covariance_m2[chosen], found.distance_px[chosen])


def list_untaken(count: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from 0 to `count` - 1 that are not in `taken`, ascending."""
    free = np.ones(count, bool)
    free[taken] = False
    return free.nonzero()[0]


def _assign_at_one_depth(found: Candidates, n_first: int, n_second: int, extent_m: float) -> Ints:
    """Return the assignment of least cost over all depths of the body, without a prediction.

    Horizontal arms lie along one epipolar line, where any blob pairs with any other; only one shift has the arms at the depth of
    the legs.
    """
    best, lowest = np.zeros(0, np.int64), np.inf
    for middle in _spread_depths(found.depth_m):
        at_depth = found.cost + np.minimum(((found.depth_m - middle) / extent_m) ** 2, MAX_POSITION)
        chosen = assign_candidates(found.first, found.second, at_depth, n_first, n_second)
        total = float((at_depth[chosen] - UNPAIRED).sum())
        if total < lowest:
            best, lowest = chosen, total
    return best


def _spread_depths(depth_m: Floats) -> Floats:
    """Return at most MAX_DEPTHS depths, evenly spaced in rank."""
    ranked = np.sort(depth_m)
    return (
        ranked[np.unique(np.linspace(0, len(ranked) - 1, min(MAX_DEPTHS, len(ranked))).astype(np.int64))]
        if len(ranked)
        else ranked
    )


def assign_candidates(first: Ints, second: Ints, cost: Floats, n_first: int, n_second: int) -> Ints:
    """Return the candidates of the assignment of least cost: `cost`, (C,), a pair, UNPAIRED / 2 an unpaired blob.

    Every blob has a dummy partner on the other side; two dummies pair at no cost.
    """
    matrix, partner = np.empty((n_first + n_second, n_first + n_second)), np.empty(n_first, np.int64)
    if not _choose_cheapest_partners(first, second, cost, matrix, partner):
        partner = linear_sum_assignment(matrix)[1]
    return np.nonzero((partner[first] == second) & (cost < UNPAIRED))[0]


@kernel
def _choose_cheapest_partners(first: Ints, second: Ints, cost: Floats, matrix: Floats, partner: Ints) -> bool:
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


def add_rig_error(views: Views, sigma_px: float) -> Views:
    """Return views with the error of calibration and time skew added to the sigma of every blob."""
    return views.changed(lambda _, blobs: replace(blobs, sigma_px=np.hypot(blobs.sigma_px, sigma_px)))
