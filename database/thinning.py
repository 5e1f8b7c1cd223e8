"""Thinning: leave out poses that are nearly the same as one that is kept, whichever clip that is in.

The distance of two poses is the largest of the angles between the orientations of a joint relative to its parent (geodesic, each
joint but the root) and of the angle between the verticals, in the frame of the hips: how the whole body is tilted. The heading
and the place do not count. A pose is kept if no pose kept before is nearer than a given distance d. So kept poses are at least d
from each other, and each that is left out is nearer than d to one that is kept.

Candidates come from a hash grid. A part of a unit vector that turns by an angle changes by the angle at most; so with cells twice
as wide as d over `N_PARTS` of such numbers, all poses nearer than d lie in the cell of a pose or in the next on the nearer side.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats, Ints, Singles, make_read_only
from config.jit import kernel
from config.joints import JOINT_INDEX
from database.clips import Clip, find_runs, slice_clip
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import matrix_from_rotvec, quaternion_from_matrix

# Which part (row, column of the matrix) of a joint's orientation varies most: legs swing to the front, arms up and to the front.
PARTS = (
    ("leftUpperLeg", 2, 1),
    ("rightUpperLeg", 2, 1),
    ("leftUpperArm", 1, 0),
    ("rightUpperArm", 1, 0),
    ("leftLowerArm", 2, 0),
    ("rightLowerArm", 2, 0),
)
N_PARTS = len(PARTS)
SLACK = 1.0001  # single precision
BUCKETS = 1 << 20
FIRST_ROOM = 1 << 14
THINNED: Final = "thinned_rad"  # kept with a database's file
MARK = "~"  # 14_02~37: the piece of 14_02 that begins with its pose 37


class KeptPoses(NamedTuple):
    """The poses kept so far: quaternions (K, 4 (J - 1)), verticals (K, 3); head (BUCKETS,) and next (K,), the buckets' lists."""

    quaternion: Singles
    up: Singles
    head: NDArray[np.int32]
    next: NDArray[np.int32]


@kernel
def _hash_cell(cell: Ints) -> int:
    """Return the bucket of a cell (N_PARTS,)."""
    mixed = np.int64(0)
    for part in range(cell.shape[0]):
        mixed = (mixed * 0x2545F491 + cell[part] + 0x51) & 0xFFFFFFFF
        mixed = (mixed ^ (mixed >> 15)) * 0x45D9F3B & 0xFFFFFFFF
    return int((mixed ^ (mixed >> 13)) & (BUCKETS - 1))


@kernel
def _is_near(quaternion: Singles, up: Singles, kept: KeptPoses, k: int, limit: Floats) -> bool:
    """Return whether a pose is nearer to kept pose k than `limit`: squared chords of unit quaternions and of unit vectors."""
    other = kept.quaternion[k]
    for j in range(0, quaternion.shape[0], 4):
        product = 0.0
        for i in range(4):
            product += quaternion[j + i] * other[j + i]
        sign = np.float32(1.0) if product >= 0.0 else np.float32(-1.0)  # q and -q are one rotation
        squared = 0.0
        for i in range(4):
            e = quaternion[j + i] - sign * other[j + i]
            squared += e * e
        if squared >= limit[0]:
            return False
    squared = 0.0
    for i in range(3):
        e = up[i] - kept.up[k, i]
        squared += e * e
    return bool(squared < limit[1])


@kernel
def _keep_poses(quaternion: Singles, up: Singles, place: Floats, n_kept: int, limit: Floats, kept: KeptPoses, keep: Bools) -> int:
    """Write which of successive poses are kept, (N,), enter them, and return how many there are now.

    place: the pose in the grid, in cells, (N, N_PARTS); kept: with room for all of them.
    """
    cell = np.empty(place.shape[1], np.int64)
    for n in range(place.shape[0]):
        found = False
        for corner in range(1 << place.shape[1]):
            for part in range(place.shape[1]):
                own = math.floor(place[n, part])
                side = 1 if place[n, part] - own >= 0.5 else -1
                cell[part] = own + (side if corner >> part & 1 else 0)
            k = kept.head[_hash_cell(cell)]
            while k >= 0 and not found:
                found = _is_near(quaternion[n], up[n], kept, k, limit)
                k = kept.next[k]
            if found:
                break
        keep[n] = not found
        if not found:
            for part in range(place.shape[1]):
                cell[part] = math.floor(place[n, part])
            bucket = _hash_cell(cell)
            kept.quaternion[n_kept], kept.up[n_kept] = quaternion[n], up[n]
            kept.next[n_kept], kept.head[bucket] = kept.head[bucket], n_kept
            n_kept += 1
    return n_kept


class Thinner:
    """Decides for one clip after the other which poses are kept; 380 bytes of memory for each of these.

    n_seen, n_kept: how many poses there were, and how many of them are kept.
    """

    def __init__(self, distance_rad: float) -> None:
        assert 0.0 < distance_rad < 1.0
        self.distance_rad = distance_rad
        self.n_seen = self.n_kept = 0
        self._limit = np.array([(2.0 * math.sin(distance_rad / 4.0)) ** 2, (2.0 * math.sin(distance_rad / 2.0)) ** 2])
        quaternion, up = _allocate_poses(0)
        self._kept = KeptPoses(quaternion, up, np.full(BUCKETS, -1, np.int32), np.empty(0, np.int32))

    def keep(self, clip: Clip) -> Bools:
        """Return which poses of a clip are kept, (N,)."""
        local = local_from_charted(clip.rotvec)
        quaternion = quaternion_from_matrix(local[:, 1:]).astype(np.float32).reshape(clip.n_frames, -1)
        up = np.ascontiguousarray(matrix_from_rotvec(clip.rotvec[:, 0])[:, 1], np.float32)
        parts = np.stack([local[:, JOINT_INDEX[joint], row, column] for joint, row, column in PARTS], axis=1)
        self._make_room(clip.n_frames)
        keep = np.zeros(clip.n_frames, np.bool_)
        place = parts / (2.0 * SLACK * self.distance_rad)
        quaternion, up, place = make_read_only(quaternion), make_read_only(up), make_read_only(place)
        self.n_kept = _keep_poses(quaternion, up, place, self.n_kept, self._limit, self._kept, keep)
        self.n_seen += clip.n_frames
        return keep

    def pieces(self, clips: Iterable[Clip]) -> Iterator[Clip]:
        """Return what is kept of clips: pieces of successive poses, named by the first one (`MARK`) unless they are whole."""
        for clip in clips:
            for first, stop in find_runs(self.keep(clip)):
                whole = stop - first == clip.n_frames
                yield slice_clip(clip, first, stop, clip.name if whole else f"{clip.name}{MARK}{first}")

    def line(self) -> str:
        """Return what was done, for the user."""
        kept = f"{self.n_kept} of {self.n_seen} poses kept, {100.0 * self.n_kept / max(self.n_seen, 1):.1f} %"
        return f"thinned to {math.degrees(self.distance_rad):g} degrees, the largest angle of a joint or of the tilt: {kept}"

    def _make_room(self, more: int) -> None:
        """Provide room for as many more poses; doubled, so that growing costs little."""
        old = self._kept
        if self.n_kept + more <= len(old.next):
            return
        size = max(FIRST_ROOM, 2 * len(old.next), self.n_kept + more)
        quaternion, up = _allocate_poses(size)
        chain = np.empty(size, np.int32)
        for new, known in ((quaternion, old.quaternion), (up, old.up), (chain, old.next)):
            new[: self.n_kept] = known[: self.n_kept]
        self._kept = KeptPoses(quaternion, up, old.head, chain)


def _allocate_poses(size: int) -> tuple[Singles, Singles]:
    """Return room for quaternions and verticals of poses."""
    return np.empty((size, 4 * (len(JOINT_INDEX) - 1)), np.float32), np.empty((size, 3), np.float32)
