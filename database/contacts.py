"""Ground contacts of the feet in each pose of a database: points that are low over the floor of their clip, and slow.

The floor of a clip is where the balls of the feet are when they hardly move, not height zero: recordings differ by centimetres.
A body that is above it for longer than a jump lasts stands on something else (a ladder, a chair), and there every foot that keeps
still is in contact.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from config.arrays import Bytes, Floats, Singles
from config.joints import JOINT_INDEX
from database.clips import find_runs
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from database.store import PoseDatabase

CONTACT_JOINTS: Final = ("leftFoot", "leftToes", "rightFoot", "rightToes")  # ankles and balls of the feet: the columns of labels
CONTACT_INDEX: Final = np.array([JOINT_INDEX[name] for name in CONTACT_JOINTS], np.int64)
CONTACT_INDEX.setflags(write=False)

SLOW_M_S = 0.4  # rolling over the ball of the foot moves an ankle in contact at up to this speed
STILL_M_S = 0.2
LOW_M = 0.045
FLOOR_PERCENTILE = 5.0
MIN_STILL = 10  # frames with a slow point that are enough to find its floor; with fewer, all frames are used
MIN_RUN_S = 0.07  # shorter contacts and shorter gaps are removed
MAX_JUMP_S = 0.7  # nobody is in the air for longer
CHUNK = 8192


def label_database_contacts(database: PoseDatabase) -> Bytes:
    """Return the labels of every pose of a database, (N, 4), columns as `CONTACT_JOINTS`, 1 where the point is on the ground."""
    labels = np.empty((database.n_poses, len(CONTACT_JOINTS)), np.uint8)
    for clip, (first, stop) in enumerate(pairwise(database.clip_start.tolist())):
        skeleton = database.skeletons[int(database.clip_skeleton[clip])]
        points_m = compute_contact_points_m(skeleton, database.rotvec[first:stop], database.root_m[first:stop])
        labels[first:stop] = label_contacts(points_m, database.fps)
    labels.setflags(write=False)
    return labels


def compute_contact_points_m(skeleton: Skeleton, rotvec: Floats | Singles, root_m: Floats | Singles) -> Floats:
    """Return ankles and balls of the feet, columns as `CONTACT_JOINTS`, (N, 4, 3) [m] world.

    Args:
        skeleton: of the performer.
        rotvec: of the joints, (N, J, 3) [rad].
        root_m: of the hips, (N, 3) [m].
    """
    points = np.empty((len(root_m), len(CONTACT_INDEX), 3))
    for first in range(0, len(root_m), CHUNK):
        part = slice(first, first + CHUNK)
        points[part] = compute_forward_kinematics(skeleton, rotvec[part], root_m[part])[1][:, CONTACT_INDEX]
    return points


def label_contacts(points_m: Floats, fps: float) -> Bytes:
    """Return which points of a clip are on the ground, (N, 4) uint8, 1 where they are.

    points_m: positions of heels and toes in the world, Y up, (N, 4, 3) [m]; fps: frame rate [Hz].
    """
    if len(points_m) < 3:
        return np.zeros(points_m.shape[:2], np.uint8)
    speed = compute_speeds_m_s(points_m, fps)
    height = np.ascontiguousarray(points_m[:, :, 1])
    level = estimate_floor_levels_m(height, speed)
    shortest, jump = max(1, round(MIN_RUN_S * fps)), max(1, round(MAX_JUMP_S * fps))
    return _label_points(height - level, speed, shortest, jump)


def compute_speeds_m_s(points_m: Floats, fps: float) -> Floats:
    """Return speeds as central differences over about 1/30 s, comparable at any rate: (N, P, 3) [m] -> (N, P) [m/s]."""
    half = max(1, round(fps / 60.0))
    after = np.minimum(np.arange(len(points_m)) + half, len(points_m) - 1)
    before = np.maximum(np.arange(len(points_m)) - half, 0)
    moved = np.linalg.norm(points_m[after] - points_m[before], axis=2)
    return np.asarray(moved * fps / np.maximum(after - before, 1)[:, None])


def estimate_floor_levels_m(height_m: Floats, speed_m_s: Floats) -> Floats:
    """Return the height that every point has on the clip's floor: (N, 4) [m], (N, 4) [m/s] -> (4,) [m].

    An ankle is higher than a ball, and shoes, marker placement and fitted skeletons make left and right differ, but by half of
    LOW_M at most: for a foot that is never down in a clip (a kick) the floor is that of the other.
    """
    still = speed_m_s < SLOW_M_S
    enough = still.sum(axis=0) >= MIN_STILL
    chosen = [height_m[still[:, k], k] if enough[k] else height_m[:, k] for k in range(height_m.shape[1])]
    pair = np.array([np.percentile(heights, FLOOR_PERCENTILE) for heights in chosen]).reshape(2, 2)
    return np.asarray(np.minimum(pair, pair.min(axis=0) + LOW_M / 2).ravel())


def _label_points(over_m: Floats, speed: Floats, shortest: int, jump: int) -> Bytes:
    """Return labels: low and slow, or still where no point was low for longer than a jump; without short runs.

    Args:
        over_m: heights over the floor, (N, P) [m].
        speed: (N, P) [m/s].
        shortest: shorter contacts and gaps are removed [frames].
        jump: the longest time in the air [frames].
    """
    near = over_m < LOW_M
    labels = near & (speed < SLOW_M_S)
    for first, stop in find_runs(np.logical_not(near.any(axis=1))):
        if stop - first > jump:
            labels[first:stop] = speed[first:stop] < STILL_M_S
    for column in labels.T:
        for value in (False, True):  # gaps first: a flicker must not cost the contact around it
            for first, stop in find_runs(column == value):
                if first > 0 and stop < len(column) and stop - first < shortest:
                    column[first:stop] = not value
    return labels.astype(np.uint8)
