"""Meshes that joints move and balls at points, which a page updates within one frame, and the body as such a mesh.

A page of viser 1.1 moves the bones of skinned meshes and the positions of nodes while it draws a frame, but passes changed arrays
of batched meshes and of lines to React, which updates after that frame. Those arrive one drawn frame late: invisible at 60 Hz,
but a fifth of a second where a page draws five frames a second. So everything that has to fit together is made of skinned meshes
and nodes; only trails, contacts and forces are made of arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from viser import _messages

from config.arrays import Floats
from reconstruct.pose import TrackingState
from stream.export.mesh.mesh import build_body_mesh, compute_rest_positions_m
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.colors import BODY, GREY, Color, choose_body_color

MIN_CHANGE = 2e-5  # of a quaternion's component, or in metres: invisible changes are not sent
BALL_SUBDIVISIONS = 2
LOST_OPACITY = 0.35
BoneSetter = Callable[[int, Floats | None, Floats | None], None]  # number of the bone, its rotation (wxyz), its position


class NodePart:
    """A part of a body below one node of the scene, shown and removed with it."""

    def __init__(self, node: viser.SceneNodeHandle) -> None:
        self._node = node

    @property
    def on(self) -> bool:
        """Whether it is shown."""
        return bool(self._node.visible)

    @on.setter
    def on(self, on: bool) -> None:
        self._node.visible = on

    def remove(self) -> None:
        """Remove it from the scene."""
        self._node.remove()


class Skin:
    """One mesh in the rest pose, moved by one bone a joint; mesh: its node in the scene.

    Args:
        rest: the joints in the rest pose.
        vertices_m: (V, 3), in that pose.
        faces: (F, 3).
        weights: (V, J).
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        rest: Joints,
        vertices_m: NDArray[Any],
        faces: NDArray[Any],
        weights: Floats,
        **style: Any,
    ) -> None:
        self._wxyz, self._position_m = rest.wxyz, rest.position_m.copy()
        self.mesh = scene.add_mesh_skinned(
            name, vertices_m, faces, bone_wxyzs=self._wxyz, bone_positions=self._position_m, skin_weights=weights, **style
        )
        self._set_bone = make_bone_setter(self.mesh)

    def show(self, joints: Joints) -> None:
        """Move the bones that have moved."""
        wxyz, position_m = joints.wxyz, joints.position_m
        rotated = (np.abs(wxyz - self._wxyz) > MIN_CHANGE).any(axis=1)
        moved = (np.abs(position_m - self._position_m) > MIN_CHANGE).any(axis=1)
        self._wxyz[rotated], self._position_m[moved] = wxyz[rotated], position_m[moved]
        for bone in np.flatnonzero(rotated).tolist():
            self._set_bone(bone, self._wxyz[bone], None)
        for bone in np.flatnonzero(moved).tolist():
            self._set_bone(bone, None, self._position_m[bone])


def find_rest_joints(skeleton: SkeletonMessage) -> Joints:
    """Return the joints of the rest pose, the root at the origin."""
    position_m = compute_rest_positions_m(skeleton.parents, skeleton.offsets_m)
    return Joints(np.tile(np.eye(3), (len(position_m), 1, 1)), position_m)


class Balls:
    """Equal balls, one node each below the node `name`; hidden until they are placed."""

    def __init__(self, scene: viser.SceneApi, name: str, names: Sequence[str], radius_m: float) -> None:
        self.root = scene.add_frame(name, show_axes=False, visible=False)
        self._balls = [
            scene.add_icosphere(f"{name}/{own}", radius_m, GREY, subdivisions=BALL_SUBDIVISIONS, visible=False) for own in names
        ]
        self._position_m = np.zeros((len(names), 3))
        self._colors: list[Color] = [GREY] * len(names)
        self._shown = np.zeros(len(names), bool)

    def on_click(self, names: Sequence[str], clicked: Callable[[str], None]) -> None:
        """Have a function called with the name of a ball that is clicked; names: of all, in order."""
        for ball, name in zip(self._balls, names, strict=True):
            ball.on_click(lambda _, name=name: clicked(name))  # type: ignore[misc]

    def show(self, position_m: Floats, colors: Sequence[Color], shown: NDArray[np.bool_]) -> None:
        """Place and colour the balls.

        Args:
            position_m: (N, 3).
            colors: colour of each, (N,).
            shown: (N,), the others are hidden.
        """
        moved = shown & (np.abs(position_m - self._position_m) > MIN_CHANGE).any(axis=1)
        self._position_m[moved] = position_m[moved]
        for n in np.flatnonzero(moved).tolist():
            self._balls[n].position = self._position_m[n]
        for n in np.flatnonzero(shown != self._shown).tolist():
            self._balls[n].visible = bool(shown[n])
        self._shown = shown.copy()
        for n, (color, before) in enumerate(zip(colors, self._colors, strict=True)):
            if color != before:
                self._balls[n].color = color
        self._colors = list(colors)


def make_bone_setter(mesh: viser.MeshSkinnedHandle) -> BoneSetter:
    """Return a function that moves a bone of a mesh.

    The setters of viser 1.1 compare every value with the last by np.allclose, which took 5 % of a core at 60 Hz and which `Skin`
    does for all bones at once. So their messages are queued directly; in a viser with other internals the setters are used.
    """

    def set_by_handle(bone: int, wxyz: Floats | None, position_m: Floats | None) -> None:
        if wxyz is not None:
            mesh.bones[bone].wxyz = wxyz
        if position_m is not None:
            mesh.bones[bone].position = position_m

    try:
        states: list[Any] = [handle._impl for handle in mesh.bones]
        api = states[0].mesh_impl.api
        name, orientation, position = states[0].name, _messages.SetBoneOrientationMessage, _messages.SetBonePositionMessage
        api._queue_scene_message  # noqa: B018 - only whether it is there
    except AttributeError:
        return set_by_handle

    def set_directly(bone: int, wxyz: Floats | None, position_m: Floats | None) -> None:
        if wxyz is not None:
            states[bone].wxyz[:] = wxyz
            api._queue_scene_message(orientation(name, bone, tuple(wxyz.tolist())))
        if position_m is not None:
            states[bone].position[:] = position_m
            api._queue_scene_message(position(name, bone, tuple(position_m.tolist())))

    return set_directly


class PaintedBody(NodePart):
    """A body of skins, whose paint shows the tracking state: one that is lost is faded."""

    def __init__(self, node: viser.SceneNodeHandle, skins: Sequence[Skin]) -> None:
        super().__init__(node)
        self.skins, self.color, self.state, self._opacity = skins, BODY, TrackingState.TRACKING, 1.0

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the body to the pose and paint it by its state."""
        for skin in self.skins:
            skin.show(joints)
        if pose.state != self.state:
            self.state = pose.state
            self.update_paint()

    def paint(self, color: Color, opacity: float) -> None:
        """Set the colour of a tracked body and its opacity, 0 to 1."""
        self.color, self._opacity = color, opacity
        self.update_paint()

    def update_paint(self) -> None:
        """Set the opacity by state."""
        opacity = min(self._opacity, LOST_OPACITY) if self.state is TrackingState.LOST else self._opacity
        for skin in self.skins:
            skin.mesh.opacity = None if opacity >= 1.0 else opacity


class SkinnedBody(PaintedBody):
    """The body as one skinned mesh, driven by one bone a joint; its colour shows the tracking state, too."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        mesh = build_body_mesh(skeleton.names, skeleton.parents, skeleton.offsets_m)
        weights = np.zeros((len(mesh.vertices_m), len(skeleton.names)))
        np.add.at(weights, (np.arange(len(weights))[:, None], mesh.joints), mesh.weights)
        rest = find_rest_joints(skeleton)
        skin = Skin(scene, name, rest, mesh.vertices_m, mesh.faces, weights, color=BODY, receive_shadow=True)
        super().__init__(skin.mesh, [skin])

    def update_paint(self) -> None:
        """Colour the mesh by state, colour and opacity."""
        super().update_paint()
        self.skins[0].mesh.color = choose_body_color(self.state, self.color)
