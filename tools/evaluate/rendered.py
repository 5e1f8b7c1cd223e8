"""Real motions rendered as videos of one to eight cameras and reconstructed again: `duocap evaluate end-to-end`.

Every clip is drawn by the simulated cameras of `duocap simulate`, its markers are detected in the images, the subject is
calibrated from its T-pose, and all views of a time go through the pipeline of live capture. Scored is what comes after the
T-pose and the transition to the clip's first pose. Images do not go through a video codec. With one camera the subject is
calibrated with two, as it must be; then only the left one is used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from calibration.subject.subject import Subject
from capture.detection.detector import Detector
from capture.packets import Views
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.settings import Settings
from database.clips import Clip, slice_clip
from database.files.asf_amc import AMC_FPS
from database.geometry.kinematics import compute_forward_kinematics
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from tools.calibrate.session import fit_subject_to_pairs
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.asf_angles import AsfAngles, angle_errors, own_angles
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import END_TO_END, ProtocolClip, measurable_clips, open_for_clip, read_query
from tools.evaluate.queries import query_angles
from tools.evaluate.scores import LabelCheck, PoseScore, ScoredMotion, check_labels, score
from tools.evaluate.tracking import track_views

TPOSE_S = 3.0
MIN_VISIBLE = 0.5  # share of a marker's disc that must be visible for the marker to count as seen


@dataclass(frozen=True, slots=True)
class RenderedOptions:
    """How clips are rendered and reconstructed.

    Attributes:
        seconds: length of each clip that is used [s], 0 for all.
        occlude: share of the markers hidden.
        true_subject: whether the pipeline is given the true skeleton and offsets.
        cameras: used after the T-pose.
        occlude_each: whether other markers are hidden from each camera.
    """

    markers: str = "boxing"
    seconds: float = 20.0
    occlude: float = 0.0
    true_subject: bool = False
    seed: int = 1
    cameras: int = 2
    occlude_each: bool = False


@dataclass(frozen=True, slots=True)
class RenderedPerformance:
    """Views that the cameras had of a performer.

    Attributes:
        views: N of them.
        seconds: (N,).
        visible: markers by camera, (V, N, M).
        begin: first views of the clip itself.
        begin_s: time at which the clip begins [s].
    """

    performer: Performer
    views: list[Views]
    seconds: Floats
    visible: Bools
    begin: int
    begin_s: float

    @property
    def shown(self) -> Bools:
        """Markers visible to two cameras, or the only one, (N, M)."""
        return np.asarray(self.visible.sum(axis=0) >= min(2, len(self.visible)))

    def of_cameras(self, n: int) -> "RenderedPerformance":
        """Return the views of the first n cameras."""
        rig = replace(self.performer.rig, cameras=self.performer.rig.cameras[:n])
        views = [Views(each.blobs[:n]) for each in self.views]
        return replace(self, performer=replace(self.performer, rig=rig), views=views, visible=self.visible[:n])


@dataclass(frozen=True, slots=True)
class RenderedResult:
    """One line of the table.

    Attributes:
        asf_deg: mean and p95 of the angles of the file's own skeleton over the tracked frames, the paper's measure.
        occlude: share of the markers hidden.
        distance_m: distance from the cameras to the middle of the motion [m].
        skeleton_mm, offset_mm: mean errors of the fitted bone lengths and marker offsets.
        fps: frame rate of the pipeline alone [Hz].
    """

    clip: str
    behaviour: str
    occlude: float
    distance_m: float
    skeleton_mm: float
    offset_mm: float
    fps: float
    asf_deg: tuple[float, float]
    score: PoseScore


def begin_of(clip: Clip, seconds: float) -> Clip:
    """Return the beginning of a clip, its last frame at so many seconds; all of it for 0."""
    return slice_clip(clip, 0, min(clip.n_frames, round(seconds * clip.fps) + 1) if seconds > 0 else clip.n_frames)


def render(clip: Clip, options: RenderedOptions, settings: Settings) -> RenderedPerformance:
    """Draw a clip after a T-pose for 640x480 cameras at 60 Hz, two at least, and detect its markers. Raises DuocapError."""
    clip = begin_of(clip, options.seconds)
    scene = SimulatedScene(
        motion=clip.name,
        views=max(2, options.cameras),
        markers=options.markers,
        tpose_s=TPOSE_S,
        pixel_noise_px=0.3,
        occlude=options.occlude,
        occlude_each=options.occlude_each,
        seed=options.seed,
    )
    performer = make_scene_performer(scene, clip)
    cameras = [SimulatedCamera(scene, index, performer) for index in range(scene.views)]
    detectors = [Detector(settings.detector) for _ in cameras]
    n = min(len(camera.times_s) for camera in cameras)
    views, visible = [], np.empty((len(cameras), n, len(performer.markers)), bool)
    for k in range(n):
        drawn = [camera.frame_with_truth(k) for camera in cameras]
        views.append(Views(tuple(detector.step(frame) for detector, (frame, _, _) in zip(detectors, drawn, strict=True))))
        visible[:, k] = [share >= MIN_VISIBLE for _, _, share in drawn]
    seconds = np.array([each.t_capture_ns for each in views]) * 1e-9
    begin_s = performer.duration_s - (clip.n_frames - 1) / clip.fps
    return RenderedPerformance(performer, views, seconds, visible, int(np.searchsorted(seconds, begin_s)), begin_s)


def calibrate(rendered: RenderedPerformance, options: RenderedOptions, database: PoseDatabase, settings: Settings) -> Subject:
    """Return the subject fitted to the rendered T-pose, or the true one. Raises CalibrationError: no T-pose found."""
    performer = rendered.performer
    standing = [views for views, t in zip(rendered.views, rendered.seconds, strict=True) if t < performer.tpose_s[1]]
    result = fit_subject_to_pairs(performer.clip.name, standing, performer.rig, performer.markers, database, settings).subject
    if not options.true_subject:
        return result
    skeleton = performer.clip.skeleton
    return Subject(result.name, skeleton, result.markers, performer.offset_m, result.residual_mm)


def track(
    rendered: RenderedPerformance, subject: Subject, database: PoseDatabase, settings: Settings
) -> tuple[list[Pose], list[LabelCheck], float]:
    """Put all views through the pipeline. Return poses, their labels against the truth, and poses per second."""
    performer = rendered.performer
    pipeline = Pipeline(performer.rig, subject, database, settings)
    pipeline.warm()
    tracked = track_views(pipeline, rendered.views)
    truth = zip(tracked.take.markers, performer.markers_of(*performer.joints_at(rendered.seconds)), rendered.shown, strict=True)
    labels = [check_labels(frame, performer.rig, true_m, shown) for frame, true_m, shown in truth]
    return list(tracked.take.poses), labels, 1e3 / float(tracked.step_ms.mean())


def skeleton_error_mm(subject: Subject, performer: Performer) -> float:
    """Return the mean error of the bone lengths."""
    lengths = [np.linalg.norm(skeleton.offsets_m[1:], axis=1) for skeleton in (subject.skeleton, performer.clip.skeleton)]
    return 1e3 * float(np.abs(lengths[0] - lengths[1]).mean())


def offset_error_mm(subject: Subject, performer: Performer) -> float:
    """Return the mean error of the marker offsets in their joints' frames."""
    return 1e3 * float(np.linalg.norm(subject.offset_m - performer.offset_m, axis=1).mean())


def run_clip(
    which: ProtocolClip, motion: Path | None, database: PoseDatabase, settings: Settings, options: RenderedOptions
) -> RenderedResult:
    """Render, calibrate, reconstruct and score one clip. Raises DuocapError."""
    rendered = render(read_query(which, motion), options, settings)
    performer = rendered.performer
    subject = calibrate(rendered, options, database, settings)
    poses, labels, fps = track(rendered.of_cameras(options.cameras), subject, database, settings)
    part = slice(rendered.begin, None)
    rotvec, root_m = np.array([pose.rotvec for pose in poses[part]]), np.array([pose.root_m for pose in poses[part]])
    true_rotvec, true_root_m = performer.poses_at(rendered.seconds[part])
    estimated = ScoredMotion(rotvec, compute_forward_kinematics(subject.skeleton, rotvec, root_m)[1])
    true = ScoredMotion(true_rotvec, compute_forward_kinematics(performer.clip.skeleton, true_rotvec, true_root_m)[1])
    tracked = np.array([pose.state is TrackingState.TRACKING for pose in poses[part]])
    result = score(estimated, true, tracked, labels[part], performer.markers.names)
    errors = skeleton_error_mm(subject, performer), offset_error_mm(subject, performer)
    file = query_angles(which, motion)
    asf = paper_errors_deg(file, which.start, rendered, rotvec, true_rotvec)[tracked] if file.chains else np.zeros(0)
    asf_deg = (float(asf.mean()), float(np.percentile(asf, 95))) if asf.size else (float("nan"), float("nan"))
    return RenderedResult(which.stem, which.behaviour, options.occlude, performer.distance_m, *errors, fps, asf_deg, result)


def paper_errors_deg(file: AsfAngles, start: int, rendered: RenderedPerformance, rotvec: Floats, true_rotvec: Floats) -> Floats:
    """Return the errors of the file's own joint angles, (N, D) [deg], for the poses from `rendered.begin` on.

    file: the whole file's angles; start: its frame at which the clip begins; rotvec, true_rotvec: (N, J, 3) [rad].
    """
    at = start + np.rint((rendered.seconds[rendered.begin :] - rendered.begin_s) * AMC_FPS).astype(np.int64)
    last = len(file.angles[0]) - 1
    near = AsfAngles(file.chains, tuple(angles[np.clip(at, 0, last)] for angles in file.angles))
    true = own_angles(near, true_rotvec)
    return angle_errors(own_angles(true, rotvec), true)


def _run_by_path(
    which: ProtocolClip, motion: Path | None, database: Path, settings: Settings, options: RenderedOptions
) -> RenderedResult | str:
    """Run one clip in a process of a pool; return the reason where it cannot be measured."""
    try:
        return run_clip(which, motion, open_for_clip(database, which), settings, options)
    except DuocapError as error:
        return f"{which.stem}: {error}"


@dataclass(frozen=True, slots=True)
class RenderedResults:
    """Results of the clips that could be measured, and the reasons of the others."""

    results: list[RenderedResult]
    failed: list[str]


def measure_rendered(
    motion: Path | None,
    database: Path,
    settings: Settings,
    options: RenderedOptions,
    *,
    clips: Sequence[ProtocolClip] = (),
    occlude: Sequence[float] = (0.0,),
    workers: WorkerPlan = ALONE,
) -> RenderedResults:
    """Measure clips with every share of markers hidden.

    Raises DatabaseError: the database contains a clip.
    """
    wanted = measurable_clips(open_database(database), clips, END_TO_END)
    tasks = [
        partial(_run_by_path, clip, motion, database, settings, replace(options, occlude=share))
        for share in occlude
        for clip in wanted
    ]
    found = run_tasks(tasks, workers)
    results = [each for each in found if isinstance(each, RenderedResult)]
    return RenderedResults(results, [each for each in found if isinstance(each, str)])


HEAD = (
    f"{'clip':<7}{'behaviour':<16}{'frames':>7}{'tracked':>9}{'position mm':>16}{'ASF deg':>14}{'angle deg':>14}{'joint deg':>14}"
    f"{'in view':>9}{'labelled':>10}{'wrong':>8}{'bones':>7}{'offset':>8}{'m away':>8}{'fps':>6}"
)

LEGEND = (
    "position mm: of the 23 joints, errors of the skeleton included",
    "ASF deg: each joint angle of the motion file's own skeleton, the paper's measure",
    "angle deg: each moving component of our joint rotations; joint deg: the whole rotation of each joint",
    "in view, labelled: share of the markers that cameras saw, that were told by name; wrong: frames with one more than 8 cm off",
    "bones, offset: mean error of the bone lengths, and of the markers' places on them, as calibrated [mm]",
    "m away: distance from the cameras; fps: frames a second that the reconstruction could do",
)


def row(result: RenderedResult) -> str:
    """Return one line."""
    s = result.score
    return (
        f"{result.clip:<7}{result.behaviour:<16}{s.frames:>7}{100 * s.tracked:>8.1f}%"
        f"{_spread(s.position_mm, 16, 1)}{_spread(result.asf_deg, 14, 2)}"
        f"{_spread(s.angle_deg, 14, 2)}{_spread(s.geodesic_deg, 14, 2)}"
        f"{100 * s.in_view:>8.1f}%{100 * s.labelled:>9.1f}%{100 * s.wrong_frames:>7.1f}%"
        f"{result.skeleton_mm:>7.1f}{result.offset_mm:>8.1f}{result.distance_m:>8.1f}{result.fps:>6.0f}"
    )


def mean_row(results: list[RenderedResult], behaviour: str) -> str:
    """Return the mean over clips, each weighted equally; errors are those of the clips with a tracked frame."""
    scores = [result.score for result in results]
    tracked = [result for result in results if result.score.tracked > 0.0] or results
    position, angle, geodesic = (
        tuple(np.mean([getattr(result.score, name) for result in tracked], axis=0))
        for name in ("position_mm", "angle_deg", "geodesic_deg")
    )
    asf = tuple(np.mean([result.asf_deg for result in tracked], axis=0))
    return (
        f"{'mean':<7}{behaviour:<16}{sum(s.frames for s in scores):>7}{100 * np.mean([s.tracked for s in scores]):>8.1f}%"
        f"{_spread(position, 16, 1)}{_spread(asf, 14, 2)}{_spread(angle, 14, 2)}{_spread(geodesic, 14, 2)}"
    )


def report(found: RenderedResults) -> Iterator[str]:
    """Yield the lines of a table for each share of occlusion, with means by behaviour, and the reasons of failure."""
    results = found.results
    for occlude in dict.fromkeys(result.occlude for result in results):
        part = [result for result in results if result.occlude == occlude]
        yield f"\n{100 * occlude:.0f} % of the markers hidden; errors: mean / 95th percentile of the frames that are tracked"
        yield HEAD
        yield from (row(result) for result in part)
        for behaviour in dict.fromkeys(result.behaviour for result in part):
            same = [result for result in part if result.behaviour == behaviour]
            if len(same) > 1:
                yield mean_row(same, behaviour)
        if len(part) > 1:
            yield mean_row(part, "all")
    if any(result.behaviour == "boxing" for result in results):
        yield "Chai & Hodgins 2005, section 8, boxing from two cameras: 2.54 degrees per joint angle (ASF deg)"
    yield from LEGEND
    yield "\n".join(found.failed)


def _spread(spread: tuple[float, ...], width: int, digits: int) -> str:
    """Return mean and 95th percentile as text."""
    return f"{spread[0]:.{digits}f} / {spread[1]:.{digits}f}".rjust(width)
