"""Real motions rendered as two videos and reconstructed again, end to end: `duocap evaluate end-to-end --motion DIR`.

Every clip is drawn by the simulated cameras of `duocap simulate`, its markers are detected in the images, the subject is
calibrated from its T-pose, and every pair goes through the pipeline of live capture. Compared with the truth is what comes
after the T-pose and the change to the clip's first pose. Images do not go through a video codec. With one camera the subject is
calibrated with both, as it has to be; then only the left one looks on.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from capture.detector import Detector
from capture.packets import PairedBlobs, lone_pair
from capture.simulated import SimulatedCamera
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.errors import DuocapError
from config.settings import Settings
from database.asf_amc import DEFAULT_FPS
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.rotations import Floats
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, State
from tools.evaluation.asf_angles import AsfAngles, angle_errors, asf_angles, own_angles
from tools.evaluation.figures_file import write_figures
from tools.evaluation.parallel import in_processes
from tools.evaluation.protocol import END_TO_END, ProtocolClip, askable, query, query_file
from tools.evaluation.scores import LabelCheck, Motion, Score, check_labels, score
from tools.evaluation.tables import print_scores
from tools.progress import progress_bar
from tools.subject_session import subject_from_pairs

TPOSE_S = 3.0
SHOWN = 0.5  # share of a marker's disc that must be seen for the marker to count as seen
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Options:
    """How the clips are rendered and reconstructed: marker preset, seconds of each clip (0: all), share of markers occluded,
    whether the pipeline is given the true skeleton and offsets, the seed, and how many cameras look on after the T-pose."""

    markers: str = "boxing"
    seconds: float = 20.0
    occlude: float = 0.0
    true_subject: bool = False
    seed: int = 1
    cameras: int = 2


@dataclass(frozen=True, slots=True)
class Rendered:
    """A performance as the cameras saw it.

    pairs: N of them; seconds: (N,); shown: markers visible to every camera in use, (N, M); begin: first pair of the clip itself;
    begin_s: when the clip begins.
    """

    performer: Performer
    pairs: list[PairedBlobs]
    seconds: Floats
    shown: Bools
    begin: int
    begin_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    asf_deg: mean and p95 of the angles of the file's own skeleton over the tracked frames, the paper's measure;
    occlude: share of the markers hidden; distance_m: cameras to the middle of the motion; skeleton_mm: mean error of the fitted
    bone lengths; offset_mm: mean error of the fitted marker offsets; fps: pipeline only.
    """

    clip: str
    behaviour: str
    occlude: float
    distance_m: float
    skeleton_mm: float
    offset_mm: float
    fps: float
    asf_deg: tuple[float, float]
    score: Score


def render(clip: Clip, options: Options, settings: Settings) -> Rendered:
    """Draw a clip with a T-pose before it for two 640x480 cameras at 60 Hz and detect its markers. Raises DuocapError."""
    if options.seconds > 0:
        clip = clip_slice(clip, 0, min(clip.n_frames, round(options.seconds * clip.fps) + 1))
    scene = SimulatedScene(
        motion=clip.name, markers=options.markers, tpose_s=TPOSE_S, pixel_noise_px=0.3, occlude=options.occlude, seed=options.seed
    )
    performer = performer_from_scene(scene, clip)
    cameras = [SimulatedCamera(scene, index, performer) for index in (0, 1)]
    detectors = [Detector(settings.detector) for _ in cameras]
    n = min(len(camera.times_s) for camera in cameras)
    pairs, shown = [], np.empty((n, len(performer.markers)), bool)
    for k in range(n):
        drawn = [camera.frame_with_truth(k) for camera in cameras]
        left, right = (detector.step(frame) for detector, (frame, _, _) in zip(detectors, drawn, strict=True))
        pairs.append(PairedBlobs(left, right))
        shown[k] = np.all([visible >= SHOWN for _, _, visible in drawn[: options.cameras]], axis=0)
    seconds = np.array([pair.t_capture_ns for pair in pairs]) * 1e-9
    begin_s = performer.duration_s - (clip.n_frames - 1) / clip.fps
    return Rendered(performer, pairs, seconds, shown, int(np.searchsorted(seconds, begin_s)), begin_s)


def calibrated(rendered: Rendered, options: Options, database: PoseDatabase, settings: Settings) -> Subject:
    """Fit the subject to the rendered T-pose, or take the true one. Raises CalibrationError: no T-pose found."""
    performer = rendered.performer
    held = [pair for pair, t in zip(rendered.pairs, rendered.seconds, strict=True) if t < performer.tpose_s[1]]
    result = subject_from_pairs(performer.clip.name, held, performer.rig, performer.markers, database, settings).subject
    if not options.true_subject:
        return result
    skeleton = performer.clip.skeleton
    return Subject(result.name, skeleton, result.markers, performer.offset_m, result.residual_mm, result.up)


def replayed(
    rendered: Rendered, subject: Subject, database: PoseDatabase, settings: Settings, cameras: int
) -> tuple[list[Pose], list[LabelCheck], float]:
    """Put every pair through the pipeline; give poses, labels against the truth and pairs a second."""
    performer = rendered.performer
    rig = performer.rig if cameras == 2 else replace(performer.rig, right=performer.rig.left)
    pipeline = Pipeline(rig, subject, database, settings)
    pipeline.warm()
    marker_m = performer.markers_of(*performer.joints_at(rendered.seconds))
    poses, labels, spent = [], [], 0.0
    for pair, true_m, shown in zip(rendered.pairs, marker_m, rendered.shown, strict=True):
        begun = time.perf_counter()
        poses.append(pipeline.step(pair if cameras == 2 else lone_pair(pair.left)))
        spent += time.perf_counter() - begun
        assert pipeline.markers is not None
        labels.append(check_labels(pipeline.markers, rig, true_m, shown))
    return poses, labels, len(poses) / spent


def skeleton_error_mm(subject: Subject, performer: Performer) -> float:
    """Give the mean error of the bone lengths."""
    lengths = [np.linalg.norm(skeleton.offsets_m[1:], axis=1) for skeleton in (subject.skeleton, performer.clip.skeleton)]
    return 1e3 * float(np.abs(lengths[0] - lengths[1]).mean())


def offset_error_mm(subject: Subject, performer: Performer) -> float:
    """Give the mean error of the marker offsets in their joints' frames."""
    return 1e3 * float(np.linalg.norm(subject.offset_m - performer.offset_m, axis=1).mean())


def run(which: ProtocolClip, motion: Path, database: PoseDatabase, settings: Settings, options: Options) -> Result:
    """Render, calibrate, reconstruct and score one clip. Raises DuocapError."""
    rendered = render(query(which, motion), options, settings)
    performer = rendered.performer
    subject = calibrated(rendered, options, database, settings)
    poses, labels, fps = replayed(rendered, subject, database, settings, options.cameras)
    part = slice(rendered.begin, None)
    rotvec, root_m = np.array([pose.rotvec for pose in poses[part]]), np.array([pose.root_m for pose in poses[part]])
    true_rotvec, true_root_m = performer.poses_at(rendered.seconds[part])
    estimated = Motion(rotvec, forward(subject.skeleton, rotvec, root_m)[1])
    true = Motion(true_rotvec, forward(performer.clip.skeleton, true_rotvec, true_root_m)[1])
    tracked = np.array([pose.state is State.TRACKING for pose in poses[part]])
    result = score(estimated, true, tracked, labels[part], performer.markers.names)
    errors = skeleton_error_mm(subject, performer), offset_error_mm(subject, performer)
    asf = paper_errors_deg(asf_angles(query_file(which, motion)), which.start, rendered, rotvec, true_rotvec)[tracked]
    asf_deg = (float(asf.mean()), float(np.percentile(asf, 95))) if asf.size else (float("nan"), float("nan"))
    return Result(which.stem, which.behaviour, options.occlude, performer.distance_m, *errors, fps, asf_deg, result)


def paper_errors_deg(file: AsfAngles, start: int, rendered: Rendered, rotvec: Floats, true_rotvec: Floats) -> Floats:
    """Give the errors of the file's own joint angles, (N, D) [deg], for the poses from `rendered.begin` on.

    file: the whole file's angles; start: its frame at which the clip begins; rotvec, true_rotvec: (N, J, 3) [rad].
    """
    at = start + np.rint((rendered.seconds[rendered.begin :] - rendered.begin_s) * DEFAULT_FPS).astype(np.int64)
    last = len(file.angles[0]) - 1
    near = AsfAngles(file.chains, tuple(angles[np.clip(at, 0, last)] for angles in file.angles))
    true = own_angles(near, true_rotvec)
    return angle_errors(own_angles(true, rotvec), true)


def run_in_process(which: ProtocolClip, motion: Path, database: Path, settings: Settings, options: Options) -> Result | str:
    """Run one clip with a database by its path, as a process of a pool does; give the reason where it cannot be measured."""
    try:
        return run(which, motion, open_database(database), settings, options)
    except DuocapError as error:
        return f"{which.stem}: {error}"


def evaluate_end_to_end(
    motion: Path,
    database: Path,
    settings: Settings,
    options: Options,
    *,
    clips: Sequence[str] = (),
    occlude: Sequence[float] = (0.0,),
    processes: int = 2,
    json_file: Path | None = None,
) -> list[Result]:
    """Measure clips with every share of markers hidden, print the tables, write the figures.

    Raises DuocapError: a clip is none of the protocol or the database holds it, or not one clip could be measured.
    """
    wanted = askable(open_database(database), clips, END_TO_END)
    jobs = [
        partial(run_in_process, clip, motion, database, settings, replace(options, occlude=o)) for o in occlude for clip in wanted
    ]
    found: dict[int, Result | str] = {}
    with progress_bar("clips") as progress:
        progress(0, len(jobs))
        for index, result in in_processes(jobs, processes):
            found[index] = result
            progress(len(found), len(jobs))
    ordered = [found[index] for index in range(len(jobs))]
    results = [result for result in ordered if isinstance(result, Result)]
    failed = [result for result in ordered if isinstance(result, str)]
    print_scores(results)
    print("\n".join(failed))
    if json_file is not None:
        write_figures(json_file, results)
    if not results:
        raise DuocapError(f"no clip could be measured; {failed[0]}")
    return results
