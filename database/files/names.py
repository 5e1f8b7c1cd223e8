"""The joints of a motion file matched to ours.

Names are compared without prefix, case and punctuation (`mixamorig:LeftUpLeg` -> side left, part `upleg`). Limbs are matched by
name; spine and neck by their order in the chain, since `Spine` means three different joints in three conventions.
"""

import re
from collections.abc import Iterator, Sequence

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, N_JOINTS

PARTS = {
    "UpperLeg": {"upperleg", "upleg", "thigh", "femur", "hip"},
    "LowerLeg": {"lowerleg", "leg", "knee", "shin", "calf", "tibia"},
    "Foot": {"foot", "ankle"},
    "Toes": {"toes", "toe", "toebase", "ball"},
    "Shoulder": {"collar", "clavicle", "collarbone", "shoulder"},
    "UpperArm": {"upperarm", "uparm", "arm", "humerus"},
    "LowerArm": {"lowerarm", "lowarm", "forearm", "elbow", "radius"},
    "Hand": {"hand", "wrist"},
}
HIPS = {"hips", "pelvis", "root", "hip"}
NEEDED = ("hips", *(side + part for side in ("left", "right") for part in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm")))
# `lfemur` has its side in one letter without a separator, so only before words that are names by themselves.
LEADING_SIDE = re.compile(
    r"^(?:((?i:left|right))|([lrLR])(?=[_. A-Z])|([lr])(?=hipjoint|femur|tibia|foot|toes|clavicle|humerus|radius|wrist|hand$))"
)
TRAILING_SIDE = re.compile(r"(?:[_. ]?((?i:left|right))|[_. ]([lrLR]))$")


def match_joints(where: str, names: Sequence[str], parents: Sequence[int]) -> list[int]:
    """Return the file's joint for each of ours, (J,), -1 for one it does not have.

    Args:
        where: the file, for messages.
        names, parents: the file's joints, parents first.
    Raises: FileFormatError: hips, arms or legs are not recognised.
    """
    found = [-1] * N_JOINTS
    plain = [_split_joint_name(name) for name in names]
    for target, source in _match_limbs(plain):
        if found[JOINT_INDEX[target]] < 0:
            found[JOINT_INDEX[target]] = source
    hips = [k for k, (side, part) in enumerate(plain) if not side and part in HIPS]
    # `root` may be a node above `Hips`, and `Hip` may be the pelvis: the last of them above both thighs counts.
    legs = [found[JOINT_INDEX[name]] for name in ("leftUpperLeg", "rightUpperLeg")]
    above = [k for k in hips if all(leg >= 0 and k in list(_list_ancestors(parents, leg)) for leg in legs)]
    found[JOINT_INDEX["hips"]] = above[-1] if above else 0
    _match_trunk(found, [part if not side else "" for side, part in plain], parents)
    missing = [name for name in NEEDED if found[JOINT_INDEX[name]] < 0]
    if missing:
        known = ", ".join(names[:12])
        raise FileFormatError(f"{where}: no joint is recognised as {missing[0]}; expected names such as LeftUpLeg, found {known}")
    return found


def _split_joint_name(name: str) -> tuple[str, str]:
    """Return the side ("left", "right" or "") and the part in lower case letters and digits."""
    bare = re.sub(r"^(J_Bip_[LRC]_|Bip\d+ )", lambda m: m[1][6:] if m[1].startswith("J_") else "", name.split(":")[-1])
    side, rest = "", bare
    for pattern in (LEADING_SIDE, TRAILING_SIDE):
        hit = pattern.search(rest)
        if hit and not side:
            side = "left" if next(group for group in hit.groups() if group)[0].lower() == "l" else "right"
            rest = rest[: hit.start()] + rest[hit.end() :]
    return side, re.sub(r"[^a-z0-9]", "", rest.lower())


def _match_limbs(plain: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int]]:
    """Return pairs of our limb joint and the file's, those nearest to the trunk first."""
    parts = {part for side, part in plain if side}
    for k, (side, part) in enumerate(plain):
        if not side:
            continue
        for target, known in PARTS.items():
            # With collars, or no other name for the upper arm, `Shoulder` is the upper arm.
            if part == "shoulder" and (parts & {"collar", "clavicle", "collarbone"} or not parts & PARTS["UpperArm"]):
                target, known = "UpperArm", {"shoulder"}
            if part == "foot" and "ankle" in parts:
                target, known = "Toes", {"foot"}
            if part in known:
                yield side + target, k
                break


def _list_ancestors(parents: Sequence[int], joint: int) -> Iterator[int]:
    """Return the joint's ancestors, nearest first."""
    joint = parents[joint]
    while joint >= 0:
        yield joint
        joint = parents[joint]


def _match_trunk(found: list[int], parts: Sequence[str], parents: Sequence[int]) -> None:
    """Fill in spine, chest, upper chest, neck, upper neck and head."""
    hips, arm = found[JOINT_INDEX["hips"]], found[JOINT_INDEX["leftUpperArm"]]
    if arm < 0:
        return
    head = next((k for k, part in enumerate(parts) if part == "head"), -1)
    to_arm = [k for k in reversed(list(_list_ancestors(parents, arm))) if k > hips and hips in list(_list_ancestors(parents, k))]
    spine = [k for k in to_arm if k != found[JOINT_INDEX["leftShoulder"]]]
    if head >= 0:
        to_head = [k for k in reversed(list(_list_ancestors(parents, head))) if k > hips]
        spine = [k for k in spine if k in to_head] or spine
        neck = [k for k in to_head if k not in spine and hips in list(_list_ancestors(parents, k))]
        found[JOINT_INDEX["head"]] = head
        for name, joint in zip(("neck", "upperNeck"), neck, strict=False):
            found[JOINT_INDEX[name]] = joint
    if {"chest", "upperchest"} & set(parts):
        for name in ("spine", "chest", "upperChest"):
            found[JOINT_INDEX[name]] = next((k for k in spine if parts[k] == name.lower()), -1)
    elif spine:
        # The first is where the trunk leaves the pelvis, the last where the arms are attached.
        targets = {1: ("spine",), 2: ("spine", "upperChest")}.get(len(spine), ("spine", "chest", "upperChest"))
        for name, joint in zip(targets, [*spine[: len(targets) - 1], spine[-1]], strict=True):
            found[JOINT_INDEX[name]] = joint
