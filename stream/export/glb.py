"""GLB: glTF 2.0 in one file, a skinned body made from the skeleton's proportions and its motion.

The nodes have our joint names (VRM bones) below one `root` at the origin, as engines expect of a humanoid; the rest pose is the
T-pose standing at the origin, facing +Z; each frame is a key at its own time, the hips' translation is the motion through the
world. Lost frames have no keys; `extras` lists them. A prop is a node of its own below the hand, with a rod along its z axis.
"""

from pathlib import Path

import numpy as np

from calibration.subject.props import Prop
from config.files import write_atomically
from config.joints import JOINTS, N_JOINTS, PARENTS
from database.geometry.rotations import quaternion_from_matrix
from stream.export.gltf import (
    ARRAY_BUFFER,
    ELEMENT_ARRAY_BUFFER,
    GltfDocument,
    NodeMotion,
    Tree,
    add_animation,
    build_extras,
    build_joint_nodes,
    compute_standing_positions_m,
    sample_keys,
)
from stream.export.mesh.mesh import BodyMesh, build_body_mesh
from stream.take.take import Take

SKIN_COLOR = (0.48, 0.40, 0.33, 1.0)  # linear RGB
ROUGHNESS = 0.6
ROD_M = 0.03  # thickness of a prop: a shinai's
BODY, ROOT = N_JOINTS, N_JOINTS + 1  # nodes after those of the joints


def write_glb(file: Path, take: Take) -> None:
    """Write a take as GLB.

    Raises FileFormatError: every frame is lost, or the file cannot be written.
    """
    write_atomically(file, encode_glb(take))


def encode_glb(take: Take) -> bytes:
    """Return a take as the bytes of a GLB file."""
    keys = sample_keys(take)
    document = GltfDocument()
    rest = compute_standing_positions_m(take.skeleton)
    mesh = build_body_mesh(JOINTS, PARENTS, take.skeleton.offsets_m)
    body = {"name": "body", "mesh": 0, "skin": 0}
    rotations = {joint: keys.rotations[:, joint] for joint in range(N_JOINTS)}
    motion = add_animation(document, take, NodeMotion(keys.seconds, rotations, 0, keys.root_m))
    nodes = [*build_joint_nodes(JOINTS, PARENTS, rest), body, {"name": "root", "children": [0]}]
    rods = [_add_rod(document, prop) for prop in take.props]
    for number, prop in enumerate(take.props):
        nodes[prop.joint].setdefault("children", []).append(len(nodes))
        turn = quaternion_from_matrix(prop.rotation).tolist()
        nodes.append({"name": prop.name, "mesh": 1 + number, "translation": prop.grip_m.tolist(), "rotation": turn})
    document.tree |= {
        "scenes": [{"name": take.info.subject or "duocap", "nodes": [ROOT, BODY]}],
        "nodes": nodes,
        "materials": [_build_material()],
        "meshes": [_add_mesh(document, mesh, rest), *rods],
        "skins": [_add_skin(document, rest)],
        "animations": [motion],
        "extras": build_extras(take),
    }
    return document.binary()


def _add_rod(document: GltfDocument, prop: Prop) -> Tree:
    """Store a box along a prop, from behind the last hand to its far end."""
    ends = -prop.behind_m - ROD_M, prop.length_m
    corners = np.array([(x, y, z) for z in ends for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]) * (ROD_M / 2, ROD_M / 2, 1.0)
    sides = [(k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4)]
    faces = [side[:3] + (side[0], *side[2:]) for side in (*sides, (3, 2, 1, 0), (4, 5, 6, 7))]
    attributes = {"POSITION": document.accessor(corners.astype(np.float32), ARRAY_BUFFER, limits=True)}
    indices = document.accessor(np.array(faces, np.uint16).ravel(), ELEMENT_ARRAY_BUFFER)
    return {"name": prop.name, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}


def _build_material() -> Tree:
    """Return a neutral, matt material."""
    surface = {"baseColorFactor": list(SKIN_COLOR), "metallicFactor": 0.0, "roughnessFactor": ROUGHNESS}
    return {"name": "body", "pbrMetallicRoughness": surface}


def _add_mesh(document: GltfDocument, mesh: BodyMesh, rest_m: np.ndarray) -> Tree:
    """Store the body in the standing T-pose."""
    dtype = np.uint16 if len(mesh.vertices_m) < 0xFFFF else np.uint32
    attributes = {
        "POSITION": document.accessor((mesh.vertices_m + rest_m[0]).astype(np.float32), ARRAY_BUFFER, limits=True),
        "NORMAL": document.accessor(mesh.normals.astype(np.float32), ARRAY_BUFFER),
        "JOINTS_0": document.accessor(mesh.joints, ARRAY_BUFFER),
        "WEIGHTS_0": document.accessor(mesh.weights, ARRAY_BUFFER),
    }
    faces = document.accessor(mesh.faces.ravel().astype(dtype), ELEMENT_ARRAY_BUFFER)
    return {"name": "body", "primitives": [{"attributes": attributes, "indices": faces, "material": 0}]}


def _add_skin(document: GltfDocument, rest_m: np.ndarray) -> Tree:
    """Store the transforms from the rest pose to each joint's frame, in column order: translations alone."""
    inverse = np.tile(np.eye(4, dtype=np.float32), (N_JOINTS + 1, 1, 1))
    inverse[:N_JOINTS, 3, :3] = -rest_m
    return {
        "name": "body",
        "joints": [*range(N_JOINTS), ROOT],
        "skeleton": ROOT,
        "inverseBindMatrices": document.accessor(inverse.reshape(-1, 16)),
    }
