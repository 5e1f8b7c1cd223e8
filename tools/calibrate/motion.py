"""Refine a subject over a range of motion of a recording: track it with the skeleton so far, adjust, and judge the result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibration.camera import Rig
from calibration.quality.report import QualityReport
from calibration.subject.motion import MotionFrame, RefinedSubject, judge_refinement, refine_subject_fit
from calibration.subject.quality import judge_subject
from calibration.subject.subject import Subject
from calibration.subject.world import find_world, refine_world
from calibration.world import place_rig_in_world
from capture.packets import Views
from config.errors import CalibrationError
from config.settings import Settings
from config.words import format_count
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import TrackingState
from tools.calibrate.session import SubjectResult

TRACKED_SHARE = 0.5
WARMING = 15  # frames after which a track has settled


@dataclass(frozen=True, slots=True)
class MotionRefinement:
    """Result of refining a subject by movement: that of the T-pose, with a finding that says so, where it is not kept.

    tracked: how well the movement was tracked before, as a share of its frames.
    """

    result: SubjectResult
    refined: RefinedSubject
    tracked: float
    kept: bool

    @property
    def lines(self) -> list[str]:
        """Return in words how the movement changed the subject."""
        n, share = self.refined.n_frames, f"{self.tracked:.0%} tracked"
        said = (
            f"refined over {format_count(n, 'frame')} of movement"
            if self.kept
            else f"{format_count(n, 'frame')} of movement changed nothing"
        )
        return [f"{said} ({share})", f"  what bent: {', '.join(self.refined.bent)}"]


def refine_subject(
    result: SubjectResult, pairs: Sequence[Views], rig: Rig, database: PoseDatabase, settings: Settings
) -> MotionRefinement:
    """Refine a subject over pairs of views of free movement, and judge it anew.

    Args:
        result: result of fitting the T-poses.
        pairs: views of free movement, by moment.
        rig: the cameras.
        database: database of motions.
        settings: settings of the tracker.
    Raises: CalibrationError: the performer is not tracked in half of them, or nothing bends.
    """
    frames, tracked = label_tracked_frames(result.subject, pairs, rig, database, settings)
    if tracked < TRACKED_SHARE:
        raise CalibrationError(
            f"the movement is tracked in {tracked:.0%} of its frames, at least {TRACKED_SHARE:.0%} are needed; "
            "choose seconds in which the performer is alone in both views, or leave --motion out"
        )
    refined = refine_subject_fit(result.found.fit, frames)
    findings, kept = judge_refinement(result.found.fit, refined)
    fit = refined.fit if kept else result.found.fit
    asked = result.asked
    judged = judge_subject(result.found, asked.tposes, asked.names, asked.context, refined=fit)
    report = QualityReport((*judged.findings, *findings), judged.figures)
    found = replace(result.found, fit=fit)
    subject = replace(fit.subject, world=refine_world(find_world(fit, rig), fit, frames))
    return MotionRefinement(replace(result, subject=subject, found=found, report=report), refined, tracked, kept)


def label_tracked_frames(
    subject: Subject, pairs: Sequence[Views], rig: Rig, database: PoseDatabase, settings: Settings
) -> tuple[list[MotionFrame], float]:
    """Return the labelled frames in which the performer is tracked, in the rig's frame, and their share of all.

    Args:
        subject: the performer.
        pairs: views of free movement, by moment.
        rig: the cameras.
        database: database of motions.
        settings: settings of the run.
    """
    assert subject.world is not None
    back = subject.world.from_rig.inverse
    pipeline = Pipeline(place_rig_in_world(rig, subject.world), subject, database, settings)
    frames: list[MotionFrame] = []
    tracking = 0
    for pair in pairs:
        pose = pipeline.step(pair)
        markers = pipeline.markers
        tracking = tracking + 1 if pose.state is TrackingState.TRACKING else 0
        if tracking > min(WARMING, len(pairs) // 10) and markers is not None:
            valid = markers.valid & pose.measured
            pose, markers = pose.moved(back), markers.moved(back)
            frames.append(
                MotionFrame(markers.point_m, valid, markers.covariance_m2, pose.rotvec, pose.root_m, 1e-9 * pose.t_capture_ns)
            )
    return frames, len(frames) / max(len(pairs), 1)
