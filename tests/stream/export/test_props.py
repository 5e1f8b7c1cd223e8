"""A sword in the right hand: its transform in the stream, after a recording, in BVH and in GLB is that of our kinematics."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.subject.props import find_props
from calibration.subject.subject import Subject, read_subject, write_subject
from config.markers import read_marker_set
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_quaternion
from stream.export.bvh import write_bvh
from stream.export.glb import encode_glb
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.compose import compose_bare_skeleton_message
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from stream.take.recorded import encode_recording
from tests.support.files.gltf import parsed
from tests.support.files.takes import bvh_positions_cm, take

KENDO = read_marker_set("kendo")
SWORD = KENDO.names.index("sword")
TAKE = take()
OFFSET_M = KENDO.offset_m + np.array([0.02, -0.03, 0.01])  # as a calibration may find it
GRIP_M = np.where(np.arange(len(KENDO)) == SWORD, 0.2, np.nan)
SUBJECT = Subject("armed", TAKE.skeleton, replace(KENDO, grip_m=GRIP_M), OFFSET_M, np.zeros(len(KENDO)))
PROPS = find_props(SUBJECT)
ARMED = replace(TAKE, props=PROPS)
G, P = compute_forward_kinematics(TAKE.skeleton, TAKE.rotvec, TAKE.root_m)
HAND = PROPS[0].joint
TIP_M = P[:, HAND] + G[:, HAND] @ OFFSET_M[SWORD]  # the marker is the far end
GRIPPED_M = P[:, HAND] + G[:, HAND] @ PROPS[0].grip_m
MM = 1e-3


def test_a_prop_points_to_its_marker() -> None:
    prop = PROPS[0]
    assert prop.name == "sword" and prop.behind_m == 0.2
    np.testing.assert_allclose(prop.grip_m + prop.length_m * prop.rotation[:, 2], OFFSET_M[SWORD], atol=1e-12)
    np.testing.assert_allclose(prop.rotation @ prop.rotation.T, np.eye(3), atol=1e-12)


def test_a_subject_keeps_its_prop(tmp_path: Path) -> None:
    write_subject(tmp_path / "subject.toml", SUBJECT)
    again = find_props(read_subject(tmp_path / "subject.toml"))[0]
    np.testing.assert_allclose(again.held_m, PROPS[0].held_m, atol=1e-9)


def test_stream_and_recording(tmp_path: Path) -> None:
    file = tmp_path / "armed.mcap"
    file.write_bytes(encode_recording(ARMED))
    recording = open_recording(file)
    for n, pose in enumerate(recording.poses):
        assert isinstance(pose, PoseMessage)
        (sword,) = pose.props
        tip_m = np.array(sword.xyz) + matrix_from_quaternion(np.array(sword.rotation_xyzw))[:, 2] * PROPS[0].length_m
        np.testing.assert_allclose(sword.xyz, GRIPPED_M[n], atol=0.01 * MM)
        np.testing.assert_allclose(tip_m, TIP_M[n], atol=0.01 * MM)
    (again,) = read_longest_motion(recording).take().props
    np.testing.assert_allclose(again.held_m, PROPS[0].held_m, atol=1e-9)


def test_a_body_without_props_says_nothing_of_them() -> None:
    for props in ((), PROPS):
        message = compose_bare_skeleton_message(TAKE.skeleton, "x", (), props)
        payload = encode_message(message)
        assert (b"props" in payload) == bool(props)
        again = decode_message(payload)
        assert isinstance(again, SkeletonMessage) and again.props == message.props


def test_bvh_has_a_joint_for_it(tmp_path: Path) -> None:
    write_bvh(tmp_path / "armed.bvh", ARMED)
    places_cm = bvh_positions_cm((tmp_path / "armed.bvh").read_text())[1]
    np.testing.assert_allclose(places_cm["sword"], 100.0 * GRIPPED_M, atol=1e-3)
    np.testing.assert_allclose(places_cm["end of sword"], 100.0 * TIP_M, atol=1e-3)


def test_glb_has_a_node_for_it() -> None:
    tree = parsed(encode_glb(ARMED)).tree
    at = next(k for k, node in enumerate(tree["nodes"]) if node["name"] == "sword")
    node = tree["nodes"][at]
    assert at in tree["nodes"][HAND]["children"] and tree["meshes"][node["mesh"]]["name"] == "sword"
    local = np.array(node["translation"]) + matrix_from_quaternion(np.array(node["rotation"]))[:, 2] * PROPS[0].length_m
    np.testing.assert_allclose(local, OFFSET_M[SWORD], atol=1e-9)
