"""Avatars: a skinned body in a glTF file, VRM 0.x and 1.0 or any humanoid, and how its joints follow ours.

With G'_j our orientations in the world and B_j the rotation from our rest pose to the axes of the avatar's joint
(`database.files.axes`), a joint k of the avatar has G_k = G'_j B_j^T, whatever its rest pose and axes are. Joints that are none
of ours keep their rotations in the rest pose, and so go with the joint above.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.files.axes import JointMapping
from database.files.gltf import StillNodes, Tree, read_accessor, read_document, read_nodes_at_rest
from database.files.retarget import fit_rest_skeleton
from database.files.source_motion import SourcePoses, compute_source_poses
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton

N_WEIGHTS = 4  # of a vertex, in glTF
TRUNK = ("spine", "chest", "upperChest")


@dataclass(frozen=True, slots=True)
class Avatar:
    """An avatar.

    Attributes:
        name: file stem.
        tree, buffers: content of its file.
        still: its nodes in the rest pose.
        mapping: of its joints, indices among these nodes, to ours.
        skeleton: ours with its bones, standing on its ground.
    """

    name: str
    tree: Tree
    buffers: tuple[bytes, ...]
    still: StillNodes
    mapping: JointMapping
    skeleton: Skeleton

    @property
    def rest(self) -> SourcePoses:
        """Its nodes in the world in its rest pose: orientations, K of (1, 3, 3), and positions, K of (1, 3) [m]."""
        return compute_source_poses(self.still.motion, ())


def read_avatar(path: Path) -> Avatar:
    """Read an avatar of a .vrm, .glb or .gltf file. Raises FileFormatError: not glTF, damaged, no skinned body of a person."""
    try:
        tree, buffers = read_document(path)
        compressed = [name for name in tree.get("extensionsRequired", []) if "compression" in name]
        if compressed:
            raise FileFormatError(f"{path}: its meshes are compressed by {compressed[0]}; export it without compression")
        joints = {int(joint) for skin in tree.get("skins", []) for joint in skin["joints"]}
        if not joints:
            raise FileFormatError(f"{path}: no avatar, for it has no skinned mesh; expected a .vrm or .glb with a body and bones")
        still = read_nodes_at_rest(path, tree, joints)
        mapping, skeleton = fit_rest_skeleton(str(path), still.motion)
        avatar = Avatar(path.stem, tree, tuple(buffers), still, mapping, skeleton)
        return replace(avatar, skeleton=_stand_on_ground(avatar))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, struct.error) as error:
        raise FileFormatError(f"{path}: no glTF 2.0, or damaged ({type(error).__name__}: {error}); export it again") from error


def _stand_on_ground(avatar: Avatar) -> Skeleton:
    """Return the skeleton with toes that end on the avatar's ground: its lowest vertex, heels of shoes included."""
    lowest = min(float(part.vertices_m[:, 1].min()) for part in read_avatar_mesh(avatar))
    joint_m = avatar.skeleton.rest_positions_m() + avatar.rest.positions[avatar.mapping.source[0]][0]
    tails_m = avatar.skeleton.tails_m.copy()
    for side in ("left", "right"):
        toes = JOINT_INDEX[f"{side}Toes"]
        tails_m[toes, 1] = lowest - joint_m[toes, 1]
    return Skeleton(avatar.name, avatar.skeleton.offsets_m.copy(), tails_m)


@dataclass(frozen=True, slots=True)
class AvatarPoses:
    """An avatar's nodes in N frames: rotations relative to the node above, node among its nodes -> (N, 3, 3), of those that are
    joints; root: position of the hips relative to the node above, (N, 3), in that node's own unit."""

    rotations: Mapping[int, Floats]
    root: Floats


def compute_avatar_poses(avatar: Avatar, rotvec: Floats, root_m: Floats) -> AvatarPoses:
    """Return the rotations of an avatar's nodes for poses of its skeleton.

    Args:
        avatar: the avatar.
        rotvec: charted, (N, J, 3) [rad].
        root_m: (N, 3) [m].
    """
    motion, source = avatar.still.motion, avatar.mapping.source
    world, rotations = _turn_nodes(avatar, rotvec, root_m), dict[int, Floats]()
    for k in (k for k in source if k >= 0):
        above = motion.parents[k]
        rotations[k] = world[k] if above < 0 else np.swapaxes(world[above], 1, 2) @ world[k]
    top = motion.parents[source[0]]
    if top < 0:
        return AvatarPoses(rotations, root_m)
    place, turn = avatar.rest.positions[top][0], avatar.rest.orientations[top][0]
    return AvatarPoses(rotations, (root_m - place) @ turn / float(avatar.still.scales[top]))


def place_avatar_joints(avatar: Avatar, rotvec: Floats, root_m: Floats) -> tuple[Floats, Floats]:
    """Return an avatar's joints in the world for poses of its skeleton: orientations of its own axes, (N, J, 3, 3), and
    positions, (N, J, 3) [m]; those that it lacks have the ones of the joint above.

    Args:
        avatar: the avatar.
        rotvec: charted, (N, J, 3) [rad].
        root_m: (N, 3) [m].
    """
    motion, source = avatar.still.motion, avatar.mapping.source
    world, place = _turn_nodes(avatar, rotvec, root_m), list[Floats]()
    for k, parent in enumerate(motion.parents):
        if k == source[0]:
            place.append(root_m)
        else:
            place.append(np.zeros_like(root_m) if parent < 0 else place[parent] + world[parent] @ motion.offsets[k])
    G, p = np.empty((len(root_m), N_JOINTS, 3, 3)), np.empty((len(root_m), N_JOINTS, 3))
    for joint, k in enumerate(source):
        above = PARENTS[joint]
        G[:, joint], p[:, joint] = (world[k], place[k]) if k >= 0 else (G[:, above], p[:, above])
    return G, p


def _turn_nodes(avatar: Avatar, rotvec: Floats, root_m: Floats) -> list[Floats]:
    """Return the orientations of an avatar's nodes in the world for poses of its skeleton, K of (N, 3, 3)."""
    motion, source, world = avatar.still.motion, avatar.mapping.source, list[Floats]()
    ours = compute_forward_kinematics(avatar.skeleton, rotvec, root_m)[0]
    for k, parent in enumerate(motion.parents):
        rest = np.asarray(motion.rotations[k])
        if k in source:
            j = source.index(k)
            world.append(ours[:, _find_orienting_joint(source, j)] @ avatar.mapping.rest[j].T)
        else:
            world.append(np.broadcast_to(rest[0], (len(root_m), 3, 3)) if parent < 0 else world[parent] @ rest[0])
    return world


def _find_orienting_joint(source: Sequence[int], joint: int) -> int:
    """Return our joint whose orientation an avatar's joint has: in the trunk that of the last one above the neck that the avatar
    lacks, so that shoulders are where ours are; else our own."""
    for below in TRUNK[TRUNK.index(JOINTS[joint]) + 1 :] if JOINTS[joint] in TRUNK else ():
        if source[JOINT_INDEX[below]] >= 0:
            break
        joint = JOINT_INDEX[below]
    return joint


@dataclass(frozen=True, slots=True)
class MeshPart:
    """The vertices of one material of a body, V of them, in the rest pose.

    Attributes:
        vertices_m: (V, 3) world [m].
        faces: (F, 3).
        weights: of our joints, (V, J); what hangs on a node that is none of ours goes with the joint above.
        material: its number in the file, -1 for none.
        uv: (V, 2) coordinates in its texture, None where it has none.
    """

    vertices_m: Floats
    faces: np.ndarray
    weights: Floats
    material: int
    uv: Floats | None


def read_avatar_mesh(avatar: Avatar) -> list[MeshPart]:
    """Return the skinned meshes of an avatar, a part a primitive of triangles."""
    rest, parts = avatar.rest, list[MeshPart]()
    drivers = _find_drivers(avatar)
    for node in avatar.tree["nodes"]:
        if "mesh" not in node or "skin" not in node:
            continue
        skin = avatar.tree["skins"][node["skin"]]
        own = [avatar.still.nodes.index(joint) if joint in avatar.still.nodes else -1 for joint in skin["joints"]]
        inverse = np.tile(np.eye(4), (len(own), 1, 1))
        if "inverseBindMatrices" in skin:
            inverse = read_accessor(avatar.tree, list(avatar.buffers), skin["inverseBindMatrices"]).reshape(-1, 4, 4)
            inverse = inverse.transpose(0, 2, 1)
        matrices = np.tile(np.eye(4), (len(own), 1, 1))
        for n, k in enumerate(own):
            if k >= 0:
                matrices[n, :3, :3] = float(avatar.still.scales[k]) * rest.orientations[k][0]
                matrices[n, :3, 3] = rest.positions[k][0]
        bound = matrices @ inverse
        driver = np.array([drivers[k] if k >= 0 else 0 for k in own])
        for primitive in avatar.tree["meshes"][node["mesh"]]["primitives"]:
            if primitive.get("mode", 4) == 4 and "JOINTS_0" in primitive["attributes"]:
                parts.append(_read_primitive(avatar, primitive, bound, driver))
    if not parts:
        raise FileFormatError(f"{avatar.name}: none of its meshes hangs on its bones; expected a body with bones")
    return parts


def _read_primitive(avatar: Avatar, primitive: Tree, bound: Floats, driver: np.ndarray) -> MeshPart:
    """Return the vertices of a primitive.

    Args:
        avatar: the avatar.
        primitive: of its file.
        bound: transforms of the skin's joints in the rest pose after those of binding, (S, 4, 4).
        driver: our joint that moves each, (S,).
    """
    buffers, attributes = list(avatar.buffers), primitive["attributes"]
    points = read_accessor(avatar.tree, buffers, attributes["POSITION"])
    index = read_accessor(avatar.tree, buffers, attributes["JOINTS_0"]).astype(int)
    share = read_accessor(avatar.tree, buffers, attributes["WEIGHTS_0"])
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-9)
    vertices, weights = np.zeros((len(points), 3)), np.zeros((len(points), N_JOINTS))
    for n in range(N_WEIGHTS):
        M = bound[index[:, n]]
        vertices += share[:, n, None] * (np.einsum("vij,vj->vi", M[:, :3, :3], points) + M[:, :3, 3])
        np.add.at(weights, (np.arange(len(points)), driver[index[:, n]]), share[:, n])
    if "indices" in primitive:
        faces = read_accessor(avatar.tree, buffers, primitive["indices"])[:, 0].astype(np.uint32)
    else:
        faces = np.arange(len(points), dtype=np.uint32)
    uv = read_accessor(avatar.tree, buffers, attributes["TEXCOORD_0"]) if "TEXCOORD_0" in attributes else None
    return MeshPart(vertices, faces.reshape(-1, 3), weights, int(primitive.get("material", -1)), uv)


def _find_drivers(avatar: Avatar) -> list[int]:
    """Return our joint that moves each of the avatar's nodes: itself, or the nearest one above; the hips for those above them."""
    drivers = list[int]()
    for k, parent in enumerate(avatar.still.motion.parents):
        if k in avatar.mapping.source:
            drivers.append(avatar.mapping.source.index(k))
        else:
            drivers.append(0 if parent < 0 else drivers[parent])
    return drivers
