"""Poses to be restored, standardised and corrupted (Lai, Yuen & Lee 2012, sections 3.1, 4 and 4.2).

Poses are joint positions at zero root position and orientation, by subject. Of the 23 joints those are taken that a pose can
move: not the hips, which are the origin, nor their children, which are fixed to them. 19 joints remain, D = 57 coordinates.
Frames of the rest pose that begin some files (07_12, 09_10) are left out.

Training and test poses are random halves of all, as in the paper, or halves of the takes, of the people where all motions count;
a single take is cut into four parts. In random halves nearly every test pose has training poses 8 ms before and after it.

The error is the mean squared error of standardised coordinates. Each coordinate is standardised by itself: less its mean over the
training half, over its standard deviation there. An error of 1 is that of the mean pose, and what dense noise leaves if nothing
is done; sparse noise leaves 0.21 (4 of 19 joints).

The paper says neither how it standardises nor which share of joints sparse noise corrupts; both are chosen here. The Gaussian's
error follows from the covariance alone, so it tells standardisations apart (subjects 07, 09; the paper: dense noise 0.08, 0.10,
completion 0.23, 0.26): each coordinate by itself 0.13, 0.16 and 0.03, 0.04; one scale common to all 0.07, 0.12 and 0.006, 0.013.
None agrees with both rows; the first is the nearer to the second row, and the harder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DatabaseError
from config.joints import JOINT_INDEX, JOINTS, PARENT_OF
from database.clips import Clip
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from tools.evaluate.protocol import cmu_folder, hdm_folder

MOVED = tuple(name for name in JOINTS if PARENT_OF[name] not in (None, "hips"))
LEAD_IN, JUMP_M = 10, 0.15  # frames at the start; mean distance of the joints between two of them that no motion has
ALL = "all"
MIN_SCALE_M = 1e-3
LEAST_POSES = 200
PARTS = 4  # of a subject's single take
TUNING_SHARE = 4  # one in so many training poses chooses trade-offs
SPARSE_SHARE = 0.2  # of the joints
# The paper's joints 5, 9, 16, 19, 20 and 23, counted from 1 in the order of `config.joints`: its 23 joints in five chains.
OBSERVED = tuple(JOINTS[number - 1] for number in (5, 9, 16, 19, 20, 23))
# Takes of CMU subjects: behaviour, pattern of the file stems, subject of the paper that they stand for. 63 (golf) and 102
# (basketball) of the paper are not among the motions at hand.
SUBJECTS = {
    "07": ("walking", "07_*", "07 walking"),
    "09": ("running", "09_*", "09 running"),
    "14": ("boxing", "14_02", "63 golf"),
    "05": ("dance", "05_*", "63 golf"),
    "06": ("basketball", "06_*", "102 basketball"),
}


class Task(StrEnum):
    """Dense noise, sparse noise, completion."""

    DENSE = "dense noise"
    SPARSE = "sparse noise"
    COMPLETION = "completion"


class Halves(StrEnum):
    """What is parted at random into training and test poses."""

    POSES = "random halves"
    TAKES = "held-out takes"
    PEOPLE = "held-out people"  # all takes of a person are one


@dataclass(frozen=True, slots=True)
class SplitPoses:
    """Standardised poses: training half and test half, (N, D) each; scale_m: of their coordinates, (D,) [m].

    tuning: whether a training pose may choose trade-offs, (N,): they are to the others as test poses are to all.
    """

    train: Floats
    test: Floats
    scale_m: Floats
    tuning: Bools


@dataclass(frozen=True, slots=True)
class Corrupted:
    """Standardised poses as a model gets them: observed (N, D), 0 where missing; weight (N, D), 1 where observed, 0 elsewhere."""

    observed: Floats
    weight: Floats


def place_joints(clip: Clip) -> Floats:
    """Return the moved joints' positions of a clip with the root at the origin, unrotated, (N, D) [m]."""
    rotvec = np.array(clip.rotvec)
    rotvec[:, 0] = 0.0
    joint_m = compute_forward_kinematics(clip.skeleton, rotvec, np.zeros(3))[1]
    return np.ascontiguousarray(joint_m[:, [JOINT_INDEX[name] for name in MOVED]].reshape(len(rotvec), -1))


def drop_rest_pose(poses_m: Floats) -> Floats:
    """Return a take's poses, (N, D) [m], from the last jump within the first frames on."""
    start = poses_m[: LEAD_IN + 1].reshape(-1, len(MOVED), 3)
    jumps = np.flatnonzero(np.linalg.norm(np.diff(start, axis=0), axis=2).mean(axis=1) > JUMP_M)
    return poses_m[jumps[-1] + 1 :] if len(jumps) else poses_m


@lru_cache(maxsize=2)
def read_takes(key: str, motion: Path, every: int = 1) -> tuple[Floats, ...]:
    """Return the poses of each of a subject's takes, for ALL of each person of the CMU and HDM05 motions, (N, D) [m], read-only.

    Args:
        key: subject, or ALL.
        motion: folder of the unpacked motions.
        every: one in so many takes of each person is read.

    Raises DuocapError: no motions there, none of the subject, or an unreadable one.
    """
    cmu = cmu_folder(motion)
    people = [folder for of in (cmu, hdm_folder(motion)) for folder in sorted(of.glob("*"))] if key == ALL else [cmu / key]
    pattern = "*.amc" if key == ALL else f"{SUBJECTS[key][1]}.amc"
    files = [found[::every] for folder in people if (found := sorted(folder.glob(pattern)))]
    if not files:
        raise DatabaseError(f"{cmu}: no motions of subject {key}; expected {key}/{key}_TT.amc below it")
    by_person = [[drop_rest_pose(place_joints(clean_clip(read_clip(file))[0])) for file in own] for own in files]
    takes = [np.concatenate(own) for own in by_person] if key == ALL else by_person[0]
    if len(takes) == 1:
        takes = np.array_split(takes[0], PARTS)
    for take in takes:
        take.setflags(write=False)
    return tuple(takes)


def split_poses(takes_m: Sequence[Floats], halves: Halves, seed: int) -> SplitPoses:
    """Part poses, (N, D) [m] of each take, into halves and standardise both by the first. Raises DatabaseError: too few."""
    n, rng = sum(map(len, takes_m)), np.random.default_rng(seed)
    if n < LEAST_POSES:
        raise DatabaseError(f"{n} poses are too few to learn from half of them; give motions of {LEAST_POSES} or more")
    if halves is Halves.POSES:
        train, test = np.array_split(np.concatenate(takes_m)[rng.permutation(n)], 2)
        tuning = np.arange(len(train)) < len(train) // TUNING_SHARE
    else:
        order = rng.permutation(len(takes_m))
        total = np.cumsum([len(takes_m[k]) for k in order])
        cut = int(np.clip(np.searchsorted(total, n // 2) + 1, 2, len(order) - 1))
        train, test = (np.concatenate([takes_m[k] for k in part]) for part in (order[:cut], order[cut:]))
        tuning = np.arange(len(train)) < len(takes_m[order[0]])
        test = test[rng.permutation(len(test))]
    mean_m, scale_m = train.mean(axis=0), np.maximum(train.std(axis=0), MIN_SCALE_M)
    return SplitPoses((train - mean_m) / scale_m, (test - mean_m) / scale_m, scale_m, tuning)


def corrupt_poses(task: Task, poses: Floats, rng: np.random.Generator) -> Corrupted:
    """Corrupt standardised poses, (N, D). Where sparse noise struck is not told."""
    if task is Task.COMPLETION:
        weight = np.zeros_like(poses)
        weight[:, [3 * MOVED.index(name) + axis for name in OBSERVED for axis in range(3)]] = 1.0
        return Corrupted(poses * weight, weight)
    noise = rng.standard_normal(poses.shape)
    if task is Task.SPARSE:
        struck = rng.random((len(poses), len(MOVED))).argsort(axis=1) < round(SPARSE_SHARE * len(MOVED))
        noise *= np.repeat(struck, 3, axis=1)
    return Corrupted(poses + noise, np.ones_like(poses))


def compute_squared_error(restored: Floats, true: Floats) -> float:
    """Return the mean over poses and coordinates of the squared error, standardised, (N, D) twice."""
    return float(np.mean((restored - true) ** 2))


def compute_distance_mm(restored: Floats, true: Floats, scale_m: Floats) -> float:
    """Return the mean distance of the moved joints from the truth [mm], of standardised poses, (N, D) twice, and (D,) [m]."""
    error_m = ((restored - true) * scale_m).reshape(-1, len(MOVED), 3)
    return float(1e3 * np.linalg.norm(error_m, axis=2).mean())
