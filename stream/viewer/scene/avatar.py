"""A user's own avatar in the place of the body: its meshes in their mean colours, moved by the performer's poses.

viser's skinned meshes have one colour each and no pictures, so there is one mesh a colour.
"""

import cv2
import numpy as np
import viser

from config.arrays import Floats
from config.joints import JOINTS
from database.files.avatar import Avatar, MeshPart, place_avatar_joints, read_avatar_mesh
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_quaternion
from database.geometry.skeleton import Skeleton
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.take.retarget import retarget_poses
from stream.viewer.scene.body import PaintedBody, Skin
from stream.viewer.scene.colors import BODY, Color

COLOR_STEP = 16  # colours that are nearer than this are one
N_SAMPLED = 400  # vertices whose colours make the mean of a material


class AvatarBody(PaintedBody):
    """The avatar of a user, moved by poses of a skeleton, in its own colours; whether it is tracked shows in its opacity."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage, avatar: Avatar) -> None:
        self._avatar, self._performer = avatar, find_skeleton(skeleton)
        source = avatar.mapping.source
        rest = Joints(
            np.array([np.asarray(avatar.rest.orientations[max(k, 0)])[0] for k in source]),
            np.array([np.asarray(avatar.rest.positions[max(k, 0)])[0] for k in source]),
        )
        frame = scene.add_frame(name, show_axes=False)
        skins = [
            Skin(scene, f"{name}/part{n}", rest, part.vertices_m, part.faces, part.weights, color=color, side="double")
            for n, (color, part) in enumerate(join_parts_by_color(avatar))
        ]
        super().__init__(frame, skins)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Move the avatar to the pose."""
        rotvec = charted_from_local(matrix_from_quaternion(pose.rotations_xyzw.astype(np.float64)))
        root_m = np.array(pose.root_m, np.float64)
        rotvec, root_m = retarget_poses(self._performer, self._avatar.skeleton, rotvec[None], root_m[None])
        rotation, position_m = place_avatar_joints(self._avatar, rotvec, root_m)
        super().show(pose, Joints(rotation[0], position_m[0]))


def find_skeleton(message: SkeletonMessage) -> Skeleton:
    """Return the skeleton of a message, without ends of bones where it does not tell them."""
    assert message.names == JOINTS
    offsets_m = np.array(message.offsets_m, np.float64)
    tails_m = np.zeros_like(offsets_m) if message.tails_m is None else np.array(message.tails_m, np.float64)
    return Skeleton(message.subject, offsets_m, tails_m)


def join_parts_by_color(avatar: Avatar) -> list[tuple[Color, MeshPart]]:
    """Return the meshes of an avatar, one a colour."""
    by_color = dict[Color, list[MeshPart]]()
    for part in read_avatar_mesh(avatar):
        by_color.setdefault(find_mean_color(avatar, part), []).append(part)
    return [(color, _join(parts)) for color, parts in by_color.items()]


def _join(parts: list[MeshPart]) -> MeshPart:
    """Return parts as one."""
    first = np.cumsum([0, *(len(part.vertices_m) for part in parts[:-1])])
    faces = np.concatenate([part.faces + np.uint32(at) for part, at in zip(parts, first, strict=True)])
    vertices_m, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("vertices_m", "weights"))
    return MeshPart(vertices_m, faces, weights, parts[0].material, None)


def find_mean_color(avatar: Avatar, part: MeshPart) -> Color:
    """Return the colour of a part: that of its material times the mean of its picture where vertices are, in steps."""
    materials = avatar.tree.get("materials", [])
    if not 0 <= part.material < len(materials):
        return BODY
    surface = materials[part.material].get("pbrMetallicRoughness", {})
    linear = np.array(surface.get("baseColorFactor", [1.0, 1.0, 1.0, 1.0])[:3], float)
    color = 255.0 * np.clip(linear, 0.0, 1.0) ** (1.0 / 2.2)
    picture = _read_picture(avatar, surface)
    if picture is not None and part.uv is not None:
        at = part.uv[:: max(len(part.uv) // N_SAMPLED, 1)] % 1.0
        rows, columns = (at[:, 1] * (picture.shape[0] - 1)).astype(int), (at[:, 0] * (picture.shape[1] - 1)).astype(int)
        color = color * picture[rows, columns].mean(axis=0) / 255.0
    red, green, blue = (int(np.clip(COLOR_STEP * round(value / COLOR_STEP), 0, 255)) for value in color)
    return red, green, blue


def _read_picture(avatar: Avatar, surface: dict[str, object]) -> Floats | None:
    """Return the picture of a material, (H, W, 3) RGB; None where it has none that can be read."""
    texture = surface.get("baseColorTexture")
    if not isinstance(texture, dict):
        return None
    image = avatar.tree["images"][avatar.tree["textures"][texture["index"]].get("source", 0)]
    if "bufferView" not in image:
        return None
    view = avatar.tree["bufferViews"][image["bufferView"]]
    first = int(view.get("byteOffset", 0))
    content = avatar.buffers[view.get("buffer", 0)][first : first + int(view["byteLength"])]
    picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    return None if picture is None else np.asarray(picture[..., ::-1], float)
