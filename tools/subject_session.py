"""Calibrate a subject from two recordings: detect, triangulate, label the T-pose, fit the skeleton."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.subject import Subject
from calibration.subject_fit import TPose, fit_subject
from calibration.tpose import average_tpose
from capture.check import check_rig_fits
from capture.matching import match, with_rig_error
from capture.packets import Floats, PairedBlobs
from capture.recording import Recording
from config.errors import CalibrationError
from config.markers import MarkerSet
from config.settings import Settings
from database.standing import standing_rotvec
from database.store import PoseDatabase

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SubjectResult:
    """A calibrated subject and the labelled T-pose it came from."""

    subject: Subject
    tpose: TPose


def subject_from_pairs(
    name: str, pairs: list[PairedBlobs], rig: Rig, markers: MarkerSet, database: PoseDatabase, settings: Settings
) -> SubjectResult:
    """Fit a subject to pairs of views of the T-pose.

    Raises CalibrationError: no T-pose in them.
    """
    frames: list[tuple[Floats, Floats]] = []
    for pair in pairs:
        points = match(with_rig_error(pair, settings.match.rig_sigma_px), rig, settings.match, None)
        frames.append((points.point_m, points.covariance_m2))
    middle_m = 0.5 * (rig.left.center_m + rig.right.center_m)
    tpose = average_tpose(frames, markers, database.skeletons, middle_m)
    return SubjectResult(fit_subject(name, markers, tpose, database.skeletons, standing_rotvec(database)), tpose)


def subject_from_recording(
    name: str,
    recording: Recording,
    window_s: tuple[float, float],
    rig: Rig,
    markers: MarkerSet,
    database: PoseDatabase,
    settings: Settings,
    progress: Progress = lambda done, total: None,
) -> SubjectResult:
    """Fit a subject to the T-pose held between two times of a recording [s].

    Raises CalibrationError: the rig does not fit the videos, or no T-pose in the window.
    """
    pairs: list[PairedBlobs] = []
    last_s = 0.0
    for n, (pair, _, _) in enumerate(recording.pairs()):
        progress(n + 1, recording.n_frames)
        last_s = pair.t_capture_ns * 1e-9
        if last_s > window_s[1]:
            break
        if last_s >= window_s[0]:
            pairs.append(pair)
    if not pairs:
        raise CalibrationError(
            f"no frames from {window_s[0]:g} to {window_s[1]:g} s: the recording ends at {last_s:.1f} s; give seconds within it"
        )
    check_rig_fits(rig, recording.sizes, pairs[:: max(1, len(pairs) // 30)])
    return subject_from_pairs(name, pairs, rig, markers, database, settings)


def summary_lines(result: SubjectResult) -> list[str]:
    """Describe a subject for a person."""
    subject, tpose = result.subject, result.tpose
    moved = 1e3 * np.linalg.norm(subject.offset_m - subject.markers.offset_m, axis=1)
    lines = [
        f"{subject.name}: height {subject.skeleton.height_m:.2f} m, "
        f"{int(tpose.valid.sum())} of {len(tpose.valid)} markers, {tpose.n_frames} frames"
    ]
    for m, marker in enumerate(subject.markers.names):
        seen = (
            f"{moved[m]:4.0f} mm from nominal, scatter {subject.residual_mm[m]:.1f} mm"
            if tpose.valid[m]
            else "not seen: nominal place kept"
        )
        lines.append(f"  {marker:<16} {seen}")
    return lines
