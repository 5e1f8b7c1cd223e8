"""A rig from a person who walks about, or an earlier one refined or doubted by that: landmarks in, rig.toml and report out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from calibration.body.lengths import list_body_lengths
from calibration.body.quality import FLOOR_DEG, judge_body
from calibration.body.solve import BodyInput, BodyScale, BodySolution, solve_body
from calibration.body.views import BodyViews
from calibration.camera import Rig
from calibration.formats.rig_toml import write_rig_toml
from calibration.quality.report import QualityReport
from calibration.world import UP, compute_facing_motion, compute_levelling_motion, move_rig
from capture.packets import Views
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, N_JOINTS
from config.landmarks import LANDMARK_INDEX, N_LANDMARKS, SOURCES
from config.markers import NO_MARKERS, read_marker_set
from config.settings import Settings
from database.geometry.rigid import RigidMotion
from tools.calibrate.outcome import print_report, write_outcome
from tools.calibrate.wand import choose_intrinsics
from tools.progress import Progress, Tell

SAMPLE_S = 0.1  # between the moments that are looked at: longer than the errors of a landmark last
SAME_TIME_S = 0.012  # a hand moves 2 cm between two views so far apart
PLACES = (
    ("hips", ("left_hip", "right_hip")),
    ("upperChest", ("left_shoulder", "right_shoulder")),
    ("leftToes", ("left_foot_index",)),
    ("rightToes", ("right_foot_index",)),
)


@dataclass(frozen=True, slots=True)
class BodyTask:
    """What is known, and wanted, of a calibration by a body.

    Attributes:
        spec: recording of the person.
        names: of the cameras.
        out, picture: files to write; picture None for none.
        stature_m: of the person, shoes off; None: not said.
        baseline_m: distance of the first two cameras by tape; None: not said.
        intrinsics: files of the lenses.
        fov_deg: field of view for cameras without.
        refine: the cameras stand about where the rig of `intrinsics` has them.
    """

    spec: RecordingSpec
    names: tuple[str, ...]
    out: Path
    stature_m: float | None = None
    baseline_m: float | None = None
    intrinsics: tuple[Path, ...] = ()
    fov_deg: float | None = None
    refine: bool = False


def calibrate_rig_by_body(task: BodyTask, settings: Settings, tell: Tell, progress: Progress) -> QualityReport:
    """Calibrate the cameras' places, judge and write them.

    Args:
        task: what is known and wanted.
        settings: with the model of the landmarks.
        tell: receives the report as text.
        progress: called with the amount done and the whole amount.
    Raises: CalibrationError: nothing tells lenses or scale, nobody is seen, nothing fits.
    """
    recording = CaptureRecording(task.spec, settings.detector, read_marker_set(NO_MARKERS), landmarks=settings.landmarks.model)
    if len(recording.sizes) < 2:
        raise CalibrationError(f"{task.spec.name}: one camera; a body tells where two or more stand: give the others, too")
    cameras, earlier = choose_intrinsics(task.intrinsics, task.fov_deg, recording.sizes, task.names)
    if task.refine and earlier is None:
        raise CalibrationError("--refine begins with the places of an earlier rig; give it with --intrinsics rig.toml")
    views = collect_body_views(read_views(recording, settings, progress), len(cameras), settings)
    given = BodyInput(views, cameras, SOURCES, settings.solve.landmark_lasts_s)
    before = earlier if task.refine else None
    scale = choose_scale(task, before)
    solution = solve_body(given, scale, before)
    rig, tilt_sigma_rad = level_by_soles(solution)
    report = judge_body(solution, tilt_sigma_rad, before)
    print_report(report, tell)
    rig = replace(rig, error_px=solution.median_px, grade=report.grade.word)
    write = partial(write_rig_toml, task.out, rig)
    write_outcome(report, task.out, None, lambda file: None, write, tell)
    return report


def choose_scale(task: BodyTask, before: Rig | None) -> BodyScale:
    """Return what tells the scale: a tape, the stature, or the rig that is refined. Raises CalibrationError: nothing does."""
    if task.baseline_m is not None or task.stature_m is not None:
        return BodyScale(task.stature_m, task.baseline_m)
    if before is None:
        raise CalibrationError("nothing tells the scale; give --stature of the person, or --baseline between the cameras")
    first, second = before.cameras[:2]
    return BodyScale(None, float(np.linalg.norm(first.center_m - second.center_m)))


def read_views(recording: CaptureRecording, settings: Settings, progress: Progress) -> Iterable[Views]:
    """Yield the views of a recording by moment."""
    for n, (views, _, _) in enumerate(recording.pairs(synchroniser=recording.synchroniser(settings.time))):
        progress(n + 1, recording.n_frames)
        yield views


def collect_body_views(moments: Iterable[Views], n_cameras: int, settings: Settings, every_s: float = SAMPLE_S) -> BodyViews:
    """Return the landmarks of all cameras at moments some time apart.

    Args:
        moments: in order of time.
        n_cameras: number of cameras.
        settings: of the run.
        every_s: time between two moments [s].
    Raises: CalibrationError: no camera sees anybody.
    """
    t_s, points, seen, due_s = list[float](), [], [], -np.inf
    for views in moments:
        shown = [c for c, blobs in enumerate(views.blobs) if blobs is not None and blobs.landmarks is not None]
        now_s = 1e-9 * views.t_capture_ns
        if len(shown) < 2 or now_s < due_s or abs(views.residual_skew_ns) > SAME_TIME_S * 1e9:
            continue
        px, use = np.zeros((n_cameras, N_LANDMARKS, 2)), np.zeros((n_cameras, N_LANDMARKS), bool)
        for c in shown:
            landmarks = views[c].landmarks
            assert landmarks is not None
            px[c], use[c] = landmarks.image_px, landmarks.score >= settings.label.landmark_score
        t_s.append(now_s)
        points.append(px)
        seen.append(use)
        due_s = now_s + every_s
    if not t_s:
        raise CalibrationError(
            "nobody is seen by two cameras at one time: one person, all of the body in both pictures, in a lit room; "
            "videos of the same moments"
        )
    return BodyViews(np.array(t_s), np.stack(points, axis=1), np.stack(seen, axis=1))


def level_by_soles(solution: BodySolution) -> tuple[Rig, float]:
    """Return the rig in a world that stands on the floor where the soles stood, and the deviation of its tilt [rad].

    Where that is not known well enough, the floor stays open.
    """
    numbers = list(list_body_lengths(1.0).landmarks)
    joints_m = np.zeros((len(solution.t_s), N_JOINTS, 3))
    for joint, parts in PLACES:
        at = [numbers.index(LANDMARK_INDEX[part]) for part in parts]
        joints_m[:, JOINT_INDEX[joint]] = solution.points_m[:, at].mean(axis=1)
    level, sigma_rad = compute_levelling_motion(joints_m, solution.t_s)
    rig = move_rig(solution.rig, level)
    hips_m = np.median(level.move(joints_m[:, JOINT_INDEX["hips"]]), axis=0) * np.array([1.0, 0.0, 1.0])
    facing: RigidMotion = compute_facing_motion(UP, rig.middle_m - hips_m, hips_m)
    known = bool(np.degrees(sigma_rad) <= FLOOR_DEG)
    return replace(move_rig(rig, facing), floor_known=known), sigma_rad
