"""The body as a skinned mesh in the scene; its colour tells the state."""

import numpy as np
import viser

from stream.export.body_mesh import body_mesh
from stream.joints import Joints
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import BODY, Color, body_color
from stream.viewer.stage_skin import Skin

LOST_OPACITY = 0.35


class Body:
    """One skinned mesh, driven by one bone a joint."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        mesh = body_mesh(skeleton.names, skeleton.parents, skeleton.offsets_m)
        weights = np.zeros((len(mesh.vertices_m), len(skeleton.names)))
        np.add.at(weights, (np.arange(len(weights))[:, None], mesh.joints), mesh.weights)
        self._color: Color = BODY
        self._opacity = 1.0
        self._state = "tracking"
        self._skin = Skin(scene, name, skeleton, mesh.vertices_m, mesh.faces, weights, color=BODY, receive_shadow=True)
        self._mesh = self._skin.mesh

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Bring the body to the pose and colour it by its state."""
        self._skin.show(joints)
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
