"""The labels and published poses of a take, replaced by those that are solved with past and future."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Views
from config.arrays import Bools, Floats, Ints
from config.settings import Settings
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.body_state import BodyState
from reconstruct.finish.body import choose_nearer_rotvec
from reconstruct.finish.stage import build_pose_feet
from reconstruct.finish.take_smoother import drop_excursions, find_segments, mark_interpolated
from reconstruct.offline.motion import TakeMotion, build_take_motion
from reconstruct.offline.relabel import TakeViews, relabel_take
from reconstruct.offline.take import ROUNDS, Progress, SolvedTake, TakeSolver
from reconstruct.pose import Pose, TrackingState, build_pose_packet
from reconstruct.search.examples import PoseTable
from reconstruct.search.index import load_search_index
from reconstruct.track.publish import judge_tracking_state

MAX_GAP_S = 2.0  # longer times in which the performer was not tracked stay as they were live
MIN_FRAMES = 8  # that are solved together


@dataclass(frozen=True, slots=True)
class OfflineOptions:
    """Inputs of an offline solution besides the views.

    Attributes:
        rig: rig of the take.
        subject: subject of the take.
        database: database of motions.
        settings: settings of the run.
        visible: markers that may be used for poses, (M,).
    """

    rig: Rig
    subject: Subject
    database: PoseTable
    settings: Settings
    visible: Bools


@dataclass(frozen=True, slots=True)
class LiveTake:
    """Poses of live reconstruction, N frames, and the views that labels were chosen from, none where nobody kept them."""

    poses: Sequence[Pose]
    markers: Sequence[MarkerFrame]
    views: Sequence[Views] = ()

    def part(self, frames: Sequence[int]) -> "LiveTake":
        """Return some of the frames."""
        views = [self.views[n] for n in frames] if self.views else []
        return LiveTake([self.poses[n] for n in frames], [self.markers[n] for n in frames], views)


def solve_take(live: LiveTake, options: OfflineOptions, progress: Progress = lambda done, total: None) -> LiveTake:
    """Return a take with labels and poses solved from all its frames at once, with contacts and feet held.

    Where the performer was lost for up to MAX_GAP_S, the motion on both sides closes the gap, with the markers that can be
    followed into it. Poses are called by their expected errors; those that are not tracked are marked as inferred. Longer gaps,
    and what comes before the first pose that is followed, stay as they were.

    Args:
        live: poses, markers and views as live reconstruction made them.
        options: rig, subject, database and settings.
        progress: called with the frames done and all frames.
    """
    stretch = StretchSolver(options)
    # A pose that a few markers hold is not to be trusted, but to begin with, and so are its labels.
    held = (pose.state is TrackingState.COASTING and bool(pose.seen.any()) for pose in live.poses)
    believed = [replace(p, state=TrackingState.TRACKING) if few else p for p, few in zip(live.poses, held, strict=True)]
    followed = replace(live, poses=drop_excursions(believed, options.subject))
    found = [s for s in find_segments(followed.poses, options.subject, MAX_GAP_S) if len(s) >= MIN_FRAMES]
    total = sum(map(len, found))
    poses, markers, near, done = list(live.poses), list(live.markers), dict[int, Ints](), 0
    for segment in found:
        part = followed.part(segment)
        solved, rows = stretch.solve(part, partial(_report_part_progress, progress, done, len(segment), total))
        for k, n in enumerate(segment):
            poses[n], markers[n], near[n] = solved.poses[k], solved.markers[k], rows[k]
        done += len(segment)
    feet = build_pose_feet(options.subject, options.database, options.settings.feet)
    for n, pose in enumerate(poses):
        if n in near:
            poses[n] = feet.step(pose, near[n])
        else:
            feet.forget()
    return LiveTake(poses, markers, live.views)


def _report_part_progress(progress: Progress, n_before: int, n_part: int, n_all: int, done: int, total: int | None) -> None:
    """Report the progress of a part of n_part frames, n_before of n_all before it, as that of the whole."""
    progress(n_before + done * n_part // (total or 1), n_all)


class StretchSolver:
    """Solves stretches of frames of one subject, each without long gaps."""

    def __init__(self, options: OfflineOptions) -> None:
        index = load_search_index(options.subject, options.database)
        self._options, self._fps = options, index.examples.fps
        self._solver = TakeSolver(options.subject, index, options.rig)

    def solve(self, live: LiveTake, progress: Progress) -> tuple[LiveTake, Ints]:
        """Return the frames solved together, and the nearest poses of the database to each, (N, K)."""
        options = self._options
        tracked = np.array([pose.state is TrackingState.TRACKING for pose in live.poses])
        start, nothing = bridge_untracked(live.poses, tracked, self._fps), np.zeros(len(options.visible), bool)
        frames = [used if known else used.only(nothing) for used, known in zip(live.markers, tracked, strict=True)]
        used, motion = list(live.markers), start
        # Landmarks have their labels: what is exchanged was decided live, with hypotheses.
        if live.views and options.subject.markers.worn.all():
            first = self._solver.solve(frames, start, _report_round_progress(progress, 0, ROUNDS + 2), 1)
            views = TakeViews(live.markers, live.views, tracked)
            frames, motion = relabel_take(
                views, first, self._solver, options.rig, options.settings.match, _report_round_progress(progress, 1, ROUNDS + 2)
            )
            used, progress = frames, _report_round_progress(progress, 2, ROUNDS + 2)
        # Hidden markers must not have a say in where the solution begins.
        motion = motion if options.visible.all() else start
        seen = [frame.only(options.visible) for frame in frames]
        solved = self._solver.solve(seen, motion, progress, errors=True, worn=options.subject.is_calibrated)
        return LiveTake(self._poses(live.poses, seen, solved), used, live.views), solved.rows

    def _poses(self, live: Sequence[Pose], seen: Sequence[MarkerFrame], solved: SolvedTake) -> list[Pose]:
        """Return the packets of solved poses."""
        rig, subject, limits = self._options.rig, self._options.subject, self._options.settings.label
        rotvec = choose_nearer_rotvec(solved.motion.rotvec, np.stack([pose.rotvec for pose in live]))
        world_m, error_m = self._solver.markers(solved.motion, solved.offset_m), solved.error_m
        assert error_m is not None  # asked for
        result = []
        for k, (pose, frame) in enumerate(zip(live, seen, strict=True)):
            body = BodyState(pose.t_capture_ns, rotvec[k], solved.motion.rotation[k], solved.motion.position_m[k])
            state = judge_tracking_state(frame, subject, error_m[k], limits)
            packet = build_pose_packet(frame, state, body, world_m[k], rig, subject, error_m[k])
            packet = replace(packet, rotvec=rotvec[k], latency_ns=pose.latency_ns, exchanged=pose.exchanged)
            result.append(packet if state is TrackingState.TRACKING else mark_interpolated(packet))
        return result


def _report_round_progress(progress: Progress, done: int, rounds: int) -> Progress:
    """Report the progress of what comes after some of the rounds as that of all of them."""
    share = (ROUNDS if done == rounds - ROUNDS else 1) / rounds
    return lambda n, total: progress(round((total or 1) * (done / rounds + share * n / (total or 1))), total)


def bridge_untracked(poses: Sequence[Pose], tracked: Bools, fps: float) -> TakeMotion:
    """Return poses as the motion of a take; those that were not tracked lie between the tracked ones before and after.

    Args:
        poses: poses of the take, in order.
        tracked: (N,), true for the first and the last.
        fps: frame rate of the database.
    """
    seconds = np.array([pose.t_capture_ns - poses[0].t_capture_ns for pose in poses]) * 1e-9
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    known = np.flatnonzero(tracked)
    for n in np.flatnonzero(~tracked):
        after = int(np.searchsorted(known, n))
        a, b = known[after - 1], known[after]
        share = (seconds[n] - seconds[a]) / (seconds[b] - seconds[a])
        rotvec[n], root_m[n] = interpolate_rotations(rotvec[a], rotvec[b], share), root_m[a] + share * (root_m[b] - root_m[a])
    return build_take_motion(seconds, rotvec, root_m, fps)


def interpolate_rotations(first: Floats, last: Floats, share: float) -> Floats:
    """Return the rotations, (J, 3) [rad], a share of the way from one pose to another.

    Args:
        first: rotation vectors of the first pose, (J, 3) [rad].
        last: rotation vectors of the last pose, (J, 3) [rad].
        share: 0 to 1.
    """
    start = matrix_from_rotvec(first)
    turn = rotvec_from_matrix(np.swapaxes(start, -1, -2) @ matrix_from_rotvec(last))
    return np.asarray(rotvec_from_matrix(start @ matrix_from_rotvec(share * turn)))
