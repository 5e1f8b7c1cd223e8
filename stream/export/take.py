"""A take: the poses of a whole recording as arrays, which every export starts from."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec
from database.skeleton import REFERENCE, Skeleton
from reconstruct.pose import Pose, State

COUNTED_GAP = 4.5  # medians, up to which the number of missing frames is told by the length of the gap


@dataclass(frozen=True, slots=True)
class TakeInfo:
    """Where a take comes from, for the files that can say so; what is unknown is empty.

    subject: the performer; session: the run, as in the stream's messages; recorded: when, ISO 8601; source: what it was made
    from, such as the name of a recording; floor_known: the world has Y up and its floor at 0.
    """

    subject: str = ""
    session: str = ""
    recorded: str = ""
    source: str = ""
    floor_known: bool = True


def software_version() -> str:
    """Give the version of the installed package, for files that say what wrote them."""
    try:
        return metadata.version("duocap")
    except metadata.PackageNotFoundError:
        return "source"


@dataclass(frozen=True, slots=True)
class MarkerTracks:
    """Markers as they were measured, triangulated from both views.

    names: M; point_m: (N, M, 3) [m] world, zero where not measured; valid: measured, (N, M).
    """

    names: tuple[str, ...]
    point_m: Floats
    valid: NDArray[np.bool_]

    def __post_init__(self) -> None:
        assert self.point_m.shape == (*self.valid.shape, 3) and self.valid.shape[1] == len(self.names)
        for array in (self.point_m, self.valid):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.valid)


@dataclass(frozen=True, slots=True)
class Take:
    """The motion of one performer.

    seconds: time from the first frame, rising, (N,) [s]; states: (N,) `State`; rotvec: charted as in
    `database.skeleton`, (N, J, 3) [rad], row 0 of a frame the root's orientation in the world; root_m: (N, 3) [m];
    markers: as measured at the same times, None where nobody kept them.
    """

    skeleton: Skeleton
    seconds: Floats
    states: tuple[State, ...]
    rotvec: Floats
    root_m: Floats
    markers: MarkerTracks | None = None
    info: TakeInfo = TakeInfo()

    def __post_init__(self) -> None:
        n = len(self.seconds)
        assert len(self.states) == n and len(self.rotvec) == n and self.root_m.shape == (n, 3)
        assert self.markers is None or len(self.markers) == n
        assert np.all(np.diff(self.seconds) > 0)
        for array in (self.seconds, self.rotvec, self.root_m):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Mark the frames whose pose means nothing, (N,)."""
        return np.array([state == State.LOST for state in self.states], bool)

    def positions_m(self) -> Floats:
        """Give all joint positions, (N, J, 3) [m] world."""
        return forward(self.skeleton, self.rotvec, self.root_m)[1]

    def local_rotations(self) -> Floats:
        """Give each joint's rotation relative to its parent, L_j = reference_j exp([r_j]x), (N, J, 3, 3)."""
        return np.asarray(REFERENCE @ matrix_from_rotvec(self.rotvec))


def take_from_poses(
    skeleton: Skeleton, poses: Sequence[Pose], marker_names: Sequence[str] = (), info: TakeInfo = TakeInfo()
) -> Take:
    """Collect poses into a take; one that repeats the time stamp before it is left out.

    marker_names: of the subject, in the order of the poses' markers; without them the take has no markers.
    """
    kept = rising([pose.t_capture_ns for pose in poses])
    stamps = np.array([poses[i].t_capture_ns for i in kept], np.int64)
    return Take(
        skeleton=skeleton,
        seconds=(stamps - stamps[:1]) / 1e9,
        states=tuple(poses[i].state for i in kept),
        rotvec=np.array([poses[i].rotvec for i in kept], float).reshape(len(kept), -1, 3),
        root_m=np.array([poses[i].root_m for i in kept], float).reshape(-1, 3),
        markers=_tracks(tuple(marker_names), [poses[i] for i in kept]) if marker_names else None,
        info=info,
    )


def rising(stamps_ns: Sequence[int]) -> list[int]:
    """Give the indices of the time stamps that are later than all before them."""
    stamps = np.array(stamps_ns, np.int64)
    latest = np.maximum.accumulate(stamps) if len(stamps) else stamps
    return [i for i in range(len(stamps)) if i == 0 or stamps[i] > latest[i - 1]]


def _tracks(names: tuple[str, ...], poses: Sequence[Pose]) -> MarkerTracks:
    """Collect where markers were triangulated."""
    point_m, valid = np.zeros((len(poses), len(names), 3)), np.zeros((len(poses), len(names)), bool)
    for n, pose in enumerate(poses):
        if len(pose.point_m):
            valid[n] = pose.measured
            point_m[n, pose.measured] = pose.point_m[pose.measured]
    return MarkerTracks(names, point_m, valid)


def frame_period_s(seconds: Floats) -> float:
    """Give the time between frames: gaps of a few periods count as so many, longer silences not at all."""
    gaps = np.diff(seconds)
    if not len(gaps):
        return 1.0 / 30.0
    gaps = gaps[gaps < COUNTED_GAP * np.median(gaps)]
    return float(gaps.sum() / np.maximum(np.round(gaps / np.median(gaps)), 1.0).sum())
