"""Other labels of a frame that its prediction does not exclude: of points that come back, and of two markers exchanged.

Labels are the point of every marker, (M,), -1 for none; costs, (M, P), are squared sigmas of the prediction.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from capture.packets import MarkerFrame, Points
from capture.stereo.labels import ExpectedMarkers
from config.arrays import Bools, Floats, Ints

REACH_M = 1.0  # farthest that a marker seen again may be from where it was expected
LIKELY = 60.0  # by how much other labels may be less likely by the prediction, in squared sigmas, for a marker seen again
POINT_SIGMA_M = 0.02

Labels = tuple[float, Ints]  # by how much less likely by the prediction, and the point of every marker, (M,)


def points_of(frame: MarkerFrame, points: Points) -> Ints:
    """Return the point of every marker of a frame, (M,), -1 for none."""
    ours, theirs = frame.point_m[:, None], points.point_m
    same = frame.valid[:, None] & (ours[..., 0] == theirs[:, 0]) & (ours[..., 1] == theirs[:, 1]) & (ours[..., 2] == theirs[:, 2])
    choice = np.full(len(frame.valid), -1)
    markers, chosen = same.nonzero()
    choice[markers[::-1]] = chosen[::-1]  # the first of equal points
    return choice


def of_loose_points(choice: Ints, cost: Floats, known: tuple[Bools, Bools, Bools]) -> list[Labels]:
    """Return other labels of points that have none, or that of a marker that was not seen in the last frame.

    choice: point of every marker, (M,); cost: (M, P); known: which markers are hidden now and were seen in the last frame, (M,),
    and which have met, (M, M).
    """
    found = []
    hidden, seen, met = known
    for point in range(cost.shape[1]):
        owners = np.flatnonzero(choice == point)
        if len(owners) and seen[owners[0]]:
            continue
        candidates = np.flatnonzero(hidden & np.isfinite(cost[:, point]))
        usual = cost[owners[0], point] if len(owners) else cost[candidates, point].min(initial=np.inf)
        for m in candidates:
            other = np.where(choice == point, -1, choice)
            other[m] = point
            found.append((float(cost[m, point] - min(usual, 1e6)), other))
        for a in owners:
            found += [exchanged(choice, cost, int(a), int(b)) for b in np.flatnonzero((choice >= 0) & met[a]) if b != a]
    return [*_all_labelled(choice, cost, hidden), *(other for other in found if other[0] < LIKELY)]


def _all_labelled(choice: Ints, cost: Floats, hidden: Bools) -> list[Labels]:
    """Return the labels with all points that have none, two or more, as hidden markers, if they can be."""
    free, rows = np.setdiff1d(np.arange(cost.shape[1]), choice), np.flatnonzero(hidden)
    if not 2 <= len(free) <= len(rows):
        return []
    part = np.minimum(cost[np.ix_(rows, free)], 1e6)
    chosen, points = linear_sum_assignment(part)
    if part[chosen, points].max() >= 1e6:
        return []
    other = choice.copy()
    other[rows[chosen]] = free[points]
    return [(-1.0, other)]


def exchanged(choice: Ints, cost: Floats, a: int, b: int) -> Labels:
    """Return the labels with those of two markers exchanged, and by how much less likely they are."""
    other = choice.copy()
    other[[a, b]] = choice[[b, a]]
    now = min(float(cost[a, choice[a]] + cost[b, choice[b]]), 1e6)
    return float(cost[a, choice[b]] + cost[b, choice[a]]) - now, other


def point_costs(points: Points, expected: ExpectedMarkers) -> Floats:
    """Return -2 ln of the density of every point under every marker, but for a constant: (M, P), inf beyond REACH_M."""
    apart_m = np.linalg.norm(expected.point_m[:, None] - points.point_m[None], axis=2)
    variance = expected.sigma_m[:, None] ** 2 + POINT_SIGMA_M**2
    return np.where(apart_m < REACH_M, apart_m**2 / variance + 3.0 * np.log(variance), np.inf)


def exchange_labels(frame: MarkerFrame, first: int, second: int) -> MarkerFrame:
    """Return a frame with the labels of two markers exchanged."""
    order = np.arange(len(frame.valid))
    order[[first, second]] = order[[second, first]]
    return replace(
        frame,
        valid=frame.valid[order],
        point_m=frame.point_m[order],
        covariance_m2=frame.covariance_m2[order],
        seen=frame.seen[:, order],
        image_px=frame.image_px[:, order],
        sigma_px=frame.sigma_px[:, order],
        epipolar_px=frame.epipolar_px[order],
    )
