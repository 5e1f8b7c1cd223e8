"""Where points stand still for a while, told without knowing which marker a point is.

Points of neighbouring moments are linked only where they hardly moved: whoever walks is lost from one moment to the next, and a
foot on the floor stays one track as long as it stands. What a rig knows badly, depth, may differ by as much as it is uncertain.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats

LINK_M_S = 0.4  # points that move faster are not linked
LINK_SIGMAS = 3.5
GAP_S = 0.12  # a track outlives its last point by this
WINDOW_S = 0.12  # over which a speed is measured
STILL_M_S = 0.10  # slower is still, as far as that can be told
STILL_SIGMAS2 = 11.0  # squared, of a velocity in three dimensions
LEAST_S = 0.1
NEAR_SIGMAS = 3.0
LONGEST_S = 1.0  # whoever stands for long is told of every second


@dataclass(frozen=True, slots=True)
class Moment:
    """What both cameras see at one time: points (N, 3) [m] with covariances (N, 3, 3) [m^2]."""

    t_s: float
    points_m: Floats
    covariance_m2: Floats


@dataclass(frozen=True, slots=True)
class Dwells:
    """Points that stood still: where, (D, 3) [m], with covariances of the means, (D, 3, 3), since when and how long, (D,) [s]."""

    points_m: Floats
    covariance_m2: Floats
    start_s: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)


def gathered(dwells: Dwells, near_m: float) -> Dwells:
    """Give stays of which those near each other are one: whoever stands for long tells of one place only.

    Means weighted by their certainty; start: of the first; seconds: of all together.
    """
    groups: list[list[int]] = []
    for k in np.argsort(dwells.start_s):
        group = next((group for group in groups if _are_near(dwells, group[0], int(k), near_m)), None)
        if group is None:
            groups.append([int(k)])
        else:
            group.append(int(k))
    if not groups:
        return dwells
    means = [weighted_mean(dwells.points_m[group], dwells.covariance_m2[group]) for group in groups]
    points, covariances = (np.array(part) for part in zip(*means, strict=True))
    start = np.array([dwells.start_s[group].min() for group in groups])
    return Dwells(points, covariances, start, np.array([dwells.seconds[group].sum() for group in groups]))


def _are_near(dwells: Dwells, a: int, b: int, near_m: float) -> bool:
    """Tell whether two stays may be in one place: within near_m, as far as that can be told."""
    way = dwells.points_m[a] - dwells.points_m[b]
    spread = dwells.covariance_m2[a] + dwells.covariance_m2[b] + (near_m / NEAR_SIGMAS) ** 2 * np.eye(3)
    return bool(way @ np.linalg.solve(spread, way) < NEAR_SIGMAS**2)


def weighted_mean(points_m: Floats, covariance_m2: Floats) -> tuple[Floats, Floats]:
    """Give the mean of measurements of one point, and its covariance."""
    W = np.linalg.inv(covariance_m2)
    C = np.linalg.inv(W.sum(axis=0))
    return np.asarray(C @ np.einsum("nij,nj->i", W, points_m)), np.asarray(C)


@dataclass(slots=True)
class _Track:
    """A point that hardly moves, from moment to moment."""

    t_s: list[float]
    points: list[Floats]
    covariances: list[Floats]


def dwells_of(moments: Iterable[Moment]) -> Dwells:
    """Give every stay of every point; moments in order of time."""
    found = [stay for track in _tracks(moments) for stay in _stays(track)]
    if not found:
        return Dwells(np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0))
    points, covariances, start, seconds = zip(*found, strict=True)
    return Dwells(np.array(points), np.array(covariances), np.array(start), np.array(seconds))


def _tracks(moments: Iterable[Moment]) -> list[_Track]:
    """Link what hardly moves."""
    alive: list[_Track] = []
    done: list[_Track] = []
    for moment in moments:
        late = [track for track in alive if moment.t_s - track.t_s[-1] > GAP_S]
        done += late
        alive = [track for track in alive if moment.t_s - track.t_s[-1] <= GAP_S]
        taken = _linked(alive, moment)
        for point in range(len(moment.points_m)):
            if taken[point] < 0:
                alive.append(_Track([], [], []))
            track = alive[taken[point]] if taken[point] >= 0 else alive[-1]
            track.t_s.append(moment.t_s)
            track.points.append(moment.points_m[point])
            track.covariances.append(moment.covariance_m2[point])
    return [track for track in done + alive if track.t_s[-1] - track.t_s[0] >= LEAST_S]


def _linked(alive: list[_Track], moment: Moment) -> NDArray[np.int64]:
    """Give for each point the track whose last point and itself are each other's nearest, -1 for none, (N,)."""
    result = np.full(len(moment.points_m), -1, np.int64)
    if not alive or not len(result):
        return result
    last = np.array([track.points[-1] for track in alive])
    C = np.array([track.covariances[-1] for track in alive])
    dt = np.array([moment.t_s - track.t_s[-1] for track in alive])
    way = moment.points_m[None] - last[:, None]
    spread = C[:, None] + moment.covariance_m2[None] + (LINK_M_S / 3.0 * dt[:, None, None, None]) ** 2 * np.eye(3)
    d2 = np.einsum("tni,tni->tn", way, np.linalg.solve(spread, way[..., None])[..., 0])
    nearest = d2.argmin(axis=0)
    mutual = d2.argmin(axis=1)[nearest] == np.arange(len(result))
    good = mutual & (d2[nearest, np.arange(len(result))] < LINK_SIGMAS**2)
    result[good] = nearest[good]
    return result


def _stays(track: _Track) -> list[tuple[Floats, Floats, float, float]]:
    """Give the stretches of a track in which it stands still: mean, covariance of the mean, start, duration."""
    t, x, C = np.array(track.t_s), np.array(track.points), np.array(track.covariances)
    still = _still(t, x, C)
    stays = []
    for first, last in _runs(still):
        if t[last] - t[first] < LEAST_S:
            continue
        cuts = np.searchsorted(t, np.arange(t[first], t[last], LONGEST_S))
        for begin, end in zip(cuts, [*(cuts[1:] - 1), last], strict=True):
            if t[end] - t[begin] < LEAST_S:
                continue
            mean, mean_C = weighted_mean(x[begin : end + 1], C[begin : end + 1])
            stays.append((mean, mean_C, float(t[begin]), float(t[end] - t[begin])))
    return stays


def _still(t: Floats, x: Floats, C: Floats) -> NDArray[np.bool_]:
    """Tell where a track is still: its velocity over a window around is next to nothing, as far as that can be told, (N,)."""
    result = np.zeros(len(t), bool)
    for k in range(len(t)):
        near = np.abs(t - t[k]) <= 0.5 * WINDOW_S + 1e-9
        if near.sum() < 3:
            continue
        s = t[near] - t[near].mean()
        total = float(s @ s)
        velocity = s @ x[near] / total
        spread = np.einsum("n,nij->ij", s * s, C[near]) / total**2 + STILL_M_S**2 * np.eye(3) / 3.0
        result[k] = velocity @ np.linalg.solve(spread, velocity) < STILL_SIGMAS2
    return result


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Give first and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
