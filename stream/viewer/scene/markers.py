"""Markers in the scene, coloured by how they are known, with their names if wanted; and the contacts of the feet."""

from collections.abc import Callable

import numpy as np
import viser
from numpy.typing import NDArray

from database.contacts import CONTACT_JOINTS
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.body import Balls, NodePart
from stream.viewer.scene.colors import CONTACT, INFERRED, Color, choose_marker_color, convert_to_linear_colors

MARKER_M = 0.022
LABEL_UP_M = 0.04
INNER_M, OUTER_M = 0.045, 0.07  # radii of a ring
ABOVE_FLOOR_M = 0.004
IDENTITY_WXYZ = (1.0, 0.0, 0.0, 0.0)


class MarkerParts(NodePart):
    """The markers of one body, a ball each: at the measured position, else where the pose has the marker."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._index = {marker: m for m, marker in enumerate(skeleton.markers)}
        self._balls = Balls(scene, name, skeleton.markers, MARKER_M)
        self._position_m = np.zeros((len(skeleton.markers), 3))
        self._colors: list[Color] = [INFERRED] * len(skeleton.markers)
        super().__init__(self._balls.root)

    def on_click(self, clicked: Callable[[str], None]) -> None:
        """Have a function called with the name of a marker whose ball is clicked."""
        self._balls.on_click(list(self._index), clicked)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the balls to the markers; markers that the pose does not have are hidden."""
        present = np.zeros(len(self._position_m), bool)
        for marker in pose.markers:
            m = self._index.get(marker.name)
            if m is not None:
                self._position_m[m] = marker.measured or marker.xyz
                present[m], self._colors[m] = True, choose_marker_color(marker)
        self._balls.show(self._position_m, self._colors, present)


class Labels(NodePart):
    """The names of the markers above them, and how many cameras see each; a message a marker, so off until asked for."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        super().__init__(scene.add_frame(name, show_axes=False, visible=False))
        self._labels = {
            marker: scene.add_label(f"{name}/{marker}", marker, font_screen_scale=0.8, anchor="bottom-center")
            for marker in skeleton.markers
        }

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the names to the markers."""
        for marker in pose.markers:
            label = self._labels.get(marker.name)
            if label is not None:
                x, y, z = marker.measured or marker.xyz
                label.position = (x, y + LABEL_UP_M, z)
                text = f"{marker.name} ({len(marker.cameras)})"
                if label.text != text:
                    label.text = text


class Contacts(NodePart):
    """Rings under the ankles and balls of the feet that touch the ground; a foot that stands still costs no message."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._joints = {joint: skeleton.names.index(joint) for joint in CONTACT_JOINTS if joint in skeleton.names}
        n_rings = len(CONTACT_JOINTS)
        vertices, faces = build_ring(INNER_M, OUTER_M)
        self._position_m = np.zeros((n_rings, 3), np.float32)
        self._rings = scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            np.tile(IDENTITY_WXYZ, (n_rings, 1)),
            self._position_m,
            batched_scales=np.zeros(n_rings, np.float32),
            batched_colors=convert_to_linear_colors(CONTACT),
            lod="off",
            side="double",
            cast_shadow=False,
            visible=False,
        )
        super().__init__(self._rings)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Put a ring on the floor under every joint in contact."""
        size = np.zeros(len(CONTACT_JOINTS), np.float32)
        for n, name in enumerate(CONTACT_JOINTS):
            if name in pose.contacts and name in self._joints:
                x, _, z = joints.position_m[self._joints[name]]
                # To the millimetre: a foot at rest moves less, and then nothing is sent.
                self._position_m[n] = np.round((x, ABOVE_FLOOR_M, z), 3)
                size[n] = 1.0
        self._rings.batched_positions = self._position_m
        self._rings.batched_scales = size


def build_ring(inner_m: float, outer_m: float, around: int = 32) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return vertices (V, 3) and faces (F, 3) of a flat ring that is visible from above.

    Args:
        inner_m: inner radius [m].
        outer_m: outer radius [m].
        around: number of corners around.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    circle = np.stack([np.cos(angle), np.zeros(around), np.sin(angle)], 1)
    vertices = np.concatenate([inner_m * circle, outer_m * circle])
    here = np.arange(around)
    there = (here + 1) % around
    faces = np.concatenate([np.stack([here, there, here + around], 1), np.stack([there, there + around, here + around], 1)])
    return vertices.astype(np.float32), faces.astype(np.uint32)
