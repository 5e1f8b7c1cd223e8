"""Bones of an imported motion: offsets, tails and the height, which tells the unit.

What a file lacks, such as hands and toes, is filled in from the ends of the bones above or by proportion.
"""

from collections.abc import Sequence

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.files.axes import JointMapping
from database.files.source_motion import SourceMotion, compute_rest_pose, list_path_from_root
from database.geometry.skeleton import Skeleton

UNITS_M = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "cmu": 0.0254 / 0.45}
UNIT_NAMES = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "in": "inches", "cmu": "CMU units (inches / 0.45)"}
TYPICAL_HEIGHT_M = 1.72
HEIGHTS_M = (0.8, 2.5)  # outside of this the unit must be another
# Tails as shares of the height, for files that end at the wrist, the ankle or the neck.
TAIL_SHARE = {"head": (0.0, 0.11, 0.0), "Hand": (0.1, 0.0, 0.0), "Foot": (0.0, -0.035, 0.08), "Toes": (0.0, 0.0, 0.035)}
MAIN_CHILD = {"hips": "spine", "upperChest": "neck"}


def build_skeleton(motion: SourceMotion, mapping: JointMapping, offsets: Floats, scale: float) -> Skeleton:
    """Return offsets and tails in our rest pose [m].

    Args:
        motion: of the file.
        mapping: of its joints to ours.
        offsets: ours, (J, 3) [m]; missing hands, feet and toes are filled in.
        scale: metres per unit.
    """
    tails = np.zeros((N_JOINTS, 3))
    for joint in range(N_JOINTS):
        tails[joint] = _find_tail(motion, mapping, joint, offsets, scale)
    height_m = _measure_height(offsets)
    for joint in range(N_JOINTS):
        _complete_tail(joint, mapping.source, offsets, tails, height_m)
    return Skeleton(motion.subject, offsets, tails)


def find_offset_joints(joint: int, above: int) -> list[int]:
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
    rest = compute_rest_pose(motion)
    # Where a hand has an end of its own, those of fingers and thumbs, which bend, do not count.
    below = [end for end in motion.ends if k in list_path_from_root(motion.parents, end) and not _is_beyond_hand(motion, end)]
    reach = [rest.positions[end] + rest.orientations[end] @ motion.ends[end] - rest.positions[k] for end in below]
    furthest = max(reach, key=lambda v: float(v @ v), default=np.zeros(3))
    return np.asarray(mapping.rest[joint].T @ rest.orientations[k].T @ furthest * scale)


def _is_beyond_hand(motion: SourceMotion, joint: int) -> bool:
    """Return whether a joint above this one has an end of its own."""
    return any(k in motion.ends for k in list_path_from_root(motion.parents, joint)[:-1])


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


def find_metres_per_unit(where: str, motion: SourceMotion, offsets: Floats, hint: str) -> tuple[float, str]:
    """Return the file's unit, or the one in which the height is most like a person's, and what to say of it.

    Args:
        where: the file, for messages.
        motion: of the file.
        offsets: ours, (J, 3) [file units].
        hint: a key of UNITS_M that the user gives, or empty.
    Raises: FileFormatError: no unit makes it a person.
    """
    height = _measure_height(offsets)
    if height <= 0:
        raise FileFormatError(f"{where}: the skeleton has no length; expected bones of a person")
    if hint:
        return UNITS_M[hint], f"{UNIT_NAMES[hint]} as given"
    if motion.metres_per_unit and HEIGHTS_M[0] <= height * motion.metres_per_unit <= HEIGHTS_M[1]:
        return motion.metres_per_unit, "units as the file says"
    name, unit = min(UNITS_M.items(), key=lambda item: abs(np.log(height * item[1] / TYPICAL_HEIGHT_M)))
    if not HEIGHTS_M[0] <= height * unit <= HEIGHTS_M[1]:
        raise FileFormatError(
            f"{where}: stands {height:.3g} units tall, no person in m, cm, mm or inches; rescale it or give --unit"
        )
    return unit, f"taken as {UNIT_NAMES[name]}"
