"""Points of a take joined to tracks: what is one marker for as long as both cameras see it, whatever its label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from capture.packets import Points
from config.arrays import Bools, Floats, Ints

STEP_SIGMA_M, STEP_SHARE = 0.01, 0.35  # of a point against the body near it: at least, and as a share of that body's motion
GATE2 = 16.0  # squared distance in sigmas beyond which a point is not the same marker
CLEAR = 8.0  # by how much another point has to be farther off, in squared sigmas, for a link to be certain
MAX_STEP_S = 0.12  # between frames that are linked


@dataclass(frozen=True, slots=True)
class PointTracks:
    """Points of all frames in their order: frame (P,), point_m (P, 3), covariance_m2 (P, 3, 3), track (P,) from 0 to count - 1.

    first: of every frame, the number of its first point, (N + 1,).
    """

    frame: Ints
    point_m: Floats
    covariance_m2: Floats
    track: Ints
    first: Ints

    @property
    def count(self) -> int:
        """How many tracks there are."""
        return int(self.track.max(initial=-1)) + 1

    def of_frame(self, n: int) -> slice:
        """Return which points are of a frame."""
        return slice(int(self.first[n]), int(self.first[n + 1]))

    def spans(self) -> tuple[Ints, Ints]:
        """Return the first and the last frame of every track, (K,) each."""
        begin, end = np.full(self.count, len(self.first)), np.zeros(self.count, np.int64)
        np.minimum.at(begin, self.track, self.frame)
        np.maximum.at(end, self.track, self.frame)
        return begin, end

    def seconds(self, seconds: Floats) -> Floats:
        """Return how long every track is, (K,) [s]; seconds: of the frames, (N,)."""
        begin, end = self.spans()
        return np.asarray(seconds[end] - seconds[begin])

    def choice(self, n: int, label: Ints, n_markers: int) -> Ints:
        """Return the point of every marker in a frame, (M,), -1 for none.

        Args:
            n: number of the frame.
            label: label of every track, (K,).
            n_markers: M.
        """
        own = label[self.track[self.of_frame(n)]]
        result = np.full(n_markers, -1, np.int64)
        result[own[own >= 0]] = np.flatnonzero(own >= 0)
        return result


def join_points(points: Sequence[Points], seconds: Floats, marker_m: Floats) -> PointTracks:
    """Return the tracks of the points of N frames.

    A point is expected to move as the nearest marker of the solved poses does, (N, M, 3) [m]. Where two points of a frame could
    be the same one of the frame before, the track ends and two begin.

    Args:
        points: triangulated in each frame.
        seconds: times of the frames, (N,) [s].
        marker_m: markers of the solved poses, (N, M, 3) [m].
    """
    first = np.concatenate([[0], np.cumsum([len(p.point_m) for p in points])])
    track, count = np.zeros(first[-1], np.int64), 0
    for n, now in enumerate(points):
        own = np.full(len(now.point_m), -1, np.int64)
        if n and seconds[n] - seconds[n - 1] < MAX_STEP_S:
            before, after = find_certain_links(points[n - 1], now, marker_m[n - 1], marker_m[n])
            own[after] = track[first[n - 1] + before]
        new = own < 0
        own[new] = count + np.arange(new.sum())
        count += int(new.sum())
        track[first[n] : first[n + 1]] = own
    return PointTracks(
        np.repeat(np.arange(len(points)), np.diff(first)),
        np.concatenate([np.zeros((0, 3)), *(p.point_m for p in points)]),
        np.concatenate([np.zeros((0, 3, 3)), *(p.covariance_m2 for p in points)]),
        track,
        first,
    )


def find_certain_links(before: Points, now: Points, marker_m: Floats, moved_m: Floats) -> tuple[Ints, Ints]:
    """Return which points of two frames are certainly the same, as two lists.

    Args:
        before: points of the frame before.
        now: points of the frame.
        marker_m: markers of the pose before, (M, 3) [m].
        moved_m: markers of the pose now, (M, 3) [m].
    """
    if not (len(before.point_m) and len(now.point_m)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    nearest = np.linalg.norm(before.point_m[:, None] - marker_m, axis=2).argmin(axis=1)
    step = (moved_m - marker_m)[nearest]
    sigma_m = np.hypot(STEP_SIGMA_M, STEP_SHARE * np.linalg.norm(step, axis=1))
    difference = now.point_m[None] - (before.point_m + step)[:, None]
    S = before.covariance_m2[:, None] + now.covariance_m2[None] + sigma_m[:, None, None, None] ** 2 * np.eye(3)
    squared = np.einsum("abi,abij,abj->ab", difference, np.linalg.inv(S), difference)
    rows, columns = linear_sum_assignment(np.minimum(squared, 1e6))
    sure = (squared[rows, columns] < GATE2) & is_clearly_nearest(squared, rows, columns)
    return rows[sure], columns[sure]


def is_clearly_nearest(squared: Floats, rows: Ints, columns: Ints) -> Bools:
    """Return which of the chosen elements, (K,), are less than all others of their row and column by a margin.

    Args:
        squared: squared distances, (P, Q).
        rows: rows of the chosen elements, (K,).
        columns: of the chosen elements, (K,).
    """
    own = squared[rows, columns]
    others = squared.copy()
    others[rows, columns] = np.inf
    rival = np.minimum(others[rows].min(axis=1), others[:, columns].min(axis=0))
    return np.asarray(rival > own + CLEAR)
