"""VRMA: motion for any VRM avatar, glTF 2.0 with the extension VRMC_vrm_animation 1.0 (VRM Consortium), no mesh.

The nodes are in the VRM T-pose, without rotation and scale, facing +Z, with the hips at their height above the ground, by which
players scale the motion of the hips. `upperNeck` is no VRM bone, and players ignore the rotations of such nodes; so it is folded
into the head: head and neck keep their orientations, the head's joint moves as if neck and upper neck were one bone.
"""

from pathlib import Path

import numpy as np

from config.files import write_atomically
from config.joints import JOINTS, PARENTS, VRM_BONE
from stream.export.gltf import (
    GltfDocument,
    NodeMotion,
    add_animation,
    build_extras,
    build_joint_nodes,
    compute_standing_positions_m,
    sample_keys,
)
from stream.take.take import Take

EXTENSION = "VRMC_vrm_animation"
KEPT = tuple(joint for joint, name in enumerate(JOINTS) if name in VRM_BONE)


def write_vrma(file: Path, take: Take) -> None:
    """Write a take as VRM animation.

    Raises FileFormatError: every frame is lost, or the file cannot be written.
    """
    write_atomically(file, encode_vrma(take))


def encode_vrma(take: Take) -> bytes:
    """Return a take as the bytes of a VRMA file."""
    keys = sample_keys(take)
    document = GltfDocument()
    parents = [_find_kept_parent(joint) for joint in KEPT]
    rest = compute_standing_positions_m(take.skeleton)[list(KEPT)]
    rotations = {node: _compose_rotations(keys.rotations, joint) for node, joint in enumerate(KEPT)}
    names = [JOINTS[joint] for joint in KEPT]
    bones = {VRM_BONE[name]: {"node": node} for node, name in enumerate(names)}
    motion = add_animation(document, take, NodeMotion(keys.seconds, rotations, 0, keys.root_m))
    document.tree |= {
        "scenes": [{"name": take.info.subject or "duocap", "nodes": [0]}],
        "nodes": build_joint_nodes(names, parents, rest),
        "animations": [motion],
        "extensionsUsed": [EXTENSION],
        "extensions": {EXTENSION: {"specVersion": "1.0", "humanoid": {"humanBones": bones}}},
        "extras": build_extras(take),
    }
    return document.binary()


def _find_kept_parent(joint: int) -> int:
    """Return the node of the nearest joint above that is a VRM bone, -1 for the root."""
    above = PARENTS[joint]
    while above >= 0 and above not in KEPT:
        above = PARENTS[above]
    return KEPT.index(above) if above >= 0 else -1


def _compose_rotations(rotations: np.ndarray, joint: int) -> np.ndarray:
    """Return a joint's rotation relative to the nearest VRM bone above, (K, 3, 3)."""
    rotation, above = rotations[:, joint], PARENTS[joint]
    while above >= 0 and above not in KEPT:
        rotation, above = rotations[:, above] @ rotation, PARENTS[above]
    return np.asarray(rotation)
