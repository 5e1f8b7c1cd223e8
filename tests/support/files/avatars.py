"""Avatars for tests: our own body as a VRM or a bare GLB, with other axes, another rest pose, another unit, other nodes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE
from stream.export.gltf import ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER, GltfDocument
from stream.export.mesh.mesh import build_body_mesh
from stream.take.take import measure_hips_height_m


@dataclass(frozen=True)
class AvatarKind:
    """What an avatar is like: height; VRM 0.x; looks along -z; arms lowered from the T-pose; axes of joints turned by chance;
    scale of the node above the hips; whether it says which bone is which; joints that it has not."""

    height_m: float = 1.6
    vrm0: bool = False
    turned: bool = False
    lowered_deg: float = 0.0
    odd_axes: bool = False
    armature_scale: float = 1.0
    humanoid: bool = True
    without: tuple[str, ...] = ("upperNeck",)


def write_test_avatar(file: Path, kind: AvatarKind = AvatarKind()) -> Path:
    """Write an avatar and return its file."""
    rng = np.random.default_rng(4)
    skeleton = build_person_skeleton(kind.height_m)
    L = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        L[JOINTS.index(f"{side}UpperArm")] = matrix_from_rotvec(np.array([0.0, 0.0, sign * np.deg2rad(kind.lowered_deg)]))
    L[0] = matrix_from_rotvec(np.array([0.0, np.pi if kind.turned else 0.0, 0.0]))
    rotvec = rotvec_from_matrix(np.swapaxes(REFERENCE, 1, 2) @ L)
    G, p = compute_forward_kinematics(skeleton, rotvec, np.array([0.0, measure_hips_height_m(skeleton), 0.0]))
    axes = Rotation.random(N_JOINTS, random_state=rng).as_matrix() if kind.odd_axes else np.tile(np.eye(3), (N_JOINTS, 1, 1))
    own = G @ axes if kind.odd_axes else np.tile(np.eye(3), (N_JOINTS, 1, 1))
    kept = [joint for joint, name in enumerate(JOINTS) if name not in kind.without]
    above = {joint: next((a for a in _list_above(joint) if a in kept), -1) for joint in range(N_JOINTS)}
    s, nodes = kind.armature_scale, []
    for joint in kept:
        parent = above[joint]
        R, at = (own[parent], p[parent]) if parent >= 0 else (np.eye(3), np.zeros(3))
        nodes.append(
            {
                "name": JOINTS[joint],
                "translation": (R.T @ (p[joint] - at) / s).tolist(),
                "rotation": Rotation.from_matrix(R.T @ own[joint]).as_quat().tolist(),
                "children": [kept.index(child) for child in kept if above[child] == joint],
            }
        )
        if not nodes[-1]["children"]:
            del nodes[-1]["children"]
    n = len(kept)
    nodes += [{"name": "Armature", "scale": [s, s, s], "children": [0]}, {"name": "Body", "mesh": 0, "skin": 0}]
    document = GltfDocument()
    body = build_body_mesh(JOINTS, PARENTS, skeleton.offsets_m)
    rest_m = skeleton.rest_positions_m()
    points = np.zeros_like(body.vertices_m, dtype=float)
    for k in range(body.joints.shape[1]):
        j = body.joints[:, k].astype(int)
        local = body.vertices_m + rest_m[0] - rest_m[j]
        points += body.weights[:, k, None] * (np.einsum("vij,vj->vi", G[j], local) + p[j])
    rows = np.array([kept.index(joint if joint in kept else above[joint]) for joint in range(N_JOINTS)])
    inverse = np.zeros((n, 4, 4), np.float32)
    for row, joint in enumerate(kept):
        M = np.eye(4)
        M[:3, :3], M[:3, 3] = s * own[joint], p[joint]
        inverse[row] = np.linalg.inv(M).T
    attributes = {
        "POSITION": document.accessor(points.astype(np.float32), ARRAY_BUFFER, limits=True),
        "JOINTS_0": document.accessor(rows[body.joints].astype(np.uint8), ARRAY_BUFFER),
        "WEIGHTS_0": document.accessor(body.weights.astype(np.float32), ARRAY_BUFFER),
    }
    faces = document.accessor(body.faces.ravel().astype(np.uint32), ELEMENT_ARRAY_BUFFER)
    document.tree |= {
        "scenes": [{"nodes": [n, n + 1]}],
        "nodes": nodes,
        "materials": [{"name": "skin", "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.2, 0.1, 1.0]}}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": faces, "material": 0}]}],
        "skins": [{"joints": list(range(n)), "inverseBindMatrices": document.accessor(inverse.reshape(n, 16))}],
    }
    if kind.humanoid:
        bones = {VRM_BONE[JOINTS[joint]]: row for row, joint in enumerate(kept) if JOINTS[joint] in VRM_BONE}
        if kind.vrm0:
            named = {"VRM": {"humanoid": {"humanBones": [{"bone": bone, "node": row} for bone, row in bones.items()]}}}
        else:
            meta = {"name": "judge", "version": "1", "authors": ["us"], "licenseUrl": "https://vrm.dev/licenses/1.0/"}
            humanoid = {"humanBones": {bone: {"node": row} for bone, row in bones.items()}}
            named = {"VRMC_vrm": {"specVersion": "1.0", "meta": meta, "humanoid": humanoid}}
        document.tree |= {"extensionsUsed": list(named), "extensions": named}
    file.write_bytes(document.binary())
    return file


def _list_above(joint: int) -> list[int]:
    """Return the joints above, nearest first."""
    found = []
    while PARENTS[joint] >= 0:
        joint = PARENTS[joint]
        found.append(joint)
    return found
