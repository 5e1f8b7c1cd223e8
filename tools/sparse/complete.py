"""Poses of a dictionary from a file of constraints."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject, read_subject
from config.arrays import Floats
from reconstruct.models.sparse.model import read_dictionary
from reconstruct.pose import TrackingState
from reconstruct.posing.fit import PoseResult
from reconstruct.posing.sparse import SparsePoser
from stream.export.take import Take, TakeInfo
from tools.style.constraints import constraints_of
from tools.style.entries import NamedMarkers
from tools.style.file import read_request
from tools.style.report import offs, pose_lines, warning
from tools.style.values import PoseFileError

UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, slots=True)
class CompletionTask:
    """What is completed: files of the dictionary and the constraints, of cameras and body or None; rate of the take."""

    dictionary: Path
    constraints: Path
    rig: Path | None = None
    subject: Path | None = None
    fps: float = 30.0


@dataclass(frozen=True, slots=True)
class CompletedTake:
    """The poses as a take, the world's up direction, what to say of them, and what to warn of."""

    take: Take
    up: Floats
    lines: tuple[str, ...]
    warnings: tuple[str, ...]


def completed(task: CompletionTask) -> CompletedTake:
    """Complete the poses that a file asks for. Raises DuocapError."""
    model = read_dictionary(task.dictionary)
    subject = None if task.subject is None else read_subject(task.subject)
    worn = None if subject is None else NamedMarkers(subject.markers.names, subject.joint, subject.offset_m)
    request, rig = read_request(task.constraints, 1, task.rig, worn)
    if request.curves or request.shares is not None:
        raise PoseFileError(f"{task.constraints}: curves and shares are for `duocap style pose`; give [[pose]] tables")
    up = _up(rig, subject)
    poser = SparsePoser(model, None if subject is None else subject.skeleton, up)
    found: list[PoseResult] = []
    lines: list[str] = []
    warnings: list[str] = []
    for number, asked in enumerate(request.poses, 1):
        if asked.is_empty:
            raise PoseFileError(f"{task.constraints}: nothing is asked of pose {number}; add a [[point]] or [[image_point]]")
        constraints = constraints_of(asked, poser.skeleton, None, rig)
        pose = poser.pose(constraints)
        off = offs(pose, asked, constraints, poser.skeleton, rig)
        found.append(pose)
        lines += pose_lines(f"pose {number}", pose, off, "dictionary")
        warned = warning(f"pose {number}", pose, off)
        warnings += [] if warned is None else [warned]
    take = Take(
        skeleton=poser.skeleton,
        seconds=np.arange(len(found)) / task.fps,
        states=(TrackingState.TRACKING,) * len(found),
        rotvec=np.array([pose.rotvec for pose in found]),
        root_m=np.array([pose.root_m for pose in found]),
        info=TakeInfo(subject=poser.skeleton.name, source="sparse", floor_known=rig is None or rig.floor_known),
    )
    return CompletedTake(take, up, tuple(lines), tuple(warnings))


def _up(rig: Rig | None, subject: Subject | None) -> Floats:
    """Return the world's up: Y, or in the frame of a rig without a floor what the T-pose said, else that of the left camera."""
    if rig is None or rig.floor_known:
        return UP
    return np.array(subject.up, np.float64) if subject is not None else np.ascontiguousarray(-rig.left.rotation[1])
