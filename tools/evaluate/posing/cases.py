"""Queries of posing: takes that a style is learned from, poses of other takes, and the points that are given of those.

Every held-out pose is rotated about the vertical, each by 137.5 degrees more than the one before, and stands at the origin:
neither its heading nor its position can be known from the learned takes. The camera is 4 m away and so sees bodies from all
sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from calibration.placement import make_facing_rig
from config.arrays import Floats
from config.errors import DatabaseError
from config.joints import JOINT_INDEX
from database.clips import Clip, slice_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from tools.evaluate.protocol import read_take

GOLDEN_RAD = np.radians(137.5)
CAMERA = make_facing_rig((640, 480), 60.0, 4.0, 0.2, 1.2).cameras[0]


@dataclass(frozen=True, slots=True)
class FrameRange:
    """Frames first..stop-1 of a take (0-based, 120 Hz); stop None: to the end."""

    stem: str
    first: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class TakeSplit:
    """A person's takes of one behaviour: learned from, and held out."""

    name: str
    learned: tuple[FrameRange, ...]
    held_out: tuple[FrameRange, ...]


def whole_takes(*stems: str) -> tuple[FrameRange, ...]:
    """Return whole takes."""
    return tuple(FrameRange(stem) for stem in stems)


# Within one take, 200 frames lie between learned and held-out ones.
SPLITS = (
    TakeSplit("07 walking", whole_takes("07_01", "07_02", "07_03", "07_06", "07_10"), whole_takes("07_07", "07_08")),
    TakeSplit("16 walking", whole_takes("16_16", "16_21", "16_31", "16_47"), whole_takes("16_15", "16_32")),
    TakeSplit("09 running", whole_takes("09_01", "09_02", "09_03", "09_05", "09_06", "09_07", "09_10"), whole_takes("09_09")),
    TakeSplit("14 boxing", (FrameRange("14_02", 0, 2800),), (FrameRange("14_02", 3000),)),
    TakeSplit("02 sword", (FrameRange("02_07", 0, 1050),), (FrameRange("02_07", 1250),)),
    TakeSplit("16 jumping", whole_takes("16_06", "16_09", "16_10"), whole_takes("16_05")),
    TakeSplit("49 jumping", (FrameRange("49_02", 0, 1600),), (FrameRange("49_02", 1800),)),
)


def splits(names: tuple[str, ...]) -> tuple[TakeSplit, ...]:
    """Return the named splits, all for no names. Raises DatabaseError: no such split."""
    known = {split.name: split for split in SPLITS}
    for name in names:
        if name not in known:
            raise DatabaseError(f"{name!r} is none of the behaviours posed; take {', '.join(known)}")
    return tuple(known[name] for name in names) or SPLITS


@dataclass(frozen=True, slots=True)
class PoseQuery:
    """The points given of a pose: joints (P,) int64 and their targets.

    target_m: (P, 3) world [m]; or image: (P, 2), normalised points in `camera`, without lens distortion.
    """

    joint: NDArray[np.int64]
    target_m: Floats | None
    image: Floats | None = None
    camera: Camera | None = None


KINDS = {
    "3 points": (("leftHand", "rightHand", "leftFoot"), False),
    "4 points": (("leftHand", "rightHand", "leftFoot", "rightFoot"), False),
    "6 points": (("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "hips"), False),
    "4 image points": (("leftHand", "rightHand", "leftFoot", "rightFoot"), True),
    "6 image points": (("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "hips"), True),
}
WHAT = {
    "3 points": "wrists and left ankle in space",
    "4 points": "wrists and ankles in space",
    "6 points": "wrists, ankles, head and hips in space",
    "4 image points": "wrists and ankles in one camera's image",
    "6 image points": "wrists, ankles, head and hips in one camera's image",
}


def pose_query(kind: str, joint_m: Floats) -> PoseQuery:
    """Return the exact points that a kind gives of a pose; joint_m: (J, 3) [m], world."""
    names, in_image = KINDS[kind]
    joint = np.array([JOINT_INDEX[name] for name in names], np.int64)
    if not in_image:
        return PoseQuery(joint, np.ascontiguousarray(joint_m[joint]))
    x = CAMERA.to_camera(joint_m[joint])
    return PoseQuery(joint, None, np.ascontiguousarray(x[:, :2] / x[:, 2:]), CAMERA)


@dataclass(frozen=True, slots=True)
class PersonPoses:
    """Poses of a person: rotvec (N, J, 3) charted [rad], root_m (N, 3) [m], joint_m (N, J, 3) [m], world."""

    rotvec: Floats
    root_m: Floats
    joint_m: Floats


def read_ranges(ranges: Sequence[FrameRange], motion: Path) -> list[Clip]:
    """Read parts of takes, cleaned. Raises FileFormatError, DatabaseError."""
    takes = [read_take(part.stem, motion) for part in ranges]
    return [
        slice_clip(take, part.first, take.n_frames if part.stop is None else part.stop)
        for take, part in zip(takes, ranges, strict=True)
    ]


def held_out_poses(clips: list[Clip], max_poses: int) -> PersonPoses:
    """Return at most `max_poses` poses, evenly over the clips, each rotated and moved to the origin."""
    rotvec = np.concatenate([clip.rotvec for clip in clips])
    height = np.concatenate([clip.root_m[:, 1] for clip in clips])
    rows = np.unique(np.linspace(0, len(rotvec) - 1, min(max_poses, len(rotvec))).round().astype(np.int64))
    rotated = rotated_about_vertical(rotvec[rows], GOLDEN_RAD * np.arange(len(rows)))
    root_m = np.zeros((len(rows), 3))
    root_m[:, 1] = height[rows]
    return PersonPoses(rotated, root_m, compute_forward_kinematics(clips[0].skeleton, rotated, root_m)[1])


def rotated_about_vertical(rotvec: Floats, angle_rad: Floats) -> Floats:
    """Rotate whole poses, (N, J, 3) [rad], by angles, (N,), about the vertical."""
    R = matrix_from_rotvec(np.stack([0.0 * angle_rad, angle_rad, 0.0 * angle_rad], axis=-1))
    out = rotvec.copy()
    out[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    return out


def pose_pool(clips: list[Clip]) -> tuple[Skeleton, Floats]:
    """Return the skeleton of clips, and their poses at half their rate for the search of the nearest, (N, J, 3)."""
    return clips[0].skeleton, np.concatenate([clip.rotvec[::2] for clip in clips])
