"""The labels and published poses of a take, replaced by those that are solved with past and future."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Views
from config.arrays import Bools, Floats, Ints
from config.settings import Settings
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.body import nearer_rotvec
from reconstruct.finish.smoother import segments
from reconstruct.finish.stage import pose_feet
from reconstruct.history import BodyState
from reconstruct.offline.labels import Labelled, label_take
from reconstruct.offline.motion import TakeMotion, take_motion
from reconstruct.offline.take import ROUNDS, Progress, SolvedTake, TakeSolver
from reconstruct.pose import Pose, TrackingState, pose_packet
from reconstruct.search.examples import PoseTable
from reconstruct.search.index import search_index
from reconstruct.track.publish import state_of

MAX_GAP_S = 2.0  # longer times in which nobody was followed stay as they were live
MIN_FRAMES = 8  # that are solved together


@dataclass(frozen=True, slots=True)
class OfflineOptions:
    """rig, subject, database: of the take; settings: of the run; visible: markers that may be used for poses, (M,)."""

    rig: Rig
    subject: Subject
    database: PoseTable
    settings: Settings
    visible: Bools


@dataclass(frozen=True, slots=True)
class LiveTake:
    """What live reconstruction gave of N frames, and the views that labels were chosen from."""

    poses: Sequence[Pose]
    markers: Sequence[MarkerFrame]
    views: Sequence[Views]

    def part(self, frames: Sequence[int]) -> "LiveTake":
        """Return some of the frames."""
        return LiveTake([self.poses[n] for n in frames], [self.markers[n] for n in frames], [self.views[n] for n in frames])


def solve_take(live: LiveTake, options: OfflineOptions, progress: Progress = lambda done, total: None) -> LiveTake:
    """Return a take with labels and poses found from all its frames at once, with contacts and feet held.

    Where nobody could be followed for up to MAX_GAP_S, the motion on both sides closes the gap. Longer gaps, and what comes
    before the first labelled frame and after the last, stay as they were.
    """
    whole = (1 + ROUNDS) * len(live.poses)
    known = label_take(
        live.views, options.rig, options.subject, options.database, options.settings, lambda done: progress(done, whole)
    )
    followed = relabel_take(live, known, options)
    solver = StretchSolver(options)
    found = [s for s in segments(followed.poses, options.subject, MAX_GAP_S) if len(s) >= MIN_FRAMES]
    poses, markers, near, before = list(live.poses), list(live.markers), dict[int, Ints](), len(live.poses)
    for segment in found:
        solved, rows = solver.solve(followed.part(segment), lambda done, _, before=before: progress(before + done, whole))
        for k, n in enumerate(segment):
            poses[n], markers[n], near[n] = solved.poses[k], solved.markers[k], rows[k]
        before += ROUNDS * len(segment)
    feet = pose_feet(options.subject, options.database, options.settings.feet)
    for n, pose in enumerate(poses):
        if n in near:
            poses[n] = feet.step(pose, near[n])
        else:
            feet.forget()
    return LiveTake(poses, markers, live.views)


def relabel_take(live: LiveTake, known: Sequence[Labelled | None], options: OfflineOptions) -> LiveTake:
    """Return a take with other labels, and with the poses that were found with them: those to begin with.

    Where markers are hidden, which must not have a say in poses, the poses stay those of live reconstruction.
    """
    poses, markers, whole = list[Pose](), list[MarkerFrame](), bool(options.visible.all())
    for pose, frame, found in zip(live.poses, live.markers, known, strict=True):
        if found is None:
            poses.append(replace(pose, state=TrackingState.LOST))
            markers.append(frame.only(np.zeros(len(frame.valid), bool)))
            continue
        pose = replace(pose, state=TrackingState.TRACKING)
        if whole:
            rotvec = found.state.joints.copy()
            rotvec[0] = rotvec_from_matrix(found.state.rotation)
            pose = replace(pose, rotvec=rotvec, root_m=found.state.position_m)
        poses.append(pose)
        markers.append(found.frame)
    return LiveTake(poses, markers, live.views)


class StretchSolver:
    """Solves stretches of frames of one subject, each without long gaps."""

    def __init__(self, options: OfflineOptions) -> None:
        index = search_index(options.subject, options.database)
        self._options, self._fps = options, index.examples.fps
        self._solver = TakeSolver(options.subject, index, options.rig)

    def solve(self, take: LiveTake, progress: Progress) -> tuple[LiveTake, Ints]:
        """Return the frames solved together, and the nearest poses of the database to each, (N, K)."""
        options = self._options
        tracked = np.array([pose.state is TrackingState.TRACKING for pose in take.poses])
        start = bridged(take.poses, tracked, self._fps)
        seen = [frame.only(options.visible) for frame in take.markers]
        solved = self._solver.solve(seen, start, progress, errors=True, worn=options.subject.is_calibrated)
        return replace(take, poses=self._poses(take.poses, seen, solved)), solved.rows

    def _poses(self, begun: Sequence[Pose], seen: Sequence[MarkerFrame], solved: SolvedTake) -> list[Pose]:
        """Return the packets of solved poses; begun: what they began with."""
        rig, subject, limits = self._options.rig, self._options.subject, self._options.settings.label
        rotvec = nearer_rotvec(solved.motion.rotvec, np.stack([pose.rotvec for pose in begun]))
        world_m, error_m = self._solver.markers(solved.motion, solved.offset_m), solved.error_m
        assert error_m is not None  # asked for
        result = []
        for k, (pose, frame) in enumerate(zip(begun, seen, strict=True)):
            body = BodyState(pose.t_capture_ns, rotvec[k], solved.motion.rotation[k], solved.motion.position_m[k])
            state = state_of(frame, subject, error_m[k], limits)
            packet = pose_packet(frame, state, body, world_m[k], rig, subject, error_m[k])
            result.append(replace(packet, rotvec=rotvec[k], latency_ns=pose.latency_ns))
        return result


def bridged(poses: Sequence[Pose], tracked: Bools, fps: float) -> TakeMotion:
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
