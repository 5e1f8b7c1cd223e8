"""Bones and joints of a body; the joints' colours tell what each pose knows of them."""

import numpy as np
import viser

from stream.export.body_mesh import rest_places_m
from stream.joints import Joints
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import DARK, Ground, joint_colors
from stream.viewer.stage_pose import bones_of
from stream.viewer.stage_shapes import bone
from stream.viewer.stage_skin import Balls, Skin

JOINT_M = 0.017
THICKNESS = 0.09  # of a bone's length
THICKEST_M, THINNEST_M = 0.024, 0.008


class BoneParts:
    """The bones of one body: spindles from joint to joint, one mesh that the joints carry."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        bones, shape = bones_of(skeleton), bone()
        thick = np.clip(THICKNESS * bones.length_m, THINNEST_M, THICKEST_M)
        sizes = np.stack([thick, bones.length_m, thick], 1)
        n_corners, begins_m = len(shape.vertices_m), rest_places_m(skeleton.parents, skeleton.offsets_m)[bones.joint]
        vertices_m = np.einsum("bij,bvj->bvi", bones.turn, sizes[:, None] * shape.vertices_m) + begins_m[:, None]
        faces = shape.faces + n_corners * np.arange(len(sizes), dtype=np.uint32)[:, None, None]
        weights = np.eye(len(skeleton.names))[np.repeat(bones.joint, n_corners)]
        self._skin = Skin(
            scene,
            name,
            skeleton,
            vertices_m.reshape(-1, 3).astype(np.float32),
            faces.reshape(-1, 3),
            weights,
            color=DARK.bone,
            flat_shading=True,
            visible=False,
        )
        self._mesh = self._skin.mesh

    def set_ground(self, ground: Ground) -> None:
        """Take a colour that reads well before the floor."""
        self._mesh.color = ground.bone

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay the bones where the joints are."""
        self._skin.show(joints)

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._mesh.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._mesh.visible = on

    def remove(self) -> None:
        """Take the bones out of the scene."""
        self._mesh.remove()


class JointParts:
    """The joints of one body: balls coloured by source and confidence."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._balls = Balls(scene, name, skeleton.names, JOINT_M)
        self._all = np.ones(len(skeleton.names), bool)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay the balls on the joints."""
        self._balls.show(joints.place_m, [(r, g, b) for r, g, b in joint_colors(pose).tolist()], self._all)

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._balls.root.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._balls.root.visible = on

    def remove(self) -> None:
        """Take the joints out of the scene."""
        self._balls.root.remove()
