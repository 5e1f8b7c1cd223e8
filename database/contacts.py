"""Which feet stand on the ground in each pose of a database: low over the floor of their clip, and slow.

The floor of a clip is where the balls of the feet are when they hardly move, not height zero: recordings differ by
centimetres. Whoever is over it for longer than a jump lasts stands on something else (a ladder, a chair), and there a foot
that keeps still counts as standing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from config.joints import JOINT_INDEX
from database.kinematics import forward
from database.rotations import Floats
from database.skeleton import Skeleton
from database.store import add_arrays, open_database

Labels = NDArray[np.uint8]

CONTACT_JOINTS: Final = ("leftFoot", "leftToes", "rightFoot", "rightToes")  # ankles and balls of the feet: the columns of labels
CONTACT_INDEX: Final = np.array([JOINT_INDEX[name] for name in CONTACT_JOINTS], np.int64)
CONTACT_INDEX.setflags(write=False)
ARRAY: Final = "contacts"  # name of the labels in the database's file

SLOW_M_S = 0.4  # rolling over the ball of the foot moves an ankle in contact that fast
STILL_M_S = 0.2
LOW_M = 0.045
FLOOR_PERCENTILE = 5.0
MIN_STILL = 10  # points that tell where a clip's floor is; with fewer all of them are asked
SHORTEST_S = 0.07  # neither touch nor lift for less
JUMP_S = 0.7  # nobody is in the air for longer
CHUNK = 8192


class ContactTable(Protocol):
    """What is needed of a motion database."""

    @property
    def fps(self) -> float:
        """Poses a second."""

    @property
    def rotvec(self) -> NDArray[np.float32]:
        """Charted rotation vectors, (N, J, 3) [rad]."""

    @property
    def root_m(self) -> NDArray[np.float32]:
        """Places of the hips, (N, 3) [m], Y up."""

    @property
    def clip_start(self) -> NDArray[np.int64]:
        """First pose of each clip and the end, (C + 1,)."""

    @property
    def clip_skeleton(self) -> NDArray[np.int64]:
        """Index into `skeletons` of each clip, (C,)."""

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """The skeletons of the clips."""

    @property
    def extra(self) -> Mapping[str, NDArray[Any]]:
        """Arrays of later stages by name."""


def database_contacts(table: ContactTable) -> Labels:
    """Give the labels of every pose, those stored with the database if there are any, (N, 4) uint8 as `CONTACT_JOINTS`."""
    stored = table.extra.get(ARRAY)
    if stored is not None and stored.shape == (len(table.root_m), len(CONTACT_JOINTS)):
        return np.asarray(stored, np.uint8)
    labels = np.empty((len(table.root_m), len(CONTACT_JOINTS)), np.uint8)
    for clip, first in enumerate(table.clip_start[:-1]):
        part = slice(int(first), int(table.clip_start[clip + 1]))
        skeleton = table.skeletons[int(table.clip_skeleton[clip])]
        labels[part] = contacts_of(contact_points_m(skeleton, table.rotvec[part], table.root_m[part]), table.fps)
    labels.setflags(write=False)
    return labels


def store_contacts(path: str | Path) -> None:
    """Store the labels with a database. Raises DatabaseError."""
    add_arrays(path, {ARRAY: database_contacts(open_database(path))})


def contact_points_m(skeleton: Skeleton, rotvec: NDArray[Any], root_m: NDArray[Any]) -> Floats:
    """Give ankles and balls of the feet, columns as `CONTACT_JOINTS`: (N, J, 3) [rad], (N, 3) [m] -> (N, 4, 3) [m] world."""
    points = np.empty((len(root_m), len(CONTACT_INDEX), 3))
    for first in range(0, len(root_m), CHUNK):
        part = slice(first, first + CHUNK)
        points[part] = forward(skeleton, rotvec[part], root_m[part])[1][:, CONTACT_INDEX]
    return points


def contacts_of(points_m: Floats, fps: float) -> Labels:
    """Label one clip: points_m (N, 4, 3) [m] world, Y up, at `fps` -> (N, 4) uint8, 1 where the point stands on the ground."""
    n = len(points_m)
    out = np.zeros((n, points_m.shape[1]), np.uint8)
    if n < 3:
        return out
    speed = speeds_m_s(points_m, fps)
    height = np.ascontiguousarray(points_m[:, :, 1])
    level = floor_levels_m(height, speed)
    shortest, jump = max(1, round(SHORTEST_S * fps)), max(1, round(JUMP_S * fps))
    _label(height - level, speed, shortest, jump, out)
    return out


def speeds_m_s(points_m: Floats, fps: float) -> Floats:
    """Give speeds as central differences over about 1/30 s, so that they mean the same at any rate: (N, P, 3) -> (N, P)."""
    half = max(1, round(fps / 60.0))
    after = np.minimum(np.arange(len(points_m)) + half, len(points_m) - 1)
    before = np.maximum(np.arange(len(points_m)) - half, 0)
    moved = np.linalg.norm(points_m[after] - points_m[before], axis=2)
    return np.asarray(moved * fps / np.maximum(after - before, 1)[:, None])


def floor_levels_m(height_m: Floats, speed_m_s: Floats) -> Floats:
    """Give the height every point has when it stands on the clip's floor, (N, 4) twice -> (4,) [m].

    Each point has its own: an ankle is higher than a ball, and shoes, marker placement and fitted skeletons make left and right
    differ, but not by more than half of LOW_M: a foot that is never down in a clip (a kick) is over the floor of the other.
    """
    still = speed_m_s < SLOW_M_S
    enough = still.sum(axis=0) >= MIN_STILL
    chosen = [height_m[still[:, k], k] if enough[k] else height_m[:, k] for k in range(height_m.shape[1])]
    pair = np.array([np.percentile(heights, FLOOR_PERCENTILE) for heights in chosen]).reshape(2, 2)
    return np.asarray(np.minimum(pair, pair.min(axis=0) + LOW_M / 2).ravel())


@kernel
def _fill(flags: Labels, value: int, shortest: int) -> None:
    """Turn over, in place, runs of `value` shorter than `shortest` that neither begin nor end the clip."""
    begin = 0
    for i in range(1, len(flags)):
        if flags[i] != flags[i - 1]:
            if flags[begin] == value and begin > 0 and i - begin < shortest:
                flags[begin:i] = 1 - value
            begin = i


@kernel
def _label(over_m: Floats, speed: Floats, shortest: int, jump: int, out: Labels) -> None:
    """Write labels: low and slow, or still where nothing was low for longer than a jump; then drop what is too short."""
    n, points = over_m.shape
    grounded = -1  # last frame with a point near the floor
    for i in range(n + 1):
        low = i == n
        for k in range(points):
            if i < n:
                near = over_m[i, k] < LOW_M
                out[i, k] = near and speed[i, k] < SLOW_M_S
                low = low or near
        if low and i - grounded - 1 > jump:
            for j in range(grounded + 1, i):
                for k in range(points):
                    out[j, k] = speed[j, k] < STILL_M_S
        if low:
            grounded = i
    for k in range(points):
        _fill(out[:, k], 0, shortest)  # gaps first: a flicker must not cost the contact around it
        _fill(out[:, k], 1, shortest)
