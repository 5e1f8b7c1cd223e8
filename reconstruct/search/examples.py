"""The examples: every pose of the database as the query sees it, for one subject.

Of a database that is to be searched in mirror images, too, example N + n is the image of pose n. Its markers are computed like
any others, since no performer is symmetric; its joint coordinates are read off pose n when they are asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibration.subject.subject import Subject
from config.arrays import Floats, Ints, Singles, make_read_only
from config.errors import DatabaseError
from config.jit import kernel
from config.joints import N_JOINTS
from database.files.resample import mirror_rotvec
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import _write_matrices, _write_rotvecs, matrix_from_rotvec
from database.store import PoseDatabase
from reconstruct.search.distances import Features

CHUNK = 20_000
OF_IMAGE = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0])  # a mirror image turns and moves so


class PoseTable(Protocol):
    """The part of a motion database that is used here: poses of several clips at one rate."""

    @property
    def rotvec(self) -> Singles:
        """Charted rotation vectors, (N, J, 3) [rad]."""

    @property
    def root_m(self) -> Singles:
        """Positions of the root, (N, 3) [m]."""

    @property
    def fps(self) -> float:
        """Poses a second."""

    @property
    def clip_start(self) -> Ints:
        """First pose of each clip and the end, (C + 1,)."""


class PosesInPlace:
    """Joint coordinates without the root, (N, D) float32 [rad], of poses that stay where they lie; indexed like an array.

    rows: the poses, root first, (N, 3 + D); mirrored: whether N more follow, their mirror images, computed when asked for.
    """

    def __init__(self, rotvec: Singles, mirrored: bool) -> None:
        self.rows = make_read_only(rotvec.reshape(len(rotvec), -1))
        self.mirrored = mirrored
        self.shape = ((1 + mirrored) * len(rotvec), self.rows.shape[1] - 3)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: int | slice | NDArray[np.integer]) -> Singles:
        wanted = np.arange(*key.indices(len(self))) if isinstance(key, slice) else np.asarray(key)
        many = np.atleast_1d(wanted)
        n = len(self.rows)
        poses = self.rows[many % n].reshape(len(many), -1, 3)
        image = many >= n
        poses[image] = mirror_rotvec(poses[image])
        found = np.ascontiguousarray(poses[:, 1:]).reshape(len(many), -1)
        return found if np.ndim(wanted) else found[0]


@dataclass(frozen=True, slots=True)
class RootsInPlace:
    """Roots of poses that stay where they lie: rotvec (N, 3) [rad] and position_m (N, 3) in the world, one a row.

    mirrored: whether N more follow, their mirror images.
    """

    rotvec: Singles
    position_m: Singles
    mirrored: bool

    def steps(self, first: Ints, last: Ints) -> Floats:
        """Return how the root moves from poses to others, (K, 6): rotation vector [rad], shift [m], in the axes of the last."""
        n, steps = len(self.rotvec), np.empty((len(last), 6))
        before, after = (self.rotvec[rows % n].astype(np.float64) for rows in (first, last))
        moved = (self.position_m[last % n] - self.position_m[first % n]).astype(np.float64)
        _write_steps(before, after, moved, steps)
        steps[last >= n] *= OF_IMAGE
        return steps


@kernel
def _write_steps(before: Floats, after: Floats, moved: Floats, out: Floats) -> None:
    """Write turn and shift in the axes of `after`, (K, 6), of rotation vectors (K, 3) and shifts in the world (K, 3)."""
    n = len(moved)
    A, B, turn, vector = np.empty((n, 3, 3)), np.empty((n, 3, 3)), np.empty((n, 3, 3)), np.empty((n, 3))
    _write_matrices(before, A)
    _write_matrices(after, B)
    for k in range(n):
        for i in range(3):
            out[k, 3 + i] = B[k, 0, i] * moved[k, 0] + B[k, 1, i] * moved[k, 1] + B[k, 2, i] * moved[k, 2]
            for j in range(3):
                turn[k, i, j] = A[k, 0, i] * B[k, 0, j] + A[k, 1, i] * B[k, 1, j] + A[k, 2, i] * B[k, 2, j]
    _write_rotvecs(turn, vector)  # the same about the axes of either pose
    out[:, :3] = vector


@dataclass(frozen=True, slots=True)
class Examples:
    """Poses and their markers at the default root.

    Attributes:
        pose: joint coordinates without the root, (N, D) float32 [rad].
        marker_m: c_n = f(q_n; s, v, z0), (N, 3M) float32 [m] (Chai & Hodgins 2005, eq. 1).
        clip: clip of each pose, (N,) int32.
        fps: frame rate of the poses.
        up: the world's vertical in the root's frame, (N, 3) float32, or None.
        root: movements of the roots, or None.
    """

    pose: Singles | PosesInPlace
    marker_m: Singles
    clip: NDArray[np.int32]
    fps: float
    up: Singles | None = None
    root: RootsInPlace | None = None

    def __len__(self) -> int:
        return len(self.pose)

    @property
    def n_stored(self) -> int:
        """Number of poses that are not mirror images of others."""
        return len(self.pose.rows) if isinstance(self.pose, PosesInPlace) else len(self.pose)

    @property
    def features(self) -> Features:
        """What queries are compared with, for the kernels."""
        return Features(
            make_read_only(self.marker_m), self.pose.rows if isinstance(self.pose, PosesInPlace) else make_read_only(self.pose)
        )


def compute_examples(subject: Subject, table: PoseTable) -> Examples:
    """Compute the features of every pose for this subject's skeleton and markers.

    Raises DatabaseError: no poses.
    """
    marker = np.empty((count_examples(table), 3 * len(subject.markers)), np.float32)
    first = 0
    for block in iterate_marker_blocks(subject, table):
        marker[first : first + len(block)] = block
        first += len(block)
    return build_examples(table, marker)


def count_examples(table: PoseTable) -> int:
    """Return the number of poses, with mirror images. Raises DatabaseError: there are none."""
    n = len(table.rotvec)
    if n == 0:
        raise DatabaseError("the database holds no poses; build one from clips with `duocap database build`")
    return (1 + is_mirrored(table)) * n


def is_mirrored(table: PoseTable) -> bool:
    """Return whether mirror images are to be searched, too."""
    return isinstance(table, PoseDatabase) and table.mirrored


def iterate_marker_blocks(subject: Subject, table: PoseTable) -> Iterator[Singles]:
    """Return the markers of successive poses and then of their mirror images, (n, 3M) float32 [m]."""
    for poses in _iterate_pose_blocks(table):
        yield (
            compute_local_markers(subject.skeleton, poses, subject.joint, subject.offset_m)
            .reshape(len(poses), -1)
            .astype(np.float32)
        )


def _iterate_pose_blocks(table: PoseTable) -> Iterator[Singles]:
    """Return successive poses and then their mirror images, (n, J, 3) [rad]."""
    for image in (False, True)[: 1 + is_mirrored(table)]:
        for first in range(0, len(table.rotvec), CHUNK):
            poses = table.rotvec[first : first + CHUNK]
            yield mirror_rotvec(poses) if image else poses


def collect_root_rotvec(table: PoseTable) -> Singles:
    """Return the root's orientation in every example, (N, 3) [rad]."""
    if not is_mirrored(table):
        return table.rotvec[:, 0]
    return np.concatenate([poses[:, 0] for poses in _iterate_pose_blocks(table)])


def build_examples(table: PoseTable, marker_m: Singles) -> Examples:
    """Return the examples of a database for markers that were computed of its poses, (N, 3M) float32 [m].

    The poses of a single file are copied into memory, so that a search never waits for the disk; those of several files are there
    already.
    """
    pose: Singles | PosesInPlace
    if isinstance(table, PoseDatabase) and (table.parts or table.mirrored):
        pose = PosesInPlace(table.rotvec, table.mirrored)
    else:
        pose = np.ascontiguousarray(table.rotvec[:, 1:]).reshape(len(table.rotvec), 3 * (N_JOINTS - 1))
        pose.setflags(write=False)
    n_clips = len(table.clip_start) - 1
    clip = np.repeat(np.arange(n_clips, dtype=np.int32), np.diff(table.clip_start))
    clip = np.concatenate([clip, clip + np.int32(n_clips)]) if is_mirrored(table) else clip
    up = np.concatenate([matrix_from_rotvec(poses[:, 0])[:, 1].astype(np.float32) for poses in _iterate_pose_blocks(table)])
    for array in (marker_m, clip, up):
        array.setflags(write=False)
    roots = RootsInPlace(table.rotvec[:, 0], table.root_m, is_mirrored(table))
    return Examples(pose, marker_m, clip, table.fps, up, roots)


def thin_examples(examples: Examples, stride: int) -> Examples:
    """Return every `stride`-th example."""
    pose, marker, clip = examples.pose[::stride], examples.marker_m[::stride], examples.clip[::stride]
    up = None if examples.up is None else np.ascontiguousarray(examples.up[::stride])
    return Examples(np.ascontiguousarray(pose), np.ascontiguousarray(marker), clip, examples.fps / stride, up)
