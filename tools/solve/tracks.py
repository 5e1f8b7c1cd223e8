"""Columns of a marker file as tracks: a track is one marker for as long as it is seen without a jump, whatever its label."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints
from database.marker_files.points import OpticalPoints
from reconstruct.offline.points import POINT_SIGMA_M
from reconstruct.offline.tracks import PointTracks

MAX_JERK_M_S3 = 20_000.0  # of a marker: strikes reach 300 m/s^2, in movement of up to 10 Hz
JUMP_M = 0.02  # beside that, for noise
NO_TRACK = -1


@dataclass(frozen=True, slots=True)
class ColumnTracks:
    """Tracks of a marker file.

    Attributes:
        track: of every sample, (N, P), NO_TRACK where nothing is seen.
        column: of each track, (K,).
    """

    track: Ints
    column: Ints

    @property
    def count(self) -> int:
        """How many tracks there are."""
        return len(self.column)


def split_columns(points: OpticalPoints) -> ColumnTracks:
    """Return the tracks of a file: a column is cut where it is not seen, and where it jumps farther than a body can move it."""
    track = np.full(points.valid.shape, NO_TRACK, np.int64)
    column: list[int] = []
    for p in range(points.valid.shape[1]):
        seen = points.valid[:, p]
        begins = seen & ~np.concatenate([[False], seen[:-1]])
        begins |= seen & _find_jumps(points.point_m[:, p], seen, points.fps)
        number = np.cumsum(begins) - 1 + len(column)
        track[seen, p] = number[seen]
        column += [p] * int(begins.sum())
    return ColumnTracks(track, np.array(column, np.int64))


def _find_jumps(point_m: Floats, seen: Bools, fps: float) -> Bools:
    """Return the frames before which a point jumps, (N,): a step that is unlike the one before and the one after it.

    Of steps next to each other only the least alike is a jump: one looks unlike beside another that is.
    """
    n, jumps = len(point_m), np.zeros(len(point_m), bool)
    if n < 4:
        return jumps
    limit_m = JUMP_M + 0.5 * MAX_JERK_M_S3 / fps**3
    step = np.diff(point_m, axis=0)
    far = np.linalg.norm(step[1:-1] - 0.5 * (step[:-2] + step[2:]), axis=1)
    far *= seen[:-3] & seen[1:-2] & seen[2:-1] & seen[3:]
    beside = np.concatenate([[0.0], far, [0.0]])
    jumps[2:-1] = (far > limit_m) & (far >= beside[:-2]) & (far > beside[2:])
    return jumps


def sample_tracks(points: OpticalPoints, tracks: ColumnTracks, rows: Ints) -> tuple[PointTracks, Ints]:
    """Return the tracks in some frames as the solver takes them, and the number in the file of each, (K,).

    Args:
        points: of the file.
        tracks: of the file.
        rows: frames, rising, (R,).
    """
    row, column = np.nonzero(points.valid[rows])
    number, own = np.unique(tracks.track[rows][row, column], return_inverse=True)
    first = np.concatenate([[0], np.cumsum(points.valid[rows].sum(axis=1))])
    covariance = np.tile(POINT_SIGMA_M**2 * np.eye(3), (len(row), 1, 1))
    return PointTracks(row, points.point_m[rows][row, column], covariance, own.astype(np.int64), first), number


def collect_markers(points: OpticalPoints, tracks: ColumnTracks, label: Ints, n_markers: int) -> tuple[Floats, Bools]:
    """Return the markers of all frames, (N, M, 3) [m], and which are seen, (N, M).

    Args:
        points: of the file.
        tracks: of the file.
        label: marker of each track, (K,), -1 for none.
        n_markers: M.
    """
    point_m, valid = np.zeros((len(points), n_markers, 3)), np.zeros((len(points), n_markers), bool)
    row, column = np.nonzero(points.valid)
    marker = label[tracks.track[row, column]]
    row, column, marker = row[marker >= 0], column[marker >= 0], marker[marker >= 0]
    point_m[row, marker], valid[row, marker] = points.point_m[row, column], True
    return point_m, valid
