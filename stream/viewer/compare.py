"""How far two takes that are shown together are apart, joint by joint [mm]."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from stream.protocol.joints import compute_pose_joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.track import ViewerTrack

STEP_S = 0.1  # between the times that the whole takes are compared at


@dataclass(frozen=True, slots=True)
class TakeDifference:
    """Two poses of one time.

    Attributes:
        names: joints that both have, (J,).
        apart_mm: distances between them in the world, (J,).
        posture_mm: the same with the hips laid on each other, position and orientation, (J,).
    """

    names: tuple[str, ...]
    apart_mm: Floats
    posture_mm: Floats


def compare_poses(first: tuple[SkeletonMessage, PoseMessage], second: tuple[SkeletonMessage, PoseMessage]) -> TakeDifference:
    """Return how far the joints of two poses are apart."""
    names = tuple(name for name in first[0].names if name in second[0].names)
    joints = [compute_pose_joints(*one) for one in (first, second)]
    rows = [[one[0].names.index(name) for name in names] for one in (first, second)]
    here, there = (found.position_m[row] for found, row in zip(joints, rows, strict=True))
    local = [(found.position_m[row] - found.position_m[0]) @ found.rotation[0] for found, row in zip(joints, rows, strict=True)]
    return TakeDifference(names, 1e3 * np.linalg.norm(here - there, axis=1), 1e3 * np.linalg.norm(local[0] - local[1], axis=1))


def compare_at(first: ViewerTrack, second: ViewerTrack, t_s: float) -> TakeDifference | None:
    """Return how far two takes are apart at a time; None where one has no pose."""
    poses = first.pose_at(t_s), second.pose_at(t_s)
    if poses[0] is None or poses[1] is None or first.skeleton is None or second.skeleton is None:
        return None
    return compare_poses((first.skeleton, poses[0]), (second.skeleton, poses[1]))


def compare_takes(first: ViewerTrack, second: ViewerTrack) -> Iterator[tuple[float, TakeDifference]]:
    """Return the differences of two takes every STEP_S, from their beginning to the end of the shorter one."""
    for t_s in np.arange(0.0, min(first.history.end_s, second.history.end_s) + 1e-6, STEP_S).tolist():
        found = compare_at(first, second, t_s)
        if found is not None:
            yield t_s, found
