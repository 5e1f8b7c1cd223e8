"""The published poses of a take, replaced by those that are solved with past and future."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from config.settings import FeetSettings
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.body import nearer_rotvec
from reconstruct.finish.smoother import inferred, segments
from reconstruct.finish.stage import pose_feet
from reconstruct.history import BodyState
from reconstruct.offline.motion import TakeMotion, take_motion
from reconstruct.offline.take import Progress, TakeSolver
from reconstruct.pose import Pose, TrackingState, pose_packet
from reconstruct.search.examples import PoseTable
from reconstruct.search.index import SearchIndex, search_index

MAX_GAP_S = 2.0  # longer times in which the performer was not tracked stay as they were live
MIN_FRAMES = 8  # that are solved together


def solve_poses(
    poses: Sequence[Pose],
    markers: Sequence[MarkerFrame],
    made_for: tuple[Rig, Subject, PoseTable],
    feet: FeetSettings,
    progress: Progress = lambda done, total: None,
) -> list[Pose]:
    """Return the poses of a take as solved from all its labelled markers at once, with contacts and feet held.

    markers: of every pose, without those that must not be used; made_for: rig, subject and database. Labels of frames that were
    not tracked are not used: where that was so for up to MAX_GAP_S, the motion on both sides closes the gap and the poses are
    marked as inferred. Longer gaps, and what comes before the first tracked frame, stay as they were.
    """
    rig, subject, database = made_for
    part = TakePoses(rig, subject, search_index(subject, database))
    found = [segment for segment in segments(poses, subject, MAX_GAP_S) if len(segment) >= MIN_FRAMES]
    total = sum(map(len, found))
    result, near, done = list(poses), dict[int, Ints](), 0
    for segment in found:
        solved, rows = part.solve(
            [poses[n] for n in segment],
            [markers[n] for n in segment],
            partial(_progress_of_part, progress, (done, len(segment), total)),
        )
        for k, n in enumerate(segment):
            result[n], near[n] = solved[k], rows[k]
        done += len(segment)
    lock = pose_feet(subject, database, feet, rig.floor_known)
    return [lock.step(pose, near.get(n)) for n, pose in enumerate(result)]


def _progress_of_part(progress: Progress, part: tuple[int, int, int], done: int, total: int | None) -> None:
    """Report the progress of a part as that of the whole; part: frames before, in it, and in all."""
    progress(part[0] + done * part[1] // (total or 1), part[2])


class TakePoses:
    """Solves stretches of poses of one subject."""

    def __init__(self, rig: Rig, subject: Subject, index: SearchIndex) -> None:
        self._rig, self._subject, self._fps = rig, subject, index.examples.fps
        self._solver = TakeSolver(subject, index, rig)

    def solve(self, poses: list[Pose], markers: list[MarkerFrame], progress: Progress) -> tuple[list[Pose], Ints]:
        """Return the poses solved together, and the nearest poses of the database to each, (N, K)."""
        tracked = np.array([pose.state is TrackingState.TRACKING for pose in poses])
        frames = [used if known else unseen(used) for used, known in zip(markers, tracked, strict=True)]
        solved = self._solver.solve(frames, bridged(poses, tracked, self._fps), progress)
        rotvec = nearer_rotvec(solved.motion.rotvec, np.stack([pose.rotvec for pose in poses]))
        world_m = self._solver.markers(solved.motion)
        result = []
        for k, (live, frame) in enumerate(zip(poses, frames, strict=True)):
            body = BodyState(live.t_capture_ns, rotvec[k], solved.motion.rotation[k], solved.motion.position_m[k])
            packet = pose_packet(frame, TrackingState.TRACKING, body, world_m[k], self._rig, self._subject, None, live.error_m)
            packet = replace(packet, rotvec=rotvec[k], latency_ns=live.latency_ns)
            result.append(packet if tracked[k] else inferred(packet))
        return result, solved.rows


def unseen(frame: MarkerFrame) -> MarkerFrame:
    """Return a frame in which nothing is seen."""
    return replace(frame, valid=np.zeros_like(frame.valid), seen=np.zeros_like(frame.seen))


def bridged(poses: list[Pose], tracked: Bools, fps: float) -> TakeMotion:
    """Return poses as the motion of a take; those that were not tracked lie between the tracked ones before and after.

    tracked: (N,), true for the first and the last; fps: of the database.
    """
    seconds = np.array([pose.t_capture_ns - poses[0].t_capture_ns for pose in poses]) * 1e-9
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    known = np.flatnonzero(tracked)
    for n in np.flatnonzero(~tracked):
        after = int(np.searchsorted(known, n))
        a, b = known[after - 1], known[after]
        share = (seconds[n] - seconds[a]) / (seconds[b] - seconds[a])
        rotvec[n], root_m[n] = between(rotvec[a], rotvec[b], share), root_m[a] + share * (root_m[b] - root_m[a])
    return take_motion(seconds, rotvec, root_m, fps)


def between(first: Floats, last: Floats, share: float) -> Floats:
    """Return the rotations, (J, 3) [rad], a share of the way from one pose to another."""
    start = matrix_from_rotvec(first)
    turn = rotvec_from_matrix(np.swapaxes(start, -1, -2) @ matrix_from_rotvec(last))
    return np.asarray(rotvec_from_matrix(start @ matrix_from_rotvec(share * turn)))
