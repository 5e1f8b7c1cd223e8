"""Bones and joints of a body; the joints' colours show what each pose knows of them."""

from dataclasses import dataclass

import numpy as np
import viser
from numpy.typing import NDArray

from config.arrays import Floats
from database.geometry.rotations import rotation_between
from stream.export.mesh.mesh import compute_rest_positions_m
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.body import Balls, NodePart, Skin, find_rest_joints
from stream.viewer.scene.colors import DARK, GroundColors, compute_joint_colors

TIPS_M = {"head": (0.0, 0.17, 0.02), "Hand": (0.17, 0.0, 0.0), "Toes": (0.0, -0.01, 0.07)}  # of a left side, from the joint
MIN_BONE_M = 1e-3
JOINT_M = 0.017
THICKNESS = 0.09  # of a bone's length
MIN_THICKNESS_M, MAX_THICKNESS_M = 0.008, 0.024
SPINDLE = np.array([[0.0, 1.0], [0.3, 0.98], [1.0, 0.2], [0.45, 0.02], [0.0, 0.0]])  # radius and height, from the top
AROUND = 8  # vertices of the spindle at each height


@dataclass(frozen=True, slots=True)
class Bones:
    """The bones of a skeleton, B of them, each fixed in the frame of one joint and beginning there.

    Attributes:
        joint: (B,).
        rotation: rotation from the y axis to the bone in the joint's frame, (B, 3, 3).
        length_m: (B,).
    """

    joint: NDArray[np.int64]
    rotation: Floats
    length_m: Floats


def bones_from_skeleton(skeleton: SkeletonMessage) -> Bones:
    """Return a bone from each joint to each of its children, and from the last joints of a chain to their tips."""
    joints: list[int] = []
    spans: list[Floats] = []
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            joints.append(parent)
            spans.append(skeleton.offsets_m[joint])
        if joint not in skeleton.parents:
            joints.append(joint)
            spans.append(find_tip_m(skeleton, joint))
    span = np.asarray(spans, float)
    length_m = np.linalg.norm(span, axis=1)
    keep = length_m > MIN_BONE_M
    rotation = np.stack([rotation_between((0.0, 1.0, 0.0), s) for s in span[keep]])
    return Bones(np.asarray(joints)[keep], rotation, length_m[keep])


def find_tip_m(skeleton: SkeletonMessage, joint: int) -> Floats:
    """Return the end of the last bone of a chain from its joint in the rest pose, (3,): as the stream says, else typical."""
    if skeleton.tails_m is not None:
        return np.asarray(skeleton.tails_m[joint])
    name = skeleton.names[joint]
    tip = next((tip for key, tip in TIPS_M.items() if name.endswith(key)), (0.0, 0.05, 0.0))
    return np.array(tip) * ([-1.0, 1.0, 1.0] if name.startswith("right") else [1.0, 1.0, 1.0])


def build_spindle() -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return vertices (V, 3) and faces (F, 3) of SPINDLE rotated about the y axis, counter-clockwise seen from outside."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    x, z = SPINDLE[:, :1] * np.sin(angle), SPINDLE[:, :1] * np.cos(angle)
    vertices = np.stack([x, np.broadcast_to(SPINDLE[:, 1:], x.shape), z], -1).reshape(-1, 3)
    height, step = np.meshgrid(np.arange(len(SPINDLE) - 1), np.arange(AROUND), indexing="ij")
    here, beside = height * AROUND + step, height * AROUND + (step + 1) % AROUND
    upper = np.stack([here, here + AROUND, beside], -1).reshape(-1, 3)
    lower = np.stack([beside, here + AROUND, beside + AROUND], -1).reshape(-1, 3)
    return vertices.astype(np.float32), np.concatenate([upper, lower]).astype(np.uint32)


class BoneParts(NodePart):
    """The bones of one body: spindles from joint to joint, in one mesh that the joints move."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        bones, (corners, faces) = bones_from_skeleton(skeleton), build_spindle()
        radius_m = np.clip(THICKNESS * bones.length_m, MIN_THICKNESS_M, MAX_THICKNESS_M)
        sizes_m = np.stack([radius_m, bones.length_m, radius_m], 1)
        begins_m = compute_rest_positions_m(skeleton.parents, skeleton.offsets_m)[bones.joint]
        vertices_m = np.einsum("bij,bvj->bvi", bones.rotation, sizes_m[:, None] * corners) + begins_m[:, None]
        all_faces = faces + len(corners) * np.arange(len(sizes_m), dtype=np.uint32)[:, None, None]
        weights = np.eye(len(skeleton.names))[np.repeat(bones.joint, len(corners))]
        self._skin = Skin(
            scene,
            name,
            find_rest_joints(skeleton),
            vertices_m.reshape(-1, 3).astype(np.float32),
            all_faces.reshape(-1, 3),
            weights,
            color=DARK.bone,
            flat_shading=True,
            visible=False,
        )
        super().__init__(self._skin.mesh)

    def set_ground(self, ground: GroundColors) -> None:
        """Set the colour that is readable on a floor."""
        self._skin.mesh.color = ground.bone

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the bones to the joints."""
        self._skin.show(joints)


class JointParts(NodePart):
    """The joints of one body: balls coloured by source and confidence."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._balls = Balls(scene, name, skeleton.names, JOINT_M)
        self._all = np.ones(len(skeleton.names), bool)
        super().__init__(self._balls.root)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the balls to the joints."""
        self._balls.show(joints.position_m, [(r, g, b) for r, g, b in compute_joint_colors(pose).tolist()], self._all)
