"""The forces of the ground on the feet as arrows from the centres of pressure, where a take has them; body weight is 1 m long."""

import numpy as np
import viser

from config.arrays import Floats
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.body import NodePart
from stream.viewer.scene.colors import DARK, GroundColors, convert_to_linear_colors

GRAVITY_M_S2 = 9.81
USUAL_KG = 70.0  # of a body whose mass is unknown
SHAFT_M, HEAD_M, TIP_M = 0.012, 0.032, 0.08  # radii of shaft and head, length of the head


class ForceArrows(NodePart):
    """The arrows of one body, one a foot that bears something, in the colours of their sides."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._m_per_n = 1.0 / (GRAVITY_M_S2 * (skeleton.mass_kg or USUAL_KG))
        self._ground = DARK
        self._feet: tuple[str, ...] = ()
        frame = scene.add_frame(name, show_axes=False)
        self._arrows = scene.add_arrows(
            f"{name}/arrows",
            np.zeros((1, 2, 3), np.float32),
            convert_to_linear_colors(DARK.left)[None],
            shaft_radius=SHAFT_M,
            head_radius=HEAD_M,
            head_length=TIP_M,
            visible=False,
        )
        super().__init__(frame)

    def set_ground(self, ground: GroundColors) -> None:
        """Take colours from the floor's, so that the arrows stay readable on it."""
        self._ground = ground
        self._paint()

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Draw the forces of a pose."""
        borne = [(foot.joint, foot.center_m, foot.force_n) for foot in pose.ground_forces if foot.center_m is not None]
        if bool(borne) != self._arrows.visible:
            self._arrows.visible = bool(borne)
        if not borne:
            return
        self._arrows.points = np.array([self._ends_m(center, force) for _, center, force in borne], np.float32)
        feet = tuple(joint for joint, _, _ in borne)
        if feet != self._feet:
            self._feet = feet
            self._paint()

    def _ends_m(self, center_m: tuple[float, float, float], force_n: tuple[float, float, float]) -> Floats:
        """Return both ends of an arrow, (2, 3)."""
        begin = np.array(center_m)
        return np.stack([begin, begin + self._m_per_n * np.array(force_n)])

    def _paint(self) -> None:
        """Colour the arrows by their sides."""
        if self._feet:
            self._arrows.colors = convert_to_linear_colors([self._ground.side(joint) for joint in self._feet])
