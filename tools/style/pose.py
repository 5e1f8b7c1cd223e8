"""Poses and motions of styles from what is asked of them, as takes that every export writes."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from calibration.camera import Rig
from config.arrays import Floats
from config.words import format_count
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import RATE_HZ
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.curves import find_span_s, resample_motion
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from reconstruct.models.style.synthesis.trajectory import SinglePoseSynthesizer, follow_constraints
from reconstruct.pose import TrackingState
from reconstruct.posing.protocol import FoundPose
from stream.take.take import Take, TakeInfo
from tools.export import TakeResult
from tools.style.constraints import build_constraints, build_curve_points
from tools.style.report import (
    FAMILIAR,
    ConstraintResidual,
    compute_acceleration_m_s2,
    format_curve_residuals,
    format_pose_residuals,
    format_pose_warning,
    measure_constraint_residuals,
)
from tools.style.request import PoseRequest
from tools.style.values import PoseFileError

MOST_FRAMES = 200_000
SOURCE = "style"


class Synthesizing(SinglePoseSynthesizer, Protocol):
    """A Synthesizer: who is posed, and in which styles."""

    styles: tuple[Style, ...]
    skeleton: Skeleton


def solve_request(
    synthesizer: Synthesizing,
    request: PoseRequest,
    rig: Rig | None,
    fps: float,
    progress: Callable[[int, int], None] | None = None,
) -> TakeResult:
    """Solve the request of a file: poses one after another, or a motion.

    Args:
        synthesizer: synthesizer of the styles.
        request: request of the file.
        rig: the cameras that image points are in.
        fps: frame rate of a motion [Hz].
        progress: called with the number of frames done and of all frames.
    """
    if request.curves:
        return _solve_motion_take(synthesizer, request, rig, fps, progress)
    if request.shares is not None:
        raise PoseFileError(
            "[[style_share]] is about a motion over time: add a [[curve]] or --trajectory, or write shares = [...]"
        )
    return _solve_single_poses(synthesizer, request, rig, fps)


def _solve_single_poses(synthesizer: Synthesizing, request: PoseRequest, rig: Rig | None, fps: float) -> TakeResult:
    """Solve single poses, each without a start."""
    found: list[Synthesis] = []
    lines: list[str] = []
    warnings: list[str] = []
    for number, asked in enumerate(request.poses, 1):
        constraints = build_constraints(asked, synthesizer.skeleton, synthesizer.styles[0], rig)
        poser = synthesizer if asked.shares is None else synthesizer.with_shares(asked.shares)
        pose = poser.synthesize(constraints)
        off = measure_constraint_residuals(pose, asked, constraints, synthesizer.skeleton, rig)
        found.append(pose)
        lines += format_pose_residuals(f"pose {number}", pose, off)
        warned = format_pose_warning(f"pose {number}", pose, off)
        warnings += [] if warned is None else [warned]
    return TakeResult(build_posed_take(synthesizer.skeleton, found, fps, SOURCE), tuple(lines), tuple(warnings))


def _solve_motion_take(
    synthesizer: Synthesizing,
    request: PoseRequest,
    rig: Rig | None,
    fps: float,
    progress: Callable[[int, int], None] | None,
) -> TakeResult:
    """Follow curves at the rate of the features, and give the motion at fps."""
    seconds = compute_frame_times(request)
    asked = request.poses[0]
    points = build_curve_points(request.curves, seconds)
    skeleton, style = synthesizer.skeleton, synthesizer.styles[0]
    constraints = [build_constraints(asked, skeleton, style, rig, row) for row in points]
    poser = synthesizer if asked.shares is None else synthesizer.with_shares(asked.shares)
    found = follow_constraints(poser, constraints, _interpolate_shares(request, seconds), progress)
    off = [
        measure_constraint_residuals(pose, asked, constraint, skeleton, rig, row)
        for pose, constraint, row in zip(found, constraints, points, strict=True)
    ]
    take = build_posed_take(skeleton, found, fps, SOURCE, motion=True)
    return TakeResult(take, format_motion_quality(take, request, found, off), format_motion_warnings(found, off))


def compute_frame_times(request: PoseRequest) -> Floats:
    """Return the times of all frames, from the first key to the last."""
    first, last = find_span_s([curve.curve for curve in request.curves])
    count = int((last - first) * RATE_HZ + 1e-6) + 1
    if count > MOST_FRAMES:
        raise PoseFileError(f"{count} frames from {first:g} to {last:g} s; at most {MOST_FRAMES}: are the times in seconds?")
    return np.asarray(first + np.arange(count) / RATE_HZ)


def _interpolate_shares(request: PoseRequest, seconds: Floats) -> Floats | None:
    """Return the shares of the styles in every frame, linear between keys; None where they do not change."""
    if request.shares is None:
        return None
    columns = [np.interp(seconds, request.shares.time_s, column) for column in request.shares.shares.T]
    return np.stack(columns, axis=-1)


def build_posed_take(skeleton: Skeleton, poses: Sequence[FoundPose], fps: float, source: str, motion: bool = False) -> Take:
    """Return poses as a take of even frames.

    Args:
        skeleton: skeleton of the body.
        poses: poses in the order of time.
        fps: frame rate of the take [Hz].
        source: description of the origin of the poses.
        motion: whether they are a motion at the rate of the features, to be brought to fps.
    """
    rotvec, root_m = np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])
    if motion:
        rotvec, root_m = resample_motion(rotvec, root_m, fps)
    return Take(
        skeleton=skeleton,
        seconds=np.arange(len(rotvec)) / fps,
        states=(TrackingState.TRACKING,) * len(rotvec),
        rotvec=rotvec,
        root_m=root_m,
        info=TakeInfo(subject=skeleton.name, source=source),
    )


def format_motion_quality(
    take: Take,
    request: PoseRequest,
    found: Sequence[FoundPose],
    off: Sequence[Sequence[ConstraintResidual]],
    model: str = "style",
) -> tuple[str, ...]:
    """Return in words how well a motion follows its curves and how smooth it is.

    Args:
        take: the motion.
        request: request that it was made for.
        found: pose of each frame.
        off: distances from the constraints, by frame.
        model: name of the model that made it, for the text.
    """
    names = [curve.handle.name for curve in request.curves]
    off_m = np.full((len(found), len(names)), np.nan)
    for n, row in enumerate(off):
        for c, name in enumerate(names):
            off_m[n, c] = next((each.value for each in row if each.name == name), np.nan)
    step_s = take.seconds[1] - take.seconds[0] if len(take) > 1 else 1.0
    acceleration = compute_acceleration_m_s2(take.positions_m(), 1.0 / step_s)
    known = 100.0 * (1.0 - float(np.mean([pose.variance for pose in found])))
    how = (
        f"the {model} knows poses like these"
        if known > 100.0 * (1.0 - FAMILIAR)
        else f"far from the poses the {model} was learned of"
    )
    head = f"{format_count(len(take), 'frame')}, {take.seconds[-1]:.2f} s: {how} ({known:.0f}% known)"
    return (
        head,
        *format_curve_residuals(names, off_m),
        f"  acceleration of the joints {acceleration:.1f} m/s^2 (root mean square)",
    )


def format_motion_warnings(found: Sequence[FoundPose], off: Sequence[Sequence[ConstraintResidual]]) -> tuple[str, ...]:
    """Return in how many frames something is not reached, and the worst of it."""
    missed = [n for n, row in enumerate(off) if not all(each.reached for each in row)]
    others = [pose for n, pose in enumerate(found) if n not in set(missed)]
    rest = _format_count(len(found), sum(not pose.reached for pose in others), "what is asked for cannot be had together")
    rest += _format_count(
        len(found), sum(pose.reached and not pose.converged for pose in others), "the search ended before its minimum"
    )
    if not missed:
        return rest
    worst = max(missed, key=lambda n: max(each.value / each.allowed for each in off[n]))
    words = format_pose_warning(
        f"{len(missed)} of {len(found)} frames are off what is asked, most at {worst / RATE_HZ:.2f} s", found[worst], off[worst]
    )
    return rest if words is None else (words, *rest)


def _format_count(total: int, count: int, what: str) -> tuple[str, ...]:
    """Return in how many frames something is so; nothing of none."""
    return (f"in {count} of {total} frames {what}; these poses may not be the best",) if count else ()
