"""A take: the poses of a recording as arrays, which every export starts from; parts of it, and the same motion on the spot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from calibration.subject.props import Prop
from config.arrays import Floats
from config.errors import DuocapError
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE, Skeleton
from database.marker_files.c3d_extras import C3dExtras
from reconstruct.pose import Pose, TrackingState
from stream.take.ground import GroundForces


@dataclass(frozen=True, slots=True)
class TakeInfo:
    """The origin of a take, for formats that can store it; unknown items are empty.

    Attributes:
        subject: the performer.
        session: the run, as in the stream's messages.
        recorded: time, ISO 8601.
        source: such as the name of a recording.
    """

    subject: str = ""
    session: str = ""
    recorded: str = ""
    source: str = ""


def find_software_version() -> str:
    """Return the version of the installed package, "source" if it is not installed."""
    try:
        return metadata.version("duocap")
    except metadata.PackageNotFoundError:
        return "source"


@dataclass(frozen=True, slots=True)
class MarkerTracks:
    """The markers, triangulated from the views of two cameras at least, or those of a marker file.

    Attributes:
        names: names of the M markers.
        point_m: positions, (N, M, 3) [m] world, zero where not measured.
        valid: whether each was measured, (N, M).
        cameras: cameras that saw each marker, one bit for every camera of the rig from the lowest on, (N, M); None if unknown.
        filled: valid ones that were not measured but computed where they were missing, (N, M); None if there are none.
    """

    names: tuple[str, ...]
    point_m: Floats
    valid: NDArray[np.bool_]
    cameras: NDArray[np.uint8] | None = None
    filled: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        assert self.point_m.shape == (*self.valid.shape, 3) and self.valid.shape[1] == len(self.names)
        for array in (self.point_m, self.valid):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.valid)

    def rows(self, kept: Sequence[int] | NDArray[np.int64]) -> "MarkerTracks":
        """Return the markers of some frames."""
        cameras = None if self.cameras is None else self.cameras[kept]
        filled = None if self.filled is None else self.filled[kept]
        return MarkerTracks(self.names, self.point_m[kept], self.valid[kept], cameras, filled)


@dataclass(frozen=True, slots=True)
class Take:
    """The motion of one performer.

    Attributes:
        seconds: time from the first frame, rising, (N,) [s].
        states: (N,) `TrackingState`.
        rotvec: charted as in `database.geometry.skeleton`, (N, J, 3) [rad], row 0 of a frame the root's orientation in the
            world.
        root_m: (N, 3) [m].
        markers: markers measured at the same times; None if unknown.
        forces: forces of the ground on the feet; None if unknown.
        error_m: expected error of each joint (`Pose.error_m`), (N, J) [m]; None if unknown.
        extras: what the C3D that it is from has beside points, for one that is written; None if nothing.
        props: what the hands hold.
    """

    skeleton: Skeleton
    seconds: Floats
    states: tuple[TrackingState, ...]
    rotvec: Floats
    root_m: Floats
    markers: MarkerTracks | None = None
    info: TakeInfo = TakeInfo()
    forces: GroundForces | None = None
    error_m: Floats | None = None
    extras: C3dExtras | None = None
    props: tuple[Prop, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.seconds)
        assert len(self.states) == n and len(self.rotvec) == n and self.root_m.shape == (n, 3)
        assert self.markers is None or len(self.markers) == n
        assert self.forces is None or len(self.forces) == n
        assert self.error_m is None or len(self.error_m) == n
        assert np.all(np.diff(self.seconds) > 0)
        for array in (self.seconds, self.rotvec, self.root_m):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """The frames without a valid pose, (N,)."""
        return np.array([state == TrackingState.LOST for state in self.states], bool)

    def positions_m(self) -> Floats:
        """Return all joint positions, (N, J, 3) [m] world."""
        return compute_forward_kinematics(self.skeleton, self.rotvec, self.root_m)[1]

    def local_rotations(self) -> Floats:
        """Return each joint's rotation relative to its parent, L_j = reference_j exp([r_j]x), (N, J, 3, 3)."""
        return np.asarray(REFERENCE @ matrix_from_rotvec(self.rotvec))


def build_take(skeleton: Skeleton, poses: Sequence[Pose], marker_names: Sequence[str] = (), info: TakeInfo = TakeInfo()) -> Take:
    """Return poses as a take; poses with a repeated or earlier time stamp are left out.

    Args:
        skeleton: skeleton of the poses.
        poses: poses in the order of time.
        marker_names: names of the markers in the order of the poses; without names the take has no markers.
        info: description of the take.
    """
    kept = find_increasing_times([pose.t_capture_ns for pose in poses])
    stamps = np.array([poses[i].t_capture_ns for i in kept], np.int64)
    return Take(
        skeleton=skeleton,
        seconds=(stamps - stamps[:1]) / 1e9,
        states=tuple(poses[i].state for i in kept),
        rotvec=np.array([poses[i].rotvec for i in kept], float).reshape(len(kept), -1, 3),
        root_m=np.array([poses[i].root_m for i in kept], float).reshape(-1, 3),
        markers=_collect_tracks(tuple(marker_names), [poses[i] for i in kept]) if marker_names else None,
        info=info,
        error_m=_collect_errors_m([poses[i] for i in kept]),
    )


def _collect_errors_m(poses: Sequence[Pose]) -> Floats | None:
    """Return the expected errors of the joints, (N, J) [m]; None unless every pose has them, but for those before the first."""
    known = [len(pose.error_m) > 0 for pose in poses]
    if not any(known) or not all(known[known.index(True) :]):
        return None
    first = poses[known.index(True)].error_m
    return np.stack([pose.error_m if there else np.full_like(first, np.inf) for pose, there in zip(poses, known, strict=True)])


def find_increasing_times(stamps_ns: Sequence[int]) -> list[int]:
    """Return the indices of the time stamps that are larger than all before them."""
    stamps = np.array(stamps_ns, np.int64)
    latest = np.maximum.accumulate(stamps) if len(stamps) else stamps
    return [i for i in range(len(stamps)) if i == 0 or stamps[i] > latest[i - 1]]


def _collect_tracks(names: tuple[str, ...], poses: Sequence[Pose]) -> MarkerTracks:
    """Return the triangulated markers of poses."""
    point_m, valid = np.zeros((len(poses), len(names), 3)), np.zeros((len(poses), len(names)), bool)
    cameras = np.zeros((len(poses), len(names)), np.uint8)
    for n, pose in enumerate(poses):
        if len(pose.point_m):
            cameras[n] = np.packbits(pose.seen, axis=0, bitorder="little")[0]
            valid[n] = pose.measured
            point_m[n, pose.measured] = pose.point_m[pose.measured]
    return MarkerTracks(names, point_m, valid, cameras)


def cut_take(take: Take, from_s: float = 0.0, to_s: float = np.inf) -> Take:
    """Return the frames between two times since the first frame [s]; the part begins at 0.

    Args:
        take: the motion.
        from_s: the first time [s].
        to_s: the last time [s].
    Raises: DuocapError: there are no frames between them.
    """
    kept = np.flatnonzero((take.seconds >= from_s - 1e-9) & (take.seconds <= to_s + 1e-9))
    if not len(kept):
        end_s = float(take.seconds[-1]) if len(take) else 0.0
        asked = f"from {from_s:g} s on" if np.isinf(to_s) else f"from {from_s:g} to {to_s:g} s"
        raise DuocapError(f"nothing is left {asked}; the recording is {end_s:.2f} s long, choose other times")
    return replace(
        take,
        seconds=take.seconds[kept] - take.seconds[kept[0]],
        states=tuple(take.states[n] for n in kept),
        rotvec=take.rotvec[kept],
        root_m=take.root_m[kept],
        markers=None if take.markers is None else take.markers.rows(kept),
        forces=None if take.forces is None else take.forces.rows(kept),
        error_m=None if take.error_m is None else take.error_m[kept],
    )


def remove_root_motion(take: Take) -> Take:
    """Remove the horizontal motion of the hips, for engines that move a character themselves; heights stay."""
    horizontal_m = take.root_m * (1.0, 0.0, 1.0)
    markers = take.markers
    if markers is not None:
        point_m = np.where(markers.valid[..., None], markers.point_m - horizontal_m[:, None], 0.0)
        markers = replace(markers, point_m=point_m)
    forces = None if take.forces is None else take.forces.moved(np.eye(3), -horizontal_m)
    return replace(take, root_m=take.root_m - horizontal_m, markers=markers, forces=forces)


def measure_hips_height_m(skeleton: Skeleton) -> float:
    """Return how high the hips are above the soles in the rest pose [m]."""
    return -float((skeleton.rest_positions_m() + skeleton.tails_m)[:, 1].min())


def prepare_for_engine(take: Take) -> Take:
    """Return the take as engines like to import it: it begins above the origin, facing +Z, after one frame of the T-pose.

    Raises DuocapError: every frame is lost.
    """
    known = np.flatnonzero(~take.lost)
    if not len(known):
        raise DuocapError(f"no motion: all {len(take)} frames are lost; check the report or the calibration first")
    first, R = known[0], take.local_rotations()[:, 0]
    forward = R[first, :, 2]
    M = matrix_from_rotvec(np.array([0.0, -np.arctan2(forward[0], forward[2]), 0.0]))
    rotvec = np.array(take.rotvec)
    rotvec[:, 0] = rotvec_from_matrix(REFERENCE[0].T @ M @ R)
    root_m = (take.root_m - take.root_m[first] * (1.0, 0.0, 1.0)) @ M.T
    height_m = measure_hips_height_m(take.skeleton)
    step_s = float(np.median(np.diff(take.seconds))) if len(take) > 1 else 1.0 / 30.0
    return Take(
        take.skeleton,
        np.concatenate([[0.0], take.seconds - take.seconds[0] + step_s]),
        (TrackingState.TRACKING, *take.states),
        np.concatenate([rotvec_from_matrix(np.swapaxes(REFERENCE, 1, 2))[None], rotvec]),
        np.concatenate([[[0.0, height_m, 0.0]], root_m]),
        info=take.info,
        props=take.props,
    )
