"""The examples: every pose of the database as the query sees it, for one subject."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibration.subject.subject import Subject
from config.arrays import Ints, Singles, read_only
from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.geometry.kinematics import local_markers
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.search.kernels import Features

CHUNK = 20_000


class PoseTable(Protocol):
    """The part of a motion database that is used here: poses of several clips at one rate."""

    @property
    def rotvec(self) -> Singles:
        """Charted rotation vectors, (N, J, 3) [rad]."""

    @property
    def fps(self) -> float:
        """Poses a second."""

    @property
    def clip_start(self) -> Ints:
        """First pose of each clip and the end, (C + 1,)."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Poses and their markers at the default root.

    pose: joint coordinates without the root, (N, D) float32 [rad]; marker_m: c_n = f(q_n; s, v, z0), (N, 3M) float32 [m]
    (Chai & Hodgins 2005, eq. 1); clip: clip of each pose, (N,) int32; fps: of the poses; up: the world's vertical in the root's
    frame, (N, 3) float32, or None.
    """

    pose: Singles
    marker_m: Singles
    clip: NDArray[np.int32]
    fps: float
    up: Singles | None = None

    def __len__(self) -> int:
        return len(self.pose)

    @property
    def features(self) -> Features:
        """What queries are compared with, for the kernels."""
        return Features(read_only(self.marker_m), read_only(self.pose))


def examples_for(subject: Subject, table: PoseTable) -> Examples:
    """Compute the features of every pose for this subject's skeleton and markers.

    Raises DatabaseError: no poses.
    """
    n = len(table.rotvec)
    if n == 0:
        raise DatabaseError("the database holds no poses; build one from clips with `duocap database build`")
    marker = np.empty((n, 3 * len(subject.markers)), np.float32)
    for first in range(0, n, CHUNK):
        part = slice(first, min(first + CHUNK, n))
        local = local_markers(subject.skeleton, table.rotvec[part], subject.joint, subject.offset_m)
        marker[part] = local.reshape(len(local), -1)
    return examples_from(table, marker)


def examples_from(table: PoseTable, marker_m: Singles) -> Examples:
    """Combine the poses of a database and their markers, (N, 3M) float32 [m]."""
    n = len(table.rotvec)
    pose = np.ascontiguousarray(table.rotvec[:, 1:]).reshape(n, 3 * (N_JOINTS - 1))
    clip = np.repeat(np.arange(len(table.clip_start) - 1, dtype=np.int32), np.diff(table.clip_start))
    up = matrix_from_rotvec(table.rotvec[:, 0])[:, 1].astype(np.float32)
    for array in (pose, marker_m, clip, up):
        array.setflags(write=False)
    return Examples(pose, marker_m, clip, table.fps, up)


def every(examples: Examples, stride: int) -> Examples:
    """Return every `stride`-th example."""
    pose, marker, clip = examples.pose[::stride], examples.marker_m[::stride], examples.clip[::stride]
    up = None if examples.up is None else np.ascontiguousarray(examples.up[::stride])
    return Examples(np.ascontiguousarray(pose), np.ascontiguousarray(marker), clip, examples.fps / stride, up)
