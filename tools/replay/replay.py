"""Replay a recording through the steps of live capture, in one process, as fast as it goes or in real time.

What is exported of it: solved once more with past and future, unless `--as-live` is given, and smoothed by `--smooth`.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from calibration.camera import Rig
from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from calibration.world import compute_motion_between, place_rig_in_world
from capture.clock import now_ns
from capture.packets import MarkerFrame, Views
from capture.recording.recording import CaptureRecording
from capture.stereo.check import check_rig_fits
from capture.timing.grouping import GroupingCounts
from config.errors import DuocapError
from config.settings import Settings
from database.geometry.rigid import RigidMotion
from reconstruct.doubt import OF_SWAPS
from reconstruct.finish.take_smoother import smooth_poses
from reconstruct.models.style.model import Style
from reconstruct.observations import find_monocular_rays, find_nearest_on_rays
from reconstruct.offline.poses import LiveTake, OfflineOptions, solve_take
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState, find_swapped_markers
from reconstruct.search.examples import PoseTable
from stream.take.take import Take, TakeInfo, build_take
from tools.progress import Progress, ignore_progress, open_progress_bar
from tools.replay.outlet import ReplayWatch
from tools.replay.styles import open_styles

N_CHECKED = 40


class PoseSink(Protocol):
    """A receiver of poses in order of time."""

    def pose(self, pose: Pose) -> None:
        """Receive one pose."""

    def rig(self, rig: Rig) -> None:
        """Receive the rig; called where the world of the next pose differs."""

    def serve(self, t_ns: int) -> None:
        """Do the regular work, such as sending a status."""


@dataclass
class ReplayResult:
    """Result of a replay: poses and labels in order, prediction errors of hidden markers [mm], suspected swaps, seconds taken.

    Attributes:
        rig: rig in its last place in the world; all poses are in that world, also those made before it was found.
        views: views that the labels were chosen from.
        n_repeated: pictures of each camera that were the one before once more.
        counts: how many moments there were, and pictures that are in none; None for a session.
        style: the last one learned or used.
    """

    rig: Rig
    poses: list[Pose] = field(default_factory=list)
    markers: list[MarkerFrame] = field(default_factory=list)
    views: list[Views] = field(default_factory=list)
    hidden_mm: dict[str, list[float]] = field(default_factory=dict)
    swaps_suspected: int = 0
    wall_s: float = 0.0
    n_repeated: list[int] = field(default_factory=list)
    counts: GroupingCounts | None = None
    style: Style | None = None

    def take(self, subject: Subject, info: TakeInfo | None = None) -> Take:
        """Return the poses and the measured markers as a take."""
        take = build_take(subject.skeleton, self.poses, subject.markers.names, info or TakeInfo(subject.name))
        return replace(take, props=find_props(subject))


def check_hidden(subject: Subject, hidden: Sequence[str]) -> None:
    """Raise DuocapError unless every hidden marker exists."""
    unknown = [name for name in hidden if name not in subject.markers.names]
    if unknown:
        raise DuocapError(f"--hide {unknown[0]}: the subject has no such marker; it has: {', '.join(subject.markers.names)}")


@dataclass(frozen=True, slots=True)
class ReplayWay:
    """How a recording is replayed.

    Attributes:
        hidden: names of markers that are kept from the solver.
        sink: receives the poses; None for no stream.
        watch: receives the blobs of every frame and the poses; None for nobody.
        realtime: whether the replay runs at the speed of the recording.
        style: file of the style to begin with; None for no style.
    """

    hidden: Sequence[str] = ()
    sink: PoseSink | None = None
    watch: ReplayWatch | None = None
    realtime: bool = False
    style: Path | None = None


AS_FAST_AS_IT_GOES = ReplayWay()


def replay_recording(
    recording: CaptureRecording,
    rig: Rig,
    subject: Subject,
    database: PoseTable,
    settings: Settings,
    how: ReplayWay = AS_FAST_AS_IT_GOES,
    progress: Progress = ignore_progress,
) -> ReplayResult:
    """Run a recording through the pipeline; the same recording gives the same poses every time.

    Args:
        recording: videos of the cameras of the rig.
        rig: the rig as calibrated or in the world.
        subject: the performer.
        database: database of motions.
        settings: settings of the pipeline.
        how: hidden markers and listeners.
        progress: called with the number of views done and of all views, None if unknown.
    Raises: CalibrationError: the rig does not fit the videos; SourceError: a video breaks off; StyleError; DuocapError: unknown
        hidden marker.
    """
    hidden, sink, watch = how.hidden, how.sink, how.watch
    check_hidden(subject, hidden)
    rig = place_rig_in_world(rig, subject.world)
    pipeline = Pipeline(rig, subject, database, settings, hidden=frozenset(hidden), clock=now_ns)
    pipeline.warm()
    recording.learn_background()
    check_rig_fits_recording(recording, rig)
    result = ReplayResult(pipeline.rig, hidden_mm={name: [] for name in hidden})
    begun_ns, first_ns = now_ns(), 0
    synchroniser = recording.synchroniser(settings.time)
    seen = recording.pairs(now_ns, watch.frame if watch is not None else lambda frame, blobs: None, synchroniser)
    with open_styles(pipeline, how.style) as styles:
        for n, (pair, decode_ns, detect_ns) in enumerate(seen):
            if how.realtime:
                _wait_until(begun_ns + pair.t_capture_ns)
            first_ns = pair.t_capture_ns if n == 0 else first_ns
            before, pose = pipeline.rig, pipeline.step(pair)
            synchroniser.learn(pipeline.markers, pipeline.rig)
            pose = replace(pose, latency_ns={"decode": decode_ns, "detect": detect_ns, **pose.latency_ns})
            if pose.t_capture_ns >= first_ns:  # with a lag the first poses are of before
                record_pose(result, pose, pipeline)
            if sink is not None:
                if pipeline.rig is not before:
                    sink.rig(pipeline.rig)
                sink.pose(pose)
                sink.serve(now_ns())
            if watch is not None:
                watch.pose(pose)
            styles.step(pose)
            progress(n + 1, recording.n_frames)
        for pose in pipeline.flush():
            record_pose(result, pose, pipeline)
            if sink is not None:
                sink.pose(pose)
        result.style = styles.last()
    result.wall_s, result.n_repeated = (now_ns() - begun_ns) * 1e-9, list(recording.n_repeated)
    result.counts = synchroniser.counts
    if not result.poses:
        raise DuocapError(f"{recording.spec.name}: no frames, or none of one moment; expected recordings of the same moments")
    return result


def check_rig_fits_recording(recording: CaptureRecording, rig: Rig) -> None:
    """Raise CalibrationError if the rig does not fit the first seconds."""
    sample: list[Views] = []
    for pair, _, _ in recording.pairs():
        sample.append(pair)
        if len(sample) >= N_CHECKED:
            break
    check_rig_fits(rig, recording.sizes, sample)


def record_pose(result: ReplayResult, pose: Pose, pipeline: Pipeline) -> None:
    """Add one pose and the figures of its labels.

    Args:
        result: replay that it is added to.
        pose: the pose as published.
        pipeline: pipeline that made it.
    """
    markers, views, subject, rig = pipeline.markers, pipeline.views, pipeline.subject, pipeline.rig
    assert markers is not None and views is not None
    if rig is not result.rig:
        _move_result(result, compute_motion_between(result.rig.cameras[0], rig.cameras[0]))
        result.rig = rig
    result.poses.append(pose)
    result.markers.append(markers)
    result.views.append(views)
    result.swaps_suspected += bool(pose.doubts & OF_SWAPS or find_swapped_markers(pose, markers))
    if pose.state is not TrackingState.TRACKING:
        return
    for name, errors in measure_hidden_errors([pose], [markers], result.hidden_mm, subject, rig).items():
        result.hidden_mm[name] += errors


def _move_result(result: ReplayResult, motion: RigidMotion) -> None:
    """Bring what was found so far into a world that was moved since."""
    result.poses[:] = [pose.moved(motion) for pose in result.poses]
    result.markers[:] = [frame.moved(motion) for frame in result.markers]


def measure_hidden_errors(
    poses: Sequence[Pose], markers: Sequence[MarkerFrame], names: Iterable[str], subject: Subject, rig: Rig
) -> dict[str, list[float]]:
    """Return how far tracked poses have some markers from where these were seen [mm].

    Args:
        poses: poses in the order of time.
        markers: measured markers of each pose.
        names: names of the markers.
        subject: the performer.
        rig: the cameras.
    """
    result: dict[str, list[float]] = {name: [] for name in names}
    for pose, frame in zip(poses, markers, strict=True):
        if pose.state is not TrackingState.TRACKING:
            continue
        # Where one camera is all there is, predictions can be scored across its line of sight only.
        sight = find_monocular_rays(frame, rig)
        point_m, known = (
            (find_nearest_on_rays(sight, pose.marker_m), sight.monocular) if rig.is_monocular else (frame.point_m, frame.valid)
        )
        for name, errors in result.items():
            m = subject.markers.names.index(name)
            if known[m]:
                errors.append(1e3 * float(np.linalg.norm(pose.marker_m[m] - point_m[m])))
    return result


def _wait_until(moment_ns: int) -> None:
    """Sleep until a moment of the clock."""
    wait_ns = moment_ns - now_ns()
    if wait_ns > 0:
        time.sleep(wait_ns * 1e-9)


MAX_WINDOW_S = 2.0


def disable_live_filter(settings: Settings, window_s: float) -> Settings:
    """Leave the filter of live poses out of a run that is smoothed afterwards.

    It would only delay. Raises as `check_smoothing_window`.
    """
    check_smoothing_window(window_s)
    return settings if window_s == 0.0 else replace(settings, filter=replace(settings.filter, output=False))


def check_smoothing_window(window_s: float) -> None:
    """Raise DuocapError for a window that is negative or wider than smoothing makes sense for."""
    if not 0.0 <= window_s <= MAX_WINDOW_S:
        raise DuocapError(f"--smooth {window_s:g}: the window must be from 0 to {MAX_WINDOW_S:g} seconds; 0.2 is usual")


def smooth_result(result: ReplayResult, subject: Subject, window_s: float) -> ReplayResult:
    """Return a replay with its poses smoothed and its gaps bridged; the very result for a window of 0.

    Args:
        result: result of the replay.
        subject: the performer.
        window_s: width of the window [s].
    """
    return result if window_s == 0.0 else replace(result, poses=smooth_poses(result.poses, subject, window_s))


def solve_replay_offline(result: ReplayResult, subject: Subject, database: PoseTable, settings: Settings) -> ReplayResult:
    """Return a replay with its labels and poses solved with past and future; one camera's takes stay as they are.

    Markers that were hidden stay so, and their errors, as the suspected swaps, are those of the new poses.

    Args:
        result: result of the replay.
        subject: the performer.
        database: database of motions.
        settings: settings of the replay.
    """
    rig = result.rig
    if rig.is_monocular:
        return result
    visible = np.array([name not in result.hidden_mm for name in subject.markers.names])
    options = OfflineOptions(rig, subject, database, settings, visible)
    with open_progress_bar("offline") as progress:
        solved = solve_take(LiveTake(result.poses, result.markers, result.views), options, progress)
    poses, markers = list(solved.poses), list(solved.markers)
    hidden = measure_hidden_errors(poses, markers, result.hidden_mm, subject, rig)
    tracked = ((p, m) for p, m in zip(poses, markers, strict=True) if p.state is TrackingState.TRACKING)
    swaps = sum(bool(find_swapped_markers(pose, frame)) for pose, frame in tracked)
    return replace(result, poses=poses, markers=markers, hidden_mm=hidden, swaps_suspected=swaps)
