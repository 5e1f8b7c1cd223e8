"""The joints of the body: VRM 1.0 humanoid names, parent first.

`upperNeck` has no VRM bone and keeps its own name. A joint's position is where its bone begins
(leftLowerLeg is the knee, leftHand the wrist).
"""

from typing import Final

PARENT_OF: Final[dict[str, str | None]] = {
    "hips": None,
    "leftUpperLeg": "hips",
    "leftLowerLeg": "leftUpperLeg",
    "leftFoot": "leftLowerLeg",
    "leftToes": "leftFoot",
    "rightUpperLeg": "hips",
    "rightLowerLeg": "rightUpperLeg",
    "rightFoot": "rightLowerLeg",
    "rightToes": "rightFoot",
    "spine": "hips",
    "chest": "spine",
    "upperChest": "chest",
    "neck": "upperChest",
    "upperNeck": "neck",
    "head": "upperNeck",
    "leftShoulder": "upperChest",
    "leftUpperArm": "leftShoulder",
    "leftLowerArm": "leftUpperArm",
    "leftHand": "leftLowerArm",
    "rightShoulder": "upperChest",
    "rightUpperArm": "rightShoulder",
    "rightLowerArm": "rightUpperArm",
    "rightHand": "rightLowerArm",
}

JOINTS: Final[tuple[str, ...]] = tuple(PARENT_OF)
N_JOINTS: Final[int] = len(JOINTS)
JOINT_INDEX: Final[dict[str, int]] = {name: index for index, name in enumerate(JOINTS)}
PARENTS: Final[tuple[int, ...]] = tuple(-1 if parent is None else JOINT_INDEX[parent] for parent in PARENT_OF.values())
VRM_BONE: Final[dict[str, str]] = {name: name for name in JOINTS if name != "upperNeck"}


def _find_carried_joints(first: str) -> tuple[str, ...]:
    """Return a joint and all that it carries, parents first."""
    found = [first]
    for name, parent in PARENT_OF.items():
        if parent in found:
            found.append(name)
    return tuple(found)


# Limbs and head, by their first joint: their joints, parents first.
CHAINS: Final[dict[str, tuple[str, ...]]] = {
    name: _find_carried_joints(name) for name in ("leftUpperArm", "rightUpperArm", "leftUpperLeg", "rightUpperLeg", "neck")
}


def mirror_joint_name(name: str) -> str:
    """Return the name of the joint on the other side of the body; a joint in the middle is its own mirror image."""
    if name.startswith("left"):
        return "right" + name[4:]
    if name.startswith("right"):
        return "left" + name[5:]
    return name
