"""Bones and joints as two objects of many equal parts; the joints' colours tell what each pose knows of them."""

import numpy as np
import viser

from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import DARK, GREY, Ground, joint_colors, vertex_colors
from stream.viewer.stage_pose import Joints, bones_of
from stream.viewer.stage_shapes import bone, sphere

JOINT_M = 0.017
THICKNESS = 0.09  # of a bone's length
THICKEST_M, THINNEST_M = 0.024, 0.008


class BoneParts:
    """The bones of one body: spindles from joint to joint, one object."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._bones = bones_of(skeleton)
        length = self._bones.length_m
        thick = np.clip(THICKNESS * length, THINNEST_M, THICKEST_M)
        shape = bone()
        self._parts = scene.add_batched_meshes_simple(
            name,
            shape.vertices_m,
            shape.faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (len(length), 1)),
            np.zeros((len(length), 3)),
            batched_scales=np.stack([thick, length, thick], 1).astype(np.float32),
            batched_colors=vertex_colors(DARK.bone),
            lod="off",
            flat_shading=True,
            visible=False,
        )

    def set_ground(self, ground: Ground) -> None:
        """Take a colour that reads well before the floor."""
        self._parts.batched_colors = vertex_colors(ground.bone)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay the bones where the joints are."""
        self._parts.batched_positions = joints.place_m[self._bones.joint].astype(np.float32)
        self._parts.batched_wxyzs = self._bones.wxyz(joints).astype(np.float32)

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._parts.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._parts.visible = on

    def remove(self) -> None:
        """Take the bones out of the scene."""
        self._parts.remove()


class JointParts:
    """The joints of one body: spheres coloured by source and confidence, one object."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        n_joints = len(skeleton.names)
        shape = sphere(JOINT_M)
        self._parts = scene.add_batched_meshes_simple(
            name,
            shape.vertices_m,
            shape.faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (n_joints, 1)),
            np.zeros((n_joints, 3)),
            batched_colors=np.tile(np.array(GREY, np.uint8), (n_joints, 1)),
            lod="off",
            visible=False,
        )

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay the spheres on the joints."""
        self._parts.batched_positions = joints.place_m.astype(np.float32)
        self._parts.batched_colors = vertex_colors(joint_colors(pose))

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._parts.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._parts.visible = on

    def remove(self) -> None:
        """Take the joints out of the scene."""
        self._parts.remove()
