"""Avatars that tests make: other rest poses, axes, units and nodes between ours; each follows our poses exactly."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.builtin import build_person_skeleton, make_builtin_clip
from database.files.avatar import Avatar, compute_avatar_poses, place_avatar_joints, read_avatar, read_avatar_mesh
from database.files.source_motion import compute_source_poses
from database.geometry.kinematics import compute_forward_kinematics
from tests.support.files.avatars import AvatarKind, write_test_avatar

KINDS = {
    "vrm 1": AvatarKind(),
    "vrm 0 that looks back": AvatarKind(vrm0=True, turned=True),
    "an a-pose in centimetres with axes of its own": AvatarKind(lowered_deg=40.0, odd_axes=True, armature_scale=0.01),
    "by names alone": AvatarKind(humanoid=False, without=("upperChest", "upperNeck")),
}


def place_nodes(avatar: Avatar, rotvec: np.ndarray, root_m: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return orientations and positions of all nodes by the file's own hierarchy, with what we write into it."""
    poses, motion = compute_avatar_poses(avatar, rotvec, root_m), avatar.still.motion
    top = motion.parents[avatar.mapping.source[0]]
    G, p = list[np.ndarray](), list[np.ndarray]()
    for k, parent in enumerate(motion.parents):
        L = poses.rotations.get(k, np.broadcast_to(motion.rotations[k][0], (len(root_m), 3, 3)))
        above = np.broadcast_to(np.eye(3), L.shape) if parent < 0 else G[parent]
        offset = motion.offsets[k] if parent >= 0 else motion.root[0]
        step = np.broadcast_to(offset, root_m.shape)
        if k == avatar.mapping.source[0]:
            step = poses.root * (1.0 if top < 0 else float(avatar.still.scales[top]))
        G.append(above @ L)
        p.append((p[parent] if parent >= 0 else 0.0) + (above @ step[:, :, None])[:, :, 0])
    return G, p


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_its_joints_are_where_ours_are(kind: AvatarKind, tmp_path: Path) -> None:
    avatar = read_avatar(write_test_avatar(tmp_path / "her.vrm", kind))
    clip = make_builtin_clip("punches", build_person_skeleton(1.75), 30.0, 3)
    rotvec, root_m = clip.rotvec[5:40:7].copy(), clip.root_m[5:40:7].copy()
    _, expected_m = compute_forward_kinematics(avatar.skeleton, rotvec, root_m)
    G, p = place_nodes(avatar, rotvec, root_m)
    placed = place_avatar_joints(avatar, rotvec, root_m)
    for joint, k in enumerate(avatar.mapping.source):
        # A head on a neck of one bone, and a chest that bends where ours has two joints, are off by as much as they bend there.
        near = JOINTS[joint] == "head" or "upperChest" in kind.without
        if k >= 0:
            np.testing.assert_allclose(placed[0][:, joint], G[k], atol=1e-6)
            np.testing.assert_allclose(placed[1][:, joint], p[k], atol=1e-6)
            np.testing.assert_allclose(p[k], expected_m[:, joint], atol=0.02 if near else 1e-6, err_msg=JOINTS[joint])


def test_in_our_t_pose_its_arms_are_level_and_it_looks_forward(tmp_path: Path) -> None:
    kind = AvatarKind(vrm0=True, turned=True, lowered_deg=40.0)
    avatar = read_avatar(write_test_avatar(tmp_path / "her.vrm", kind))
    rest = compute_source_poses(avatar.still.motion, ())
    hand, elbow = (avatar.mapping.source[JOINT_INDEX[name]] for name in ("leftHand", "leftLowerArm"))
    assert rest.positions[hand][0][1] < rest.positions[elbow][0][1] - 0.1
    assert rest.positions[hand][0][0] < 0.0  # it looks along -z
    joint_m = avatar.skeleton.rest_positions_m()
    assert joint_m[JOINT_INDEX["leftHand"]][1] == pytest.approx(joint_m[JOINT_INDEX["leftUpperArm"]][1], abs=1e-6)
    assert joint_m[JOINT_INDEX["leftHand"]][0] > 0.4 and joint_m[JOINT_INDEX["leftToes"]][2] > 0.05


def test_its_mesh_is_bound_to_our_joints_and_its_soles_are_the_ground(tmp_path: Path) -> None:
    avatar = read_avatar(write_test_avatar(tmp_path / "her.vrm", AvatarKind(armature_scale=0.01)))
    parts = read_avatar_mesh(avatar)
    vertices_m = np.concatenate([part.vertices_m for part in parts])
    assert 1.4 < np.ptp(vertices_m[:, 1]) < 2.0
    for part in parts:
        np.testing.assert_allclose(part.weights.sum(axis=1), 1.0, atol=1e-6)
    hand = parts[0].vertices_m[parts[0].weights[:, JOINT_INDEX["leftHand"]] > 0.9]
    assert len(hand) and hand[:, 0].min() > 0.5
    lowest = (avatar.skeleton.rest_positions_m() + avatar.skeleton.tails_m)[:, 1].min()
    k = avatar.mapping.source[0]
    assert avatar.rest.positions[k][0][1] + lowest == pytest.approx(vertices_m[:, 1].min(), abs=1e-6)


def test_what_is_no_avatar_is_refused_in_a_line(tmp_path: Path) -> None:
    bare = tmp_path / "bare.gltf"
    bare.write_text(json.dumps({"asset": {"version": "2.0"}, "nodes": [{"name": "a"}]}))
    with pytest.raises(FileFormatError, match=r"no skinned mesh; expected a \.vrm or \.glb"):
        read_avatar(bare)
    broken = tmp_path / "broken.vrm"
    broken.write_bytes(b"glTF nothing")
    with pytest.raises(FileFormatError, match=r"no glTF 2\.0, or damaged"):
        read_avatar(broken)
    packed = tmp_path / "packed.gltf"
    packed.write_text(json.dumps({"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_draco_mesh_compression"]}))
    with pytest.raises(FileFormatError, match="export it without compression"):
        read_avatar(packed)


def test_rotations_are_rotations(tmp_path: Path) -> None:
    avatar = read_avatar(write_test_avatar(tmp_path / "her.vrm", AvatarKind(odd_axes=True)))
    clip = make_builtin_clip("walk", build_person_skeleton(1.75), 30.0, 3)
    for R in compute_avatar_poses(avatar, clip.rotvec[:3].copy(), clip.root_m[:3].copy()).rotations.values():
        np.testing.assert_allclose(Rotation.from_matrix(R).as_matrix(), R, atol=1e-9)
