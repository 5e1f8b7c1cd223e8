"""What posing is asked for: takes that a style is learned of, poses of other takes, and what is told of those.

Every held-out pose is turned about the vertical, each by 137.5 degrees more than the one before, and stands at the origin:
neither its heading nor its place is to be had from the takes learned of. The camera looks on from 4 m, and sees all sides.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from calibration.placement import facing_rig
from config.errors import DatabaseError
from config.joints import JOINT_INDEX
from database.asf_amc import DEFAULT_FPS
from database.cleaning import clean
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.read import read_clip
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import Skeleton
from tools.evaluation.protocol import ProtocolClip, query_file

GOLDEN_RAD = np.radians(137.5)
CAMERA = facing_rig((640, 480), 60.0, 4.0, 0.2, 1.2).left


@dataclass(frozen=True, slots=True)
class Part:
    """Frames first..stop-1 of a take (0-based, 120 Hz); stop None: to its end."""

    stem: str
    first: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A person's takes of one behaviour: those learned of, and those asked for."""

    name: str
    learned: tuple[Part, ...]
    asked: tuple[Part, ...]


def _takes(subject: str, *takes: str) -> tuple[Part, ...]:
    """Give whole takes of a subject."""
    return tuple(Part(f"{subject}_{take}") for take in takes)


# Within one take, 200 frames lie between what is learned and what is asked.
SPLITS = (
    Split("07 walking", _takes("07", "01", "02", "03", "06", "10"), _takes("07", "07", "08")),
    Split("16 walking", _takes("16", "16", "21", "31", "47"), _takes("16", "15", "32")),
    Split("09 running", _takes("09", "01", "02", "03", "05", "06", "07", "10"), _takes("09", "09")),
    Split("14 boxing", (Part("14_02", 0, 2800),), (Part("14_02", 3000),)),
    Split("02 sword", (Part("02_07", 0, 1050),), (Part("02_07", 1250),)),
    Split("16 jumping", _takes("16", "06", "09", "10"), _takes("16", "05")),
    Split("49 jumping", (Part("49_02", 0, 1600),), (Part("49_02", 1800),)),
)


def splits(names: tuple[str, ...]) -> tuple[Split, ...]:
    """Give the splits named, all if none is. Raises DatabaseError: no such split."""
    known = {split.name: split for split in SPLITS}
    for name in names:
        if name not in known:
            raise DatabaseError(f"{name!r} is none of the behaviours posed; take {', '.join(known)}")
    return tuple(known[name] for name in names) or SPLITS


@dataclass(frozen=True, slots=True)
class Asked:
    """What is told of a pose: joints (P,) int64 and where they shall be.

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


def asked(kind: str, joint_m: Floats) -> Asked:
    """Tell of a pose, joints (J, 3) [m] world, what a kind tells, exactly."""
    names, in_image = KINDS[kind]
    joint = np.array([JOINT_INDEX[name] for name in names], np.int64)
    if not in_image:
        return Asked(joint, np.ascontiguousarray(joint_m[joint]))
    x = CAMERA.to_camera(joint_m[joint])
    return Asked(joint, None, np.ascontiguousarray(x[:, :2] / x[:, 2:]), CAMERA)


@dataclass(frozen=True, slots=True)
class Poses:
    """Poses of a person: rotvec (N, J, 3) charted [rad], root_m (N, 3) [m], joint_m (N, J, 3) [m], world."""

    rotvec: Floats
    root_m: Floats
    joint_m: Floats


def parts(which: tuple[Part, ...], motion: Path) -> list[Clip]:
    """Read parts of takes, mended. Raises FileFormatError, DatabaseError."""
    clips = []
    for part in which:
        whole, _ = clean(read_clip(query_file(ProtocolClip(part.stem, ""), motion), fps=DEFAULT_FPS))
        clips.append(clip_slice(whole, part.first, whole.n_frames if part.stop is None else part.stop))
    return clips


def held_out(clips: list[Clip], most: int) -> Poses:
    """Give at most `most` poses, evenly over the clips, each turned and put to the origin."""
    rotvec = np.concatenate([clip.rotvec for clip in clips])
    height = np.concatenate([clip.root_m[:, 1] for clip in clips])
    rows = np.unique(np.linspace(0, len(rotvec) - 1, min(most, len(rotvec))).round().astype(np.int64))
    turned = turned_about_vertical(rotvec[rows], GOLDEN_RAD * np.arange(len(rows)))
    root_m = np.zeros((len(rows), 3))
    root_m[:, 1] = height[rows]
    return Poses(turned, root_m, forward(clips[0].skeleton, turned, root_m)[1])


def turned_about_vertical(rotvec: Floats, angle_rad: Floats) -> Floats:
    """Turn whole poses, (N, J, 3) [rad], by angles, (N,), about the world's up."""
    turn = matrix_from_rotvec(np.stack([0.0 * angle_rad, angle_rad, 0.0 * angle_rad], axis=-1))
    out = rotvec.copy()
    out[:, 0] = rotvec_from_matrix(turn @ matrix_from_rotvec(rotvec[:, 0]))
    return out


def pool(clips: list[Clip]) -> tuple[Skeleton, Floats]:
    """Give the skeleton and the poses of clips at half their rate, 60 a second, for who looks for the nearest, (N, J, 3)."""
    return clips[0].skeleton, np.concatenate([clip.rotvec[::2] for clip in clips])
