"""Where points stand still for a while, found without labels.

Points of neighbouring frames are linked only where they hardly moved: a walking body is lost from one frame to the next, and a
foot on the floor stays one track for as long as it stands. Where a rig measures badly, in depth, points may differ by their
uncertainty.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints
from database.clips import find_runs

LINK_M_S = 0.4  # points that move faster are not linked
LINK_SIGMAS = 3.5
GAP_S = 0.12  # after its last point a track is closed
WINDOW_S = 0.12  # over which a speed is measured
STILL_M_S = 0.10  # slower is still, within the uncertainty
STILL_SIGMAS2 = 11.0  # squared, of a velocity in three dimensions
MIN_DWELL_S = 0.1
NEAR_SIGMAS = 3.0
MAX_DWELL_S = 1.0  # longer dwells are split


@dataclass(frozen=True, slots=True)
class PointFrame:
    """What both cameras see at one time: points (N, 3) [m] with covariances (N, 3, 3) [m^2]."""

    t_s: float
    points_m: Floats
    covariance_m2: Floats


@dataclass(frozen=True, slots=True)
class Dwells:
    """Points that stood still: means, (D, 3) [m], their covariances, (D, 3, 3), start and duration, (D,) [s]."""

    points_m: Floats
    covariance_m2: Floats
    start_s: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)


def merge_dwells(dwells: Dwells, near_m: float) -> Dwells:
    """Merge dwells that are near each other.

    Means weighted by their certainty; start: of the first; seconds: of all together.
    """
    groups: list[list[int]] = []
    for k in np.argsort(dwells.start_s):
        group = next((group for group in groups if _is_near(dwells, group[0], int(k), near_m)), None)
        if group is None:
            groups.append([int(k)])
        else:
            group.append(int(k))
    if not groups:
        return dwells
    means = [compute_weighted_mean(dwells.points_m[group], dwells.covariance_m2[group]) for group in groups]
    points, covariances = (np.array(part) for part in zip(*means, strict=True))
    start = np.array([dwells.start_s[group].min() for group in groups])
    return Dwells(points, covariances, start, np.array([dwells.seconds[group].sum() for group in groups]))


def _is_near(dwells: Dwells, a: int, b: int, near_m: float) -> bool:
    """Return whether two dwells may be at one position: within near_m, given their uncertainty."""
    offset = dwells.points_m[a] - dwells.points_m[b]
    spread = dwells.covariance_m2[a] + dwells.covariance_m2[b] + (near_m / NEAR_SIGMAS) ** 2 * np.eye(3)
    return bool(offset @ np.linalg.solve(spread, offset) < NEAR_SIGMAS**2)


def compute_weighted_mean(points_m: Floats, covariance_m2: Floats) -> tuple[Floats, Floats]:
    """Return the mean of measurements of one point, and its covariance."""
    W = np.linalg.inv(covariance_m2)
    C = np.linalg.inv(W.sum(axis=0))
    return np.asarray(C @ np.einsum("nij,nj->i", W, points_m)), np.asarray(C)


@dataclass(slots=True)
class _Track:
    """A point that hardly moves, over frames."""

    t_s: list[float]
    points: list[Floats]
    covariances: list[Floats]


def find_dwells(frames: Iterable[PointFrame]) -> Dwells:
    """Return every dwell of every point; frames in order of time."""
    found = [dwell for track in _link_points(frames) for dwell in _find_track_dwells(track)]
    if not found:
        return Dwells(np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0))
    points, covariances, start, seconds = zip(*found, strict=True)
    return Dwells(np.array(points), np.array(covariances), np.array(start), np.array(seconds))


def _link_points(frames: Iterable[PointFrame]) -> list[_Track]:
    """Link points that hardly move."""
    alive: list[_Track] = []
    done: list[_Track] = []
    for frame in frames:
        late = [track for track in alive if frame.t_s - track.t_s[-1] > GAP_S]
        done += late
        alive = [track for track in alive if frame.t_s - track.t_s[-1] <= GAP_S]
        taken = _match_nearest(alive, frame)
        for point in range(len(frame.points_m)):
            if taken[point] < 0:
                alive.append(_Track([], [], []))
            track = alive[taken[point]] if taken[point] >= 0 else alive[-1]
            track.t_s.append(frame.t_s)
            track.points.append(frame.points_m[point])
            track.covariances.append(frame.covariance_m2[point])
    return [track for track in done + alive if track.t_s[-1] - track.t_s[0] >= MIN_DWELL_S]


def _match_nearest(alive: list[_Track], frame: PointFrame) -> Ints:
    """Return for each point the track that is its mutual nearest neighbour, -1 for none, (N,)."""
    result = np.full(len(frame.points_m), -1, np.int64)
    if not alive or not len(result):
        return result
    last = np.array([track.points[-1] for track in alive])
    C = np.array([track.covariances[-1] for track in alive])
    dt = np.array([frame.t_s - track.t_s[-1] for track in alive])
    offset = frame.points_m[None] - last[:, None]
    spread = C[:, None] + frame.covariance_m2[None] + (LINK_M_S / 3.0 * dt[:, None, None, None]) ** 2 * np.eye(3)
    d2 = np.einsum("tni,tni->tn", offset, np.linalg.solve(spread, offset[..., None])[..., 0])
    nearest = d2.argmin(axis=0)
    mutual = d2.argmin(axis=1)[nearest] == np.arange(len(result))
    good = mutual & (d2[nearest, np.arange(len(result))] < LINK_SIGMAS**2)
    result[good] = nearest[good]
    return result


def _find_track_dwells(track: _Track) -> list[tuple[Floats, Floats, float, float]]:
    """Return the dwells of a track: mean, covariance of the mean, start, duration."""
    t, x, C = np.array(track.t_s), np.array(track.points), np.array(track.covariances)
    still = _find_still(t, x, C)
    dwells = []
    for first, stop in find_runs(still):
        last = stop - 1
        if t[last] - t[first] < MIN_DWELL_S:
            continue
        cuts = np.searchsorted(t, np.arange(t[first], t[last], MAX_DWELL_S))
        for begin, end in zip(cuts, [*(cuts[1:] - 1), last], strict=True):
            if t[end] - t[begin] < MIN_DWELL_S:
                continue
            mean, mean_C = compute_weighted_mean(x[begin : end + 1], C[begin : end + 1])
            dwells.append((mean, mean_C, float(t[begin]), float(t[end] - t[begin])))
    return dwells


def _find_still(t: Floats, x: Floats, C: Floats) -> Bools:
    """Return where a track is still, (N,): its velocity over a window is next to nothing, within the uncertainty."""
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
