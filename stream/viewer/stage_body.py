"""The body as a skinned mesh in the scene; its colour tells the state."""

import numpy as np
import viser

from database.rotations import Floats
from stream.export.body_mesh import body_mesh
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import BODY, Color, body_color
from stream.viewer.stage_pose import Joints

LOST_OPACITY = 0.35


class Body:
    """One skinned mesh, driven by one bone a joint."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        mesh = body_mesh(skeleton.names, skeleton.parents, skeleton.offsets_m)
        n_joints = len(skeleton.names)
        weights = np.zeros((len(mesh.vertices_m), n_joints))
        np.add.at(weights, (np.arange(len(weights))[:, None], mesh.joints), mesh.weights)
        self._color: Color = BODY
        self._opacity = 1.0
        self._state = "tracking"
        self._mesh = scene.add_mesh_skinned(
            name,
            mesh.vertices_m,
            mesh.faces,
            bone_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (n_joints, 1)),
            bone_positions=rest_places_m(skeleton),
            skin_weights=weights,
            color=BODY,
            receive_shadow=True,
        )

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move every bone and colour the body by its state."""
        wxyz = joints.wxyz
        for bone, turn, place in zip(self._mesh.bones, wxyz, joints.place_m, strict=True):
            bone.wxyz, bone.position = turn, place
        if pose.state != self._state:
            self._state = pose.state
            self._dye()

    def paint(self, color: Color, opacity: float) -> None:
        """Set the colour of a tracked body and how opaque it is, 0 to 1."""
        self._color, self._opacity = color, opacity
        self._dye()

    def _dye(self) -> None:
        """Colour the mesh by what is known."""
        opacity = min(self._opacity, LOST_OPACITY) if self._state == "lost" else self._opacity
        self._mesh.color = body_color(self._state, self._color)
        self._mesh.opacity = None if opacity >= 1.0 else opacity

    @property
    def on(self) -> bool:
        """Whether it is to be seen."""
        return bool(self._mesh.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._mesh.visible = on

    def remove(self) -> None:
        """Take the mesh out of the scene."""
        self._mesh.remove()


def rest_places_m(skeleton: SkeletonMessage) -> Floats:
    """Give the joints of the rest pose with the root at the origin, (J, 3)."""
    places = np.zeros((len(skeleton.parents), 3))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            places[joint] = places[parent] + skeleton.offsets_m[joint]
    return places
