"""Poses of a dictionary from a file of constraints, and motions along curves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import read_subject
from reconstruct.models.sparse.model import read_dictionary
from reconstruct.posing.fit import PoseResult
from reconstruct.posing.sparse import RESTORE, SparsePoser
from tools.export import TakeResult
from tools.style.constraints import build_constraints, build_curve_points
from tools.style.inputs import UNKNOWN_FLOOR, PoseInputs, read_pose_inputs
from tools.style.pose import (
    build_posed_take,
    compute_frame_times,
    format_motion_quality,
    format_motion_warnings,
)
from tools.style.report import format_pose_residuals, format_pose_warning, measure_constraint_residuals
from tools.style.request import PoseAsked, PoseRequest
from tools.style.values import PoseFileError

SOURCE = "sparse"
RIGID = 6
SETTLED = 5  # times that the first frame of a motion is posed again from itself: the next would move else


@dataclass(frozen=True, slots=True)
class CompletionTask:
    """Files of a completion: the dictionary, the body to pose, None for the dictionary's, and the constraints.

    n_nonzero: atoms of a pose, None: as usual.
    """

    dictionary: Path
    inputs: PoseInputs
    subject: Path | None = None
    n_nonzero: int | None = None


def complete_poses(task: CompletionTask, progress: Callable[[int, int], None]) -> TakeResult:
    """Complete the poses that a file asks for. Raises DuocapError."""
    model = read_dictionary(task.dictionary)
    subject = None if task.subject is None else read_subject(task.subject)
    request, rig = read_pose_inputs(task.inputs, 1, subject)
    if request.shares is not None or any(asked.shares is not None for asked in request.poses):
        raise PoseFileError(f"{task.inputs.constraints}: shares are for `duocap style pose` with several styles; leave them out")
    known = rig is None or rig.floor_known
    restoring = RESTORE if task.n_nonzero is None else replace(RESTORE, n_nonzero=task.n_nonzero)
    poser = SparsePoser(model, None if subject is None else subject.skeleton, restoring)
    work = _complete_motion if request.curves else _complete_single_poses
    made = work(poser, request, rig, task.inputs.fps, progress)
    return made if known else replace(made, warnings=(UNKNOWN_FLOOR, *made.warnings))


def _complete_single_poses(
    poser: SparsePoser, request: PoseRequest, rig: Rig | None, fps: float, progress: Callable[[int, int], None]
) -> TakeResult:
    """Find single poses, each by itself."""
    found: list[PoseResult] = []
    lines: list[str] = []
    warnings: list[str] = []
    for number, asked in enumerate(request.poses, 1):
        constraints = build_constraints(asked, poser.skeleton, None, rig)
        pose = poser.pose(constraints)
        off = measure_constraint_residuals(pose, asked, constraints, poser.skeleton, rig)
        found.append(pose)
        lines += format_pose_residuals(f"pose {number}", pose, off, "dictionary")
        warned = format_pose_warning(f"pose {number}", pose, off)
        warnings += [*_format_underdetermined(f"pose {number}", asked), *([] if warned is None else [warned])]
        progress(number, len(request.poses))
    take = build_posed_take(poser.skeleton, found, fps, SOURCE)
    return TakeResult(take, tuple(lines), tuple(warnings))


def _format_underdetermined(name: str, asked: PoseAsked) -> tuple[str, ...]:
    """Return in words where what is asked does not even place a rigid body: six numbers."""
    told = {point.handle.name: 3 for point in asked.points} | {
        f"{each.handle.name} {each.camera}": 2 for each in asked.image_points
    }
    count = sum(told.values()) + 3 * len(asked.orientations)
    if asked.root is not None:
        count += 3 * int(np.isfinite(asked.root.sigma_rad)) + 3 * int(np.isfinite(asked.root.sigma_m))
    if count >= RIGID:
        return ()
    return (
        f"{name}: {count} numbers are told, {RIGID} place a body; where it stands or faces is a guess, as is most of the pose",
    )


def _complete_motion(
    poser: SparsePoser, request: PoseRequest, rig: Rig | None, fps: float, progress: Callable[[int, int], None]
) -> TakeResult:
    """Follow curves, every frame from the one before."""
    asked, points = request.poses[0], build_curve_points(request.curves, compute_frame_times(request))
    constraints = [build_constraints(asked, poser.skeleton, None, rig, row) for row in points]
    found: list[PoseResult] = []
    now: PoseResult | None = None
    for _ in range(SETTLED):
        now = poser.pose(constraints[0], now)
    for number, each in enumerate(constraints, 1):
        now = poser.pose(each, now)
        found.append(now)
        progress(number, len(constraints))
    off = [
        measure_constraint_residuals(pose, asked, each, poser.skeleton, rig, row)
        for pose, each, row in zip(found, constraints, points, strict=True)
    ]
    take = build_posed_take(poser.skeleton, found, fps, SOURCE, motion=True)
    return TakeResult(take, format_motion_quality(take, request, found, off, "dictionary"), format_motion_warnings(found, off))
