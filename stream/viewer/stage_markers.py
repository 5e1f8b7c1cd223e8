"""Markers in the scene, coloured by how they are known, with their names if wanted; and the contacts of the feet."""

import numpy as np
import viser

from stream.joints import Joints, wxyz_from_matrix
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import CONTACT, INFERRED, Color, marker_color, vertex_colors
from stream.viewer.stage_level import Level
from stream.viewer.stage_shapes import ring
from stream.viewer.stage_skin import Balls

MARKER_M = 0.022
LABEL_UP_M = 0.04
CONTACT_JOINTS = ("leftFoot", "leftToes", "rightFoot", "rightToes")
RING_M = (0.045, 0.07)
ABOVE_FLOOR_M = 0.004
NO_TURN = (1.0, 0.0, 0.0, 0.0)


class MarkerParts:
    """The markers of one body: a ball each.

    A measured marker stands where it was seen, the others where the pose has them.
    """

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._index = {marker: m for m, marker in enumerate(skeleton.markers)}
        self._balls = Balls(scene, name, skeleton.markers, MARKER_M)
        self._place_m = np.zeros((len(skeleton.markers), 3))
        self._colors: list[Color] = [INFERRED] * len(skeleton.markers)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay the balls on the markers; what a pose does not have is not there."""
        there = np.zeros(len(self._place_m), bool)
        for marker in pose.markers:
            m = self._index.get(marker.name)
            if m is not None:
                self._place_m[m] = marker.measured or marker.xyz
                there[m], self._colors[m] = True, marker_color(marker)
        self._balls.show(self._place_m, self._colors, there)

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._balls.root.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._balls.root.visible = on

    def remove(self) -> None:
        """Take the markers out of the scene."""
        self._balls.root.remove()


class Labels:
    """The names of the markers beside them; a message each and every frame, so off until asked for."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._labels = {
            marker: scene.add_label(f"{name}/{marker}", marker, visible=False, font_screen_scale=0.8, anchor="bottom-center")
            for marker in skeleton.markers
        }
        self._on = False

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the names along."""
        for marker in pose.markers:
            label = self._labels.get(marker.name)
            if label is not None:
                x, y, z = marker.measured or marker.xyz
                label.position = (x, y + LABEL_UP_M, z)

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return self._on

    @on.setter
    def on(self, on: bool) -> None:
        self._on = on
        for label in self._labels.values():
            label.visible = on

    def remove(self) -> None:
        """Take the names out of the scene."""
        for label in self._labels.values():
            label.remove()


class Contacts:
    """Rings under the ankles and balls of the feet that touch the ground; a foot that holds still costs no message."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._joints = {joint: skeleton.names.index(joint) for joint in CONTACT_JOINTS if joint in skeleton.names}
        shape, n_parts = ring(*RING_M), len(CONTACT_JOINTS)
        self._place_m = np.zeros((n_parts, 3), np.float32)
        self._level = Level()
        self._parts = scene.add_batched_meshes_simple(
            name,
            shape.vertices_m,
            shape.faces,
            np.tile(NO_TURN, (n_parts, 1)),
            self._place_m,
            batched_scales=np.zeros(n_parts, np.float32),
            batched_colors=vertex_colors(CONTACT),
            lod="off",
            side="double",
            cast_shadow=False,
            visible=False,
        )

    def set_level(self, level: Level) -> None:
        """Lay the rings level with the floor of the view."""
        self._level = level
        self._parts.batched_wxyzs = np.tile(wxyz_from_matrix(level.rotation.T), (len(CONTACT_JOINTS), 1)).astype(np.float32)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lay a ring on the floor under every joint in contact."""
        size = np.zeros(len(CONTACT_JOINTS), np.float32)
        for n, name in enumerate(CONTACT_JOINTS):
            if name in pose.contacts and name in self._joints:
                x, _, z = self._level.to_view(joints.place_m[self._joints[name]])
                # To the millimetre: a foot at rest moves less, and then nothing is sent.
                self._place_m[n] = self._level.to_world(np.round((x, ABOVE_FLOOR_M, z), 3))
                size[n] = 1.0
        self._parts.batched_positions = self._place_m
        self._parts.batched_scales = size

    @property
    def on(self) -> bool:
        """Whether they are to be seen."""
        return bool(self._parts.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._parts.visible = on

    def remove(self) -> None:
        """Take the rings out of the scene."""
        self._parts.remove()
