"""The body as a skinned mesh in the scene; its colour tells the state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import viser
from viser import _messages

from database.rotations import Floats
from stream.export.body_mesh import body_mesh
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import BODY, Color, body_color
from stream.viewer.stage_pose import Joints

LOST_OPACITY = 0.35
LEAST_CHANGE = 2e-5  # of a quaternion's part, or in metres: what nobody sees is not sent


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
        rest_wxyz, rest_m = np.tile([1.0, 0.0, 0.0, 0.0], (n_joints, 1)), rest_places_m(skeleton)
        self._mesh = scene.add_mesh_skinned(
            name,
            mesh.vertices_m,
            mesh.faces,
            bone_wxyzs=rest_wxyz,
            bone_positions=rest_m,
            skin_weights=weights,
            color=BODY,
            receive_shadow=True,
        )
        self._wxyz, self._place_m = rest_wxyz, rest_m
        self._set_bone = bone_setter(self._mesh)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the bones that have moved and colour the body by its state."""
        wxyz, place_m = joints.wxyz, joints.place_m
        turned = (np.abs(wxyz - self._wxyz) > LEAST_CHANGE).any(axis=1)
        moved = (np.abs(place_m - self._place_m) > LEAST_CHANGE).any(axis=1)
        self._wxyz[turned], self._place_m[moved] = wxyz[turned], place_m[moved]
        for bone in np.flatnonzero(turned).tolist():
            self._set_bone(bone, self._wxyz[bone], None)
        for bone in np.flatnonzero(moved).tolist():
            self._set_bone(bone, None, self._place_m[bone])
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


BoneSetter = Callable[[int, Floats | None, Floats | None], None]  # of a bone by number: its turn (wxyz), its place


def bone_setter(mesh: viser.MeshSkinnedHandle) -> BoneSetter:
    """Give what moves a bone of a mesh.

    The setters of viser 1.1 compare every value with the last by np.allclose, which alone took 5 % of a core at 60 Hz and
    which is done here for all bones at once; so their messages are queued directly, or by the setters in a viser that is
    otherwise made inside.
    """

    def plainly(bone: int, wxyz: Floats | None, place_m: Floats | None) -> None:
        if wxyz is not None:
            mesh.bones[bone].wxyz = wxyz
        if place_m is not None:
            mesh.bones[bone].position = place_m

    try:
        states: list[Any] = [handle._impl for handle in mesh.bones]
        api = states[0].mesh_impl.api
        name, orientation, position = states[0].name, _messages.SetBoneOrientationMessage, _messages.SetBonePositionMessage
        api._queue_scene_message  # noqa: B018 - only whether it is there
    except AttributeError:
        return plainly

    def directly(bone: int, wxyz: Floats | None, place_m: Floats | None) -> None:
        if wxyz is not None:
            states[bone].wxyz[:] = wxyz
            api._queue_scene_message(orientation(name, bone, tuple(wxyz.tolist())))
        if place_m is not None:
            states[bone].position[:] = place_m
            api._queue_scene_message(position(name, bone, tuple(place_m.tolist())))

    return directly


def rest_places_m(skeleton: SkeletonMessage) -> Floats:
    """Give the joints of the rest pose with the root at the origin, (J, 3)."""
    places = np.zeros((len(skeleton.parents), 3))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            places[joint] = places[parent] + skeleton.offsets_m[joint]
    return places
