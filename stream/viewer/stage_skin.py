"""A mesh that joints carry along, and balls that lie on points: what a page draws in the very frame that it hears of it.

A page of viser 1.1 moves the bones of skinned meshes and the places of nodes while it draws a frame, but hands changed arrays of
batched meshes and of lines to React, which is done only when that frame has been drawn. So they come one drawn frame late: not
to be seen at 60 Hz, a fifth of a second where a page draws five frames a second. Hence what has to fit together is made of these
two, and only trails and contacts are made of the others.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from viser import _messages

from database.rotations import Floats
from stream.export.body_mesh import rest_places_m
from stream.joints import Joints
from stream.messages import SkeletonMessage
from stream.viewer.stage_colors import GREY, Color

LEAST_CHANGE = 2e-5  # of a quaternion's part, or in metres: what nobody sees is not sent
ROUNDNESS = 2
BoneSetter = Callable[[int, Floats | None, Floats | None], None]  # of a bone by number: its turn (wxyz), its place


class Skin:
    """One mesh in the rest pose, moved by one bone a joint; mesh: its node in the scene.

    vertices_m: (V, 3), the root at the origin; faces: (F, 3); weights: (V, J).
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        skeleton: SkeletonMessage,
        vertices_m: NDArray[Any],
        faces: NDArray[Any],
        weights: Floats,
        **look: Any,
    ) -> None:
        self._wxyz, self._place_m = (
            np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton.names), 1)),
            rest_places_m(skeleton.parents, skeleton.offsets_m),
        )
        self.mesh = scene.add_mesh_skinned(
            name, vertices_m, faces, bone_wxyzs=self._wxyz, bone_positions=self._place_m, skin_weights=weights, **look
        )
        self._set_bone = bone_setter(self.mesh)

    def show(self, joints: Joints) -> None:
        """Move the bones that have moved."""
        wxyz, place_m = joints.wxyz, joints.place_m
        turned = (np.abs(wxyz - self._wxyz) > LEAST_CHANGE).any(axis=1)
        moved = (np.abs(place_m - self._place_m) > LEAST_CHANGE).any(axis=1)
        self._wxyz[turned], self._place_m[moved] = wxyz[turned], place_m[moved]
        for bone in np.flatnonzero(turned).tolist():
            self._set_bone(bone, self._wxyz[bone], None)
        for bone in np.flatnonzero(moved).tolist():
            self._set_bone(bone, None, self._place_m[bone])


class Balls:
    """Equal balls, a node each below the node `name`; hidden until laid somewhere."""

    def __init__(self, scene: viser.SceneApi, name: str, names: Sequence[str], radius_m: float) -> None:
        self.root = scene.add_frame(name, show_axes=False, visible=False)
        self._balls = [
            scene.add_icosphere(f"{name}/{own}", radius_m, GREY, subdivisions=ROUNDNESS, visible=False) for own in names
        ]
        self._place_m = np.zeros((len(names), 3))
        self._colors: list[Color] = [GREY] * len(names)
        self._shown = np.zeros(len(names), bool)

    def show(self, place_m: Floats, colors: Sequence[Color], shown: NDArray[np.bool_]) -> None:
        """Lay them at places (N, 3), so coloured; those not shown vanish."""
        moved = shown & (np.abs(place_m - self._place_m) > LEAST_CHANGE).any(axis=1)
        self._place_m[moved] = place_m[moved]
        for n in np.flatnonzero(moved).tolist():
            self._balls[n].position = self._place_m[n]
        for n in np.flatnonzero(shown != self._shown).tolist():
            self._balls[n].visible = bool(shown[n])
        self._shown = shown.copy()
        for n, (color, before) in enumerate(zip(colors, self._colors, strict=True)):
            if color != before:
                self._balls[n].color = color
        self._colors = list(colors)


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
