"""What is posed: the pose, the handles that are held and the keyframes; immutable, so that undo is to keep the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera
from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS, mirror_joint_name
from database.clips import Clip
from database.files.resample import mirror_clip as mirrored_clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics, local_from_charted
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from stream.take.take import measure_hips_height_m
from stream.web.picture import MAX_PX

Point = tuple[float, float, float]
ImagePoint = tuple[float, float]
Hold = TypeVar("Hold", Point, ImagePoint)
MAX_M = 100.0  # from the origin: what is farther is a mistake
SAME_TIME_S = 1e-3
MAX_TIME_S = 3600.0
FEET = ("leftFoot", "rightFoot")
ARM_DOWN_RAD = 1.2  # of the first pose


class PosingError(DuocapError):
    """An impossible request for a pose: a joint, place, time or file that does not exist."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredPose:
    """A pose.

    Attributes:
        rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation.
        root_m: (3,) [m].
    """

    rotvec: Floats
    root_m: Floats

    def __post_init__(self) -> None:
        if self.rotvec.shape != (N_JOINTS, 3) or self.root_m.shape != (3,):
            raise PosingError(f"a pose of shape {self.rotvec.shape} and {self.root_m.shape}; expected ({N_JOINTS}, 3) and (3,)")
        if not (np.isfinite(self.rotvec).all() and np.isfinite(self.root_m).all()):
            raise PosingError("a pose with a number that is not finite; expected angles in rad and metres")
        for array in (self.rotvec, self.root_m):
            array.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A pose at a time [s], with the handles that are held in it and their targets [m]."""

    time_s: float
    pose: StoredPose
    pins: Mapping[str, Point] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PictureFile:
    """A picture as the bytes of its file, PNG or JPEG, with its name."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, eq=False)
class PictureView:
    """A picture that is posed after: its size [px] and its camera.

    Attributes:
        fov_deg: horizontal field of view of a camera that nothing is known of [degrees].
        camera: the one that was solved or chosen, None while there is none.
        file: None of a picture that is not kept.
    """

    size: tuple[int, int]
    fov_deg: float = 50.0
    camera: Camera | None = None
    file: PictureFile | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """All that is kept of a session.

    Attributes:
        pins: targets of the held handles, by joint [m].
        image_points: image points of the joints seen in the picture, by joint [px].
        turns: orientations that joints are held in, by joint: rotation vectors in the world [rad].
        keys: keyframes in the order of time.
        model: name of the model that answers.
        shares: shares of its styles, empty if it has none.
    """

    pose: StoredPose
    pins: Mapping[str, Point] = field(default_factory=dict)
    image_points: Mapping[str, ImagePoint] = field(default_factory=dict)
    keys: tuple[Keyframe, ...] = ()
    model: str = ""
    shares: tuple[float, ...] = ()
    picture: PictureView | None = None
    turns: Mapping[str, Point] = field(default_factory=dict)

    @property
    def held(self) -> frozenset[str]:
        """The joints that are held at a place, at a point of the picture or in an orientation."""
        return frozenset((*self.pins, *self.image_points, *self.turns))


def create_document(skeleton: Skeleton) -> Document:
    """Return somebody who stands with the arms down, the feet held."""
    local = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        c, s = np.cos(ARM_DOWN_RAD), sign * np.sin(ARM_DOWN_RAD)
        local[JOINT_INDEX[f"{side}UpperArm"]] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    pose = StoredPose(np.ascontiguousarray(charted_from_local(local)), np.array([0.0, measure_hips_height_m(skeleton), 0.0]))
    positions = compute_joint_positions_m(skeleton, pose)
    return Document(pose, {name: check_point(positions[JOINT_INDEX[name]]) for name in FEET})


def compute_joint_positions_m(skeleton: Skeleton, pose: StoredPose) -> Floats:
    """Return the joints of a pose in the world, (J, 3) [m]."""
    return compute_forward_kinematics(skeleton, pose.rotvec, pose.root_m)[1]


def pin_joint(document: Document, joint: str, target_m: ArrayLike) -> Document:
    """Hold a joint at a place, (3,) [m], in place of any earlier hold.

    Args:
        document: the session's document.
        joint: name of the joint.
        target_m: place at which it is held, (3,) world [m].
    Raises: PosingError.
    """
    return replace(
        document,
        pins={**document.pins, check_joint_name(joint): check_point(target_m)},
        image_points=_leave_out(document.image_points, joint),
    )


def turn_joint(document: Document, joint: str, rotvec: ArrayLike) -> Document:
    """Hold a joint in an orientation in place of any earlier one.

    Args:
        document: the session's document.
        joint: name of the joint.
        rotvec: rotation vector, (3,) world [rad].
    Raises: PosingError.
    """
    x, y, z = (float(value) for value in _check_numbers(rotvec, 3, "an orientation", 2.0 * np.pi))
    return replace(document, turns={**document.turns, check_joint_name(joint): (x, y, z)})


def compute_turned_pose(skeleton: Skeleton, pose: StoredPose, joint: str, rotvec: ArrayLike) -> StoredPose:
    """Return a pose in which one joint has another orientation, and what lies beyond it goes with it.

    Args:
        skeleton: the body.
        pose: its pose.
        joint: name of the joint.
        rotvec: rotation vector of the joint, (3,) world [rad].
    """
    row, R = JOINT_INDEX[joint], matrix_from_rotvec(np.asarray(rotvec, np.float64))
    local = local_from_charted(pose.rotvec)
    if row > 0:
        R = compute_forward_kinematics(skeleton, pose.rotvec, pose.root_m)[0][PARENTS[row]].T @ R
    local[row] = R
    return StoredPose(np.ascontiguousarray(charted_from_local(local)), pose.root_m.copy())


def pin_image_point(document: Document, joint: str, image_px: ArrayLike) -> Document:
    """Hold a joint at a point of the picture, (2,) [px].

    Args:
        document: the session's document.
        joint: name of the joint.
        image_px: point at which it is held, (2,) [px].
    Raises: PosingError: no picture, or no such joint or point.
    """
    if document.picture is None:
        raise PosingError("there is no picture to place a point in; load one first")
    return replace(
        document,
        pins=_leave_out(document.pins, joint),
        image_points={**document.image_points, check_joint_name(joint): _check_image_point(image_px)},
    )


def replace_pose(document: Document, pose: StoredPose, skeleton: Skeleton) -> Document:
    """Replace the pose; joints held in space are held where the new pose has them, and points of a picture stay.

    Args:
        document: the session's document.
        pose: the new pose.
        skeleton: skeleton of the body.
    """
    rotation, joint_m = compute_forward_kinematics(skeleton, pose.rotvec, pose.root_m)
    pins = {name: check_point(joint_m[JOINT_INDEX[name]]) for name in document.pins}
    turns = {name: check_point(rotvec_from_matrix(rotation[JOINT_INDEX[name]])) for name in document.turns}
    return replace(document, pose=pose, pins=pins, turns=turns)


def release_joint(document: Document, joint: str) -> Document:
    """Release a joint."""
    return replace(
        document,
        pins=_leave_out(document.pins, joint),
        image_points=_leave_out(document.image_points, joint),
        turns=_leave_out(document.turns, joint),
    )


def _leave_out(held: Mapping[str, Hold], joint: str) -> dict[str, Hold]:
    """Return what is held without a joint."""
    return {name: at for name, at in held.items() if name != joint}


def mirror_document(document: Document, skeleton: Skeleton) -> Document:
    """Mirror pose and handles left to right, in the plane through the hips: L_j = M L_j' M (`database.files.resample`).

    Points of a picture are let go where its camera was solved or chosen.
    """
    clip = mirrored_clip(Clip("pose", skeleton, 1.0, document.pose.rotvec[None].copy(), document.pose.root_m[None].copy()))
    x = float(document.pose.root_m[0])
    root_m = clip.root_m[0] + (2.0 * x, 0.0, 0.0)
    pins = {mirror_joint_name(name): (2.0 * x - at[0], at[1], at[2]) for name, at in document.pins.items()}
    turns = {mirror_joint_name(name): (at[0], -at[1], -at[2]) for name, at in document.turns.items()}
    width = document.picture.size[0] if document.picture is not None else 0
    image_points = {mirror_joint_name(name): (width - 1.0 - at[0], at[1]) for name, at in document.image_points.items()}
    if document.picture is not None and document.picture.camera is not None:  # it does not look along the plane of the mirror
        image_points = {}
    pose = StoredPose(clip.rotvec[0].copy(), root_m)
    return replace(document, pose=pose, pins=pins, image_points=image_points, turns=turns)


def set_key(document: Document, time_s: float) -> Document:
    """Set the pose as a key at a time, in place of one at the same time. Raises PosingError: no time of a key."""
    key = Keyframe(_check_key_time(time_s), document.pose, dict(document.pins))
    others = [other for other in document.keys if abs(other.time_s - key.time_s) > SAME_TIME_S]
    return replace(document, keys=tuple(sorted([*others, key], key=lambda each: each.time_s)))


def remove_key(document: Document, time_s: float) -> Document:
    """Remove the key at a time. Raises PosingError: there is none."""
    key = find_key(document, time_s)
    return replace(document, keys=tuple(other for other in document.keys if other is not key))


def move_keys(document: Document, times_s: Sequence[float]) -> Document:
    """Move the keys to other times, in their order.

    Args:
        document: the session's document.
        times_s: new time of every key [s], rising.
    Raises: PosingError: another number of keys, times that do not rise, or none of a key.
    """
    if len(times_s) != len(document.keys) or any(b - a <= SAME_TIME_S for a, b in pairwise(times_s)):
        raise PosingError(f"times of {len(document.keys)} keys have to rise; these are {', '.join(f'{t:.2f}' for t in times_s)}")
    moved = (replace(key, time_s=_check_key_time(time_s)) for key, time_s in zip(document.keys, times_s, strict=True))
    return replace(document, keys=tuple(moved))


def find_key(document: Document, time_s: float) -> Keyframe:
    """Return the key at a time. Raises PosingError: there is none."""
    for key in document.keys:
        if abs(key.time_s - time_s) <= SAME_TIME_S:
            return key
    known = ", ".join(f"{key.time_s:.2f}" for key in document.keys) or "none"
    raise PosingError(f"there is no key at {time_s:.2f} s; keys are at: {known}")


def check_joint_name(name: str) -> str:
    """Return a joint's name. Raises PosingError: there is no such joint."""
    if name not in JOINT_INDEX:
        raise PosingError(f"'{name}' is no joint; expected one of {', '.join(JOINTS)}")
    return name


def check_point(values: ArrayLike) -> Point:
    """Return a place in the world [m]. Raises PosingError: not three finite numbers within 100 m."""
    array = _check_numbers(values, 3, "a place", MAX_M)
    return float(array[0]), float(array[1]), float(array[2])


def _check_image_point(values: ArrayLike) -> ImagePoint:
    """Return a point of a picture [px]. Raises PosingError."""
    array = _check_numbers(values, 2, "a point of a picture", MAX_PX)
    return float(array[0]), float(array[1])


def _check_numbers(values: ArrayLike, count: int, what: str, limit: float) -> Floats:
    """Return finite numbers. Raises PosingError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise PosingError(f"{what} of {values!r}; expected {count} numbers") from None
    if array.shape != (count,) or not np.isfinite(array).all() or (np.abs(array) > limit).any():
        raise PosingError(f"{what} of {array.tolist()}; expected {count} finite numbers of at most {limit:g}")
    return array


def _check_key_time(time_s: float) -> float:
    """Return the time of a key [s]. Raises PosingError."""
    if not 0.0 <= time_s <= MAX_TIME_S:
        raise PosingError(f"a key at {time_s:g} s; expected a time from 0 to {MAX_TIME_S:g} s")
    return float(time_s)
