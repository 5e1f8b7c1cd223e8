"""Retargeting: from a motion file's own skeleton and rest pose to the project's.

A_j rotates directions at joint j of our rest pose into those of the file's rest pose, in the file's axes. With L_j the file's
rotation relative to the parent, G_j = G_parent L_j, ours are G'_j = G_j A_j, so

    L'_j = A_parent^T L_j A_j,    offset'_j = A_parent^T offset_j,    tail'_j = A_j^T tail_j,

and every joint keeps its position. In our rest pose legs point straight down and arms straight out; feet and hands have the A of
the bone above, so that a foot keeps its angle to the shin; the trunk keeps the file's axes.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.clips import Clip, clip_from_local
from database.files.names import match_joints
from database.files.source_motion import SourceMotion
from database.geometry.rotations import rotation_between
from database.geometry.skeleton import Skeleton

logger = logging.getLogger(__name__)
UNITS_M = {"metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "CMU units (inches / 0.45)": 0.0254 / 0.45}
TYPICAL_HEIGHT_M = 1.72
HEIGHTS_M = (0.8, 2.5)  # outside of this the unit must be another
FORWARD_FOOT = np.array([0.0, -0.3, 0.95])
# Tails as shares of the height, for files that end at the wrist, the ankle or the neck.
TAIL_SHARE = {"head": (0.0, 0.11, 0.0), "Hand": (0.1, 0.0, 0.0), "Foot": (0.0, -0.035, 0.08), "Toes": (0.0, 0.0, 0.035)}
MAIN_CHILD = {"hips": "spine", "upperChest": "neck"}


@dataclass(frozen=True, slots=True)
class JointMapping:
    """source: the file's joint for each of ours, (J,), -1 where it has none; rest: the rotations A, (J, 3, 3)."""

    source: tuple[int, ...]
    rest: Floats


def clip_from_source(where: str, motion: SourceMotion) -> Clip:
    """Return a motion with our joints, rest pose, metres and Y up.

    where: the file, for messages. Raises FileFormatError: it is no person.
    """
    mapping = map_source_joints(where, motion)
    source = mapping.source
    scale = _find_metres_per_unit(where, motion, source)
    skeleton = _build_skeleton(motion, mapping, scale)
    orientation, position = _compute_hips(motion, source[0])
    world = _compute_world_rotation(motion, mapping, orientation)
    local = np.empty((len(position), N_JOINTS, 3, 3))
    local[:, 0] = world @ orientation @ mapping.rest[0]
    for joint in range(1, N_JOINTS):
        local[:, joint] = _compute_local_rotation(motion, mapping, joint)
    return clip_from_local(motion.name, skeleton, motion.fps, local, (position * scale) @ world.T)


def map_source_joints(where: str, motion: SourceMotion) -> JointMapping:
    """Return the file's joint for each of ours and the rotations between the rest poses. Raises FileFormatError: no person."""
    source = match_joints(where, motion.names, motion.parents)
    return JointMapping(tuple(source), _compute_rest_rotations(motion, source))


def find_joint_path(motion: SourceMotion, mapping: JointMapping, joint: int) -> list[int]:
    """Return the file's joints whose rotations together are that of our joint relative to our parent, outermost first.

    Args:
        motion: of the file.
        mapping: of its joints to ours.
        joint: ours.
    """
    if mapping.source[joint] < 0:
        return []
    return _find_path_below(motion.parents, mapping.source[joint], mapping.source[_find_mapped_parent(mapping.source, joint)])


def _find_path_below(parents: Sequence[int], joint: int, ancestor: int) -> list[int]:
    """Return the joints from below `ancestor` down to `joint`."""
    path: list[int] = []
    while joint not in (ancestor, -1):
        path.insert(0, joint)
        joint = parents[joint]
    return path


def _find_mapped_parent(source: Sequence[int], joint: int) -> int:
    """Return the nearest ancestor of our joint that the file has too."""
    joint = PARENTS[joint]
    while source[joint] < 0:
        joint = PARENTS[joint]
    return joint


def _compute_local_rotation(motion: SourceMotion, mapping: JointMapping, joint: int) -> Floats:
    """Return A_parent^T L A of one joint, (N, 3, 3) or (3, 3), L the product of all the file's joints that ours stands for."""
    A_parent, A = mapping.rest[PARENTS[joint]], mapping.rest[joint]
    total = A_parent.T
    for k in find_joint_path(motion, mapping, joint):
        rotation = motion.rotations[k]
        total = total if rotation is None else total @ rotation
    return np.asarray(total @ A)


def _compute_hips(motion: SourceMotion, hips: int) -> tuple[Floats, Floats]:
    """Return orientation (N, 3, 3) and position (N, 3) [file units] of the hips, also where they are not the root."""
    position = motion.root
    orientation = np.broadcast_to(np.eye(3), (len(position), 3, 3))
    for k in _find_path_below(motion.parents, hips, -1):
        if motion.parents[k] >= 0:
            position = position + orientation @ motion.offsets[k]
        rotation = motion.rotations[k]
        orientation = orientation if rotation is None else orientation @ rotation
    return orientation, position


def _compute_rest_positions(motion: SourceMotion) -> Floats:
    """Return the file's joints in its rest pose, (K, 3) [file units]."""
    rest = np.zeros((len(motion.names), 3))
    for k, parent in enumerate(motion.parents):
        if parent >= 0:
            rest[k] = rest[parent] + motion.offsets[k]
    return rest


def _compute_rest_rotations(motion: SourceMotion, source: Sequence[int]) -> Floats:
    """Return A of every joint, (J, 3, 3); each differs from its parent's by the smallest rotation that fits its bone."""
    rest = _compute_rest_positions(motion)
    A = np.empty((N_JOINTS, 3, 3))
    A[0] = _compute_body_axes(rest, source)
    for joint in range(1, N_JOINTS):
        A[joint] = A[PARENTS[joint]]
        name = JOINTS[joint]
        child = next((c for c in range(N_JOINTS) if PARENTS[c] == joint and source[c] >= 0), -1)
        if source[joint] < 0 or child < 0:
            continue
        ours, theirs = _find_bone_direction(name), rest[source[child]] - rest[source[joint]]
        if name.endswith("Foot"):
            forward = A[joint].T @ theirs
            ours = FORWARD_FOOT if forward[2] < 0.3 * np.linalg.norm(forward) else None
        if ours is not None and np.linalg.norm(theirs) > 1e-9:
            A[joint] = rotation_between(A[joint] @ ours, theirs) @ A[joint]
    return A


def _find_bone_direction(name: str) -> Floats | None:
    """Return the direction in which a limb's bone points in our rest pose; None for joints that keep their parent's A."""
    if name.endswith(("UpperLeg", "LowerLeg")):
        return np.array([0.0, -1.0, 0.0])
    if name.endswith(("UpperArm", "LowerArm")):
        return np.array([1.0 if name.startswith("left") else -1.0, 0.0, 0.0])
    return None


def _compute_body_axes(rest: Floats, source: Sequence[int]) -> Floats:
    """Return the axes of the file's rest pose (left, up, forward as columns), rounded to coordinate axes."""
    names = ("leftUpperLeg", "rightUpperLeg", "leftUpperArm", "rightUpperArm")
    left_leg, right_leg, left_arm, right_arm = (rest[source[JOINT_INDEX[name]]] for name in names)
    lateral = left_leg - right_leg + left_arm - right_arm
    up = left_arm + right_arm - left_leg - right_leg
    axes = np.zeros((3, 3))
    u = int(np.argmax(np.abs(up)))
    axes[u, 1] = np.sign(up[u])
    lateral[u] = 0.0
    x = int(np.argmax(np.abs(lateral)))
    axes[x, 0] = np.sign(lateral[x]) or 1.0
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return axes


def _compute_world_rotation(motion: SourceMotion, mapping: JointMapping, orientation: Floats) -> Floats:
    """Return the rotation that makes the file's world Y up: its up is Y, or that of its rest pose if the trunk is nearer it."""
    up = mapping.rest[0][:, 1]
    y = np.array([0.0, 1.0, 0.0])
    trunk = orientation.mean(axis=0) @ up
    return np.eye(3) if trunk @ y >= trunk @ up else rotation_between(up, y)


def _build_skeleton(motion: SourceMotion, mapping: JointMapping, scale: float) -> Skeleton:
    """Return offsets and tails in our rest pose [m]."""
    source, A = mapping.source, mapping.rest
    offsets, tails = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
    for joint in range(1, N_JOINTS):
        if source[joint] < 0:
            continue
        above = _find_mapped_parent(source, joint)
        path = _find_path_below(motion.parents, source[joint], source[above])
        whole = A[above].T @ sum((motion.offsets[k] for k in path), np.zeros(3)) * scale
        steps = _find_offset_joints(source, joint, above)
        offsets[steps] = whole / len(steps)
    for joint in range(N_JOINTS):
        tails[joint] = _find_tail(motion, mapping, joint, offsets, scale)
    height_m = _measure_height(offsets)
    for joint in range(N_JOINTS):
        _complete_tail(joint, source, offsets, tails, height_m)
    return Skeleton(motion.subject, offsets, tails)


def _find_offset_joints(source: Sequence[int], joint: int, above: int) -> list[int]:
    """Return `joint` and the missing joints right above it without other children, which share its offset."""
    steps = [joint]
    while PARENTS[steps[0]] != above and PARENTS.count(PARENTS[steps[0]]) == 1:
        steps.insert(0, PARENTS[steps[0]])
    return steps


def _find_tail(motion: SourceMotion, mapping: JointMapping, joint: int, offsets: Floats, scale: float) -> Floats:
    """Return the end of one bone: its main child, or the furthest end below it in the file; zero if unknown."""
    children = [c for c in range(N_JOINTS) if PARENTS[c] == joint]
    main = JOINT_INDEX[MAIN_CHILD[JOINTS[joint]]] if JOINTS[joint] in MAIN_CHILD else (children[0] if children else -1)
    if main >= 0 and (mapping.source[main] >= 0 or offsets[main].any()):
        return np.array(offsets[main])
    k = mapping.source[joint]
    if k < 0:
        return np.zeros(3)
    rest = _compute_rest_positions(motion)
    # Where a hand has an end of its own, those of fingers and thumbs, which bend, do not count.
    below = [end for end in motion.ends if k in _find_path_below(motion.parents, end, -1) and not _is_beyond_hand(motion, end)]
    reach = [rest[end] + motion.ends[end] - rest[k] for end in below]
    return np.asarray(mapping.rest[joint].T @ max(reach, key=lambda v: float(v @ v), default=np.zeros(3)) * scale)


def _is_beyond_hand(motion: SourceMotion, joint: int) -> bool:
    """Return whether a joint above this one has an end of its own."""
    return any(k in motion.ends for k in _find_path_below(motion.parents, motion.parents[joint], -1))


def _complete_tail(joint: int, source: Sequence[int], offsets: Floats, tails: Floats, height_m: float) -> None:
    """Complete hand, foot, toes and head that the file lacks, from the ends of the bones above or by proportion."""
    name = JOINTS[joint]
    if source[joint] < 0 and not offsets[joint].any() and name.endswith(("Hand", "Foot", "Toes")):
        above = PARENTS[joint]
        offsets[joint] = tails[above] if tails[above].any() else _estimate_tail(JOINTS[above], height_m)
    if not tails[joint].any() and name.endswith(tuple(TAIL_SHARE)):
        tails[joint] = _estimate_tail(name, height_m)
    if PARENTS[joint] >= 0 and not tails[PARENTS[joint]].any() and PARENTS.count(PARENTS[joint]) == 1:
        tails[PARENTS[joint]] = offsets[joint]


def _estimate_tail(name: str, height_m: float) -> Floats:
    """Return a usual tail for a bone that the file does not have."""
    share = next((np.array(v) for part, v in TAIL_SHARE.items() if name.endswith(part)), np.array([0.16, 0.0, 0.0]))
    if name.endswith("LowerLeg"):
        share = np.array([0.0, -0.24, 0.0])
    return height_m * share * ([-1.0, 1.0, 1.0] if name.startswith("right") else [1.0, 1.0, 1.0])


def _measure_height(offsets: Floats) -> float:
    """Return the height from the bone lengths from ankle to hip to head, which do not depend on the rest pose."""
    length = np.linalg.norm(offsets, axis=1)
    legs = [length[JOINT_INDEX[side + part]] for side in ("left", "right") for part in ("LowerLeg", "Foot")]
    trunk = [length[JOINT_INDEX[name]] for name in ("spine", "chest", "upperChest", "neck", "upperNeck", "head")]
    # The ankle is 5% of the height above the floor, the head's joint 11% below the top; hips to thigh 3%.
    return float((sum(legs) / 2 + sum(trunk)) / 0.83)


def _find_metres_per_unit(where: str, motion: SourceMotion, source: Sequence[int]) -> float:
    """Return the file's unit, or the one in which the height is most like a person's, which is logged.

    Raises FileFormatError: no unit makes it a person.
    """
    offsets = np.zeros((N_JOINTS, 3))
    for joint in range(1, N_JOINTS):
        if source[joint] >= 0:
            path = _find_path_below(motion.parents, source[joint], source[_find_mapped_parent(source, joint)])
            offsets[joint] = sum((motion.offsets[k] for k in path), np.zeros(3))
    height = _measure_height(offsets)
    if height <= 0:
        raise FileFormatError(f"{where}: the skeleton has no length; expected bones of a person")
    if motion.metres_per_unit and HEIGHTS_M[0] <= height * motion.metres_per_unit <= HEIGHTS_M[1]:
        return motion.metres_per_unit
    name, unit = min(UNITS_M.items(), key=lambda item: abs(np.log(height * item[1] / TYPICAL_HEIGHT_M)))
    if not HEIGHTS_M[0] <= height * unit <= HEIGHTS_M[1]:
        raise FileFormatError(f"{where}: stands {height:.3g} units tall, no person in m, cm, mm or inches; rescale it")
    logger.info("%s: stands %.4g units tall, taken as %s (%.2f m)", where, height, name, height * unit)
    return unit
