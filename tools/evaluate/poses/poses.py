"""Poses as joint positions at zero root position and orientation, by subject (Lai, Yuen & Lee 2012, sections 3.1 and 4).

Of the 23 joints those are taken that a pose can move: not the hips, which are the origin, nor their children, which are fixed to
them. 19 joints remain, D = 57 coordinates. Frames of the rest pose that begin some files (07_12, 09_10) are left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from config.arrays import Floats, Ints
from config.errors import DatabaseError
from config.joints import JOINT_INDEX, JOINTS, PARENT_OF
from database.clips import Clip
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from tools.evaluate.protocol import cmu_folder

MOVED = tuple(name for name in JOINTS if PARENT_OF[name] not in (None, "hips"))
N_COORDINATES = 3 * len(MOVED)
LEAD_IN, JUMP_M = 10, 0.15  # frames at the start; mean distance of the joints between two of them that no motion has
ALL = "all"


@dataclass(frozen=True, slots=True)
class SubjectPoses:
    """Takes of one CMU subject. key: its number; takes: pattern of the file stems; stands_for: a subject of the paper."""

    key: str
    behaviour: str
    takes: str
    stands_for: str = ""

    @property
    def name(self) -> str:
        """Return number and behaviour."""
        return f"{self.key} {self.behaviour}"


# 63 (golf) and 102 (basketball) of the paper are not among the motions at hand; three others stand for them.
SUBJECTS = (
    SubjectPoses("07", "walking", "07_*"),
    SubjectPoses("09", "running", "09_*"),
    SubjectPoses("14", "boxing", "14_02", "63 golf"),
    SubjectPoses("05", "dance", "05_*", "63 golf"),
    SubjectPoses("06", "basketball", "06_*", "102 basketball"),
)


def subjects(keys: Sequence[str]) -> tuple[SubjectPoses, ...]:
    """Return the subjects of some numbers, all for none. Raises DatabaseError: no such subject."""
    known = {subject.key: subject for subject in SUBJECTS}
    for key in keys:
        if key not in known:
            raise DatabaseError(f"{key!r} is none of the subjects measured; take {', '.join(known)}")
    return tuple(known[key] for key in keys) or SUBJECTS


def columns(joints: Sequence[str]) -> Ints:
    """Return the columns of some moved joints, (3 len(joints),)."""
    return np.array([3 * MOVED.index(name) + axis for name in joints for axis in range(3)], np.int64)


def positions(clip: Clip) -> Floats:
    """Return the moved joints' positions of a clip with the root at the origin, unrotated, (N, D) [m]."""
    rotvec = np.array(clip.rotvec)
    rotvec[:, 0] = 0.0
    joint_m = compute_forward_kinematics(clip.skeleton, rotvec, np.zeros(3))[1]
    return np.ascontiguousarray(joint_m[:, [JOINT_INDEX[name] for name in MOVED]].reshape(len(rotvec), N_COORDINATES))


def without_rest_pose(poses_m: Floats) -> Floats:
    """Return a take's poses, (N, D) [m], from the last jump within the first frames on."""
    start = poses_m[: LEAD_IN + 1].reshape(-1, len(MOVED), 3)
    steps_m = np.linalg.norm(np.diff(start, axis=0), axis=2).mean(axis=1)
    jumps = np.flatnonzero(steps_m > JUMP_M)
    return poses_m[jumps[-1] + 1 :] if len(jumps) else poses_m


@lru_cache(maxsize=2)
def read_poses(key: str, motion: Path) -> Floats:
    """Return all poses of a subject's takes, or of all CMU and HDM05 motions for ALL, (N, D) [m], read-only.

    Raises DuocapError: no motions there, none of the subject, or an unreadable one.
    """
    parts = [without_rest_pose(positions(clean_clip(read_clip(file))[0])) for file in _files(key, motion)]
    poses = np.concatenate(parts)
    poses.setflags(write=False)
    return poses


def _files(key: str, motion: Path) -> Iterator[Path]:
    """Yield the motion files of a subject, or all. Raises DatabaseError: there are none."""
    folder = cmu_folder(motion)
    if key == ALL:
        found = sorted([*folder.glob("*/*.amc"), *(motion / "hdm05" / "subjects").glob("*/*.amc")])
    else:
        found = sorted((folder / key).glob(f"{subjects([key])[0].takes}.amc"))
    if not found:
        raise DatabaseError(f"{folder}: no motions of subject {key}; expected {key}/{key}_TT.amc below it")
    yield from found
