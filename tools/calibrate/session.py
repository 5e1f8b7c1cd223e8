"""Calibrate a subject from recordings: detect, triangulate, label the T-poses, fit the skeleton, judge it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Rig
from calibration.quality.report import QualityReport
from calibration.subject.fit import BodyPrior, TakesFit, TPose, fit_agreeing_takes, fit_body
from calibration.subject.quality import TposeContext, compute_height_sigma_m, describe_lengths, describe_markers, judge_subject
from calibration.subject.subject import Subject
from calibration.subject.tpose import StartPose, Worn, average_tpose
from calibration.subject.world import find_world
from calibration.world import World
from capture.packets import Views
from capture.recording.recording import CaptureRecording
from capture.stereo.check import check_rig_fits
from capture.stereo.matching import add_rig_error, match
from config.arrays import Floats
from config.errors import CalibrationError
from config.markers import MarkerSet
from config.settings import Settings
from config.words import format_count
from database.standing import compute_standing_rotvec
from database.store import PoseDatabase
from tools.calibrate.landmarks import average_landmark_tpose
from tools.progress import Progress, ignore_progress

Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class JudgedTposes:
    """Basis of the verdict on a subject: all T-poses, the name of each, and where the performer stood."""

    tposes: tuple[TPose, ...]
    names: tuple[str, ...]
    context: TposeContext


@dataclass(frozen=True, slots=True)
class SubjectResult:
    """A calibrated subject, the fit to all takes and the verdict.

    asked: basis of the verdict.
    """

    subject: Subject
    found: TakesFit
    report: QualityReport
    asked: JudgedTposes


@dataclass(frozen=True, slots=True)
class PerformerPrior:
    """Prior knowledge of the performer.

    Attributes:
        height_m: shoes off.
        old: an earlier subject whose skeleton is kept; None: not known.
    """

    height_m: float | None = None
    old: Subject | None = None


def fit_subject_to_pairs(
    name: str,
    pairs: list[Views],
    rig: Rig,
    markers: MarkerSet,
    database: PoseDatabase,
    settings: Settings,
    known: PerformerPrior | None = None,
) -> SubjectResult:
    """Fit a subject to pairs of views of the T-pose.

    Args:
        name: name of the performer.
        pairs: views of the T-pose, by moment.
        rig: the cameras.
        markers: markers that are worn.
        database: database of motions, whose bodies are the prior.
        settings: settings of the run.
        known: prior knowledge of the performer; None for none.
    Raises: CalibrationError: no T-pose in them.
    """
    tpose = average_tpose_of_pairs(pairs, rig, markers, database, settings, "all")
    return fit_subject_to_tposes(name, [tpose], ["the T-pose"], rig, markers, database, known)


def average_tpose_of_pairs(
    pairs: Sequence[Views],
    rig: Rig,
    markers: MarkerSet,
    database: PoseDatabase,
    settings: Settings,
    worn: Worn | None = None,
    pose: StartPose | None = "t",
) -> TPose:
    """Label and average the markers of one take.

    Args:
        pairs: views of the T-pose, by moment.
        rig: the cameras.
        markers: markers that are worn.
        database: database of motions.
        settings: settings of the run.
        worn, pose: as of `average_tpose`.
    Raises: CalibrationError: no such pose.
    """
    if not markers.worn.all():
        return average_landmark_tpose(pairs, rig, markers, database.skeletons, settings)
    frames: list[tuple[Floats, Floats]] = []
    for pair in pairs:
        points = match(add_rig_error(pair, settings.match.rig_sigma_px), rig, settings.match, None)
        frames.append((points.point_m, points.covariance_m2))
    return average_tpose(frames, markers, database.skeletons, _compute_viewpoint_m(rig), worn, pose)


def fit_subject_to_tposes(
    name: str,
    tposes: Sequence[TPose],
    names: Sequence[str],
    rig: Rig,
    markers: MarkerSet,
    database: PoseDatabase,
    known: PerformerPrior | None = None,
) -> SubjectResult:
    """Fit a subject to takes of one performer.

    Args:
        name: name of the performer.
        tposes: labelled and averaged.
        names: name of each take.
        rig: the cameras.
        markers: markers that are worn.
        database: database of motions, whose bodies are the prior.
        known: prior knowledge of the performer; None for none.
    Raises: CalibrationError as `fit_body`.
    """
    known = PerformerPrior() if known is None else known
    body = BodyPrior(database.skeletons, compute_standing_rotvec(database), known.height_m, known.old)
    found = fit_agreeing_takes(name, markers, tposes, body)
    setting = TposeContext(_compute_viewpoint_m(rig), rig.floor_known, None, known.height_m)
    if known.height_m is not None and known.old is None:
        alone = fit_body(name, markers, [tposes[k] for k in found.used], replace(body, height_m=None))
        stature = alone.problem.space.stature
        setting = replace(
            setting, free_height_m=(stature * alone.subject.skeleton.height_m, stature * compute_height_sigma_m(alone))
        )
    report = judge_subject(found, tposes, names, setting)
    subject = replace(found.fit.subject, world=find_world(found.fit, rig))
    return SubjectResult(subject, found, report, JudgedTposes(tuple(tposes), tuple(names), setting))


def read_pairs(
    recording: CaptureRecording, windows: Sequence[Window], rig: Rig, progress: Progress = ignore_progress
) -> list[list[Views]]:
    """Return the pairs of a recording between times, of each window its own [s].

    Args:
        recording: the recording.
        windows: first and last time of each [s].
        rig: the cameras.
        progress: called with the amount done and the whole amount.
    Raises: CalibrationError: the rig does not fit the videos, or a window holds no frame.
    """
    found: list[list[Views]] = [[] for _ in windows]
    end_s, last_s = max(window[1] for window in windows), 0.0
    for n, (pair, _, _) in enumerate(recording.pairs()):
        progress(n + 1, recording.n_frames)
        last_s = pair.t_capture_ns * 1e-9
        if last_s > end_s:
            break
        for pairs, (first_s, until_s) in zip(found, windows, strict=True):
            if first_s <= last_s <= until_s:
                pairs.append(pair)
    for pairs, window in zip(found, windows, strict=True):
        if not pairs:
            raise CalibrationError(
                f"no frames from {window[0]:g} to {window[1]:g} s: the recording ends at {last_s:.1f} s; give seconds within it"
            )
    everything = [pair for pairs in found for pair in pairs]
    check_rig_fits(rig, recording.sizes, everything[:: max(1, len(everything) // 30)])
    return found


def format_subject(result: SubjectResult) -> list[str]:
    """Describe a subject for a person."""
    fit = result.found.fit
    frames = int(result.report.figures["frames"])
    head = (
        f"{result.subject.name}: skeleton {result.subject.skeleton.height_m:.2f} m high, "
        f"{int(fit.seen.sum())} of {len(fit.seen)} markers, {format_count(frames, 'frame')}"
    )
    slopes = {tpose.slope_deg for tpose in result.asked.tposes} - {0.0}
    poses = [f"the arms are taken to point {-slope:.0f} degrees below level" for slope in sorted(slopes)]
    return [head, *poses, *describe_markers(fit), *describe_lengths(fit), *format_world_finding(result.subject.world)]


def format_world_finding(world: World | None) -> list[str]:
    """Describe how the world was found, where it had to be."""
    if world is None or world.tilt_sigma_deg == 0.0:
        return []
    sigmas = f"+- {world.tilt_sigma_deg:.1f} degrees of tilt, +- {world.height_sigma_mm:.0f} mm of the floor"
    return [f"the world by {world.by}: Y up, the origin under the performer, who looks along +Z; {sigmas}"]


def _compute_viewpoint_m(rig: Rig) -> Floats:
    """Return the middle of the first two cameras, which the performer faces, (3,) [m]."""
    return np.asarray(np.mean([camera.center_m for camera in rig.cameras[:2]], axis=0))
