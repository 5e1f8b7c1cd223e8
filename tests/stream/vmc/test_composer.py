"""VMC's bytes and what they mean: golden datagrams, strict types, left stays left, and no joint moves by being folded."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pythonosc.osc_packet import OscPacket

from config.joints import JOINT_INDEX, N_JOINTS, VRM_BONE
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage
from stream.vmc.composer import Composer, Heartbeat, list_sent_bones
from stream.vmc.datagrams import MAX_DATAGRAM_BYTES
from tests.support.axes import UNITY
from tests.support.fakes import pose as fake_pose
from tests.support.fakes import subject
from tests.support.stream_messages import POSE, SKELETON
from tests.support.vmc_world import PARENT, bones, decoded, in_world

PERSON = subject()
BODY = compose_skeleton_message(PERSON)
ROOT = np.array([0.3, 0.9, -1.7])
# /VMC/Ext/Bone/Pos, ",sfffffff", "LeftUpperLeg", then -0.09, -0.05, 0 and 0, -0.6, 0, -0.8 as big-endian float32.
LEFT_UPPER_LEG = (
    b"/VMC/Ext/Bone/Pos\0\0\0,sfffffff\0\0\0LeftUpperLeg\0\0\0\0"
    b"\xbd\xb8\x51\xec\xbd\x4c\xcc\xcd\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\xbf\x19\x99\x9a\x00\x00\x00\x00\xbf\x4c\xcc\xcd"
)
# A bundle for at once: 36 bytes of state (loaded, calibrated, normal, tracked), 20 bytes of time (12.5).
HEARTBEAT = (
    b"#bundle\0\0\0\0\0\0\0\0\x01"
    b"\0\0\0\x24/VMC/Ext/OK\0,iiii\0\0\0\0\0\0\x01\0\0\0\x03\0\0\0\0\0\0\0\x01"
    b"\0\0\0\x14/VMC/Ext/T\0\0,f\0\0\x41\x48\0\0"
)


def message_of(rotvec: np.ndarray, root_m: np.ndarray = ROOT) -> PoseMessage:
    return compose_pose_message(replace(fake_pose(0, 0, root_m), rotvec=rotvec), BODY, "s", 0, 0)


def composed(pose: PoseMessage, upper_chest: bool = True) -> list[bytes]:
    composer = Composer(BODY, upper_chest)
    composer.put_pose(pose)
    return [bytes(datagram) for datagram in composer.datagrams(True, 12.5)]


def assert_same_body(datagrams: list[bytes], rotvec: np.ndarray, root_m: np.ndarray = ROOT) -> None:
    """Places agree to 1 um, orientations to 1e-6, for every bone that was sent."""
    world = in_world(bones(decoded(datagrams)))
    G, p = compute_forward_kinematics(PERSON.skeleton, rotvec, root_m)
    M = UNITY.matrix
    for name, (rotation, place) in world.items():
        joint = JOINT_INDEX[name[0].lower() + name[1:]]
        np.testing.assert_allclose(place, UNITY.positions(p[joint]), atol=1e-6)
        np.testing.assert_allclose(rotation, M @ G[joint] @ M, atol=2e-6)


def test_golden_bytes_of_a_bone_and_of_a_bundle() -> None:
    composer = Composer(SKELETON)
    composer.put_pose(POSE)
    datagrams = composer.datagrams(True, 0.0)
    assert len(datagrams) == 1 and bytes(len(LEFT_UPPER_LEG).to_bytes(4, "big")) + LEFT_UPPER_LEG in datagrams[0]
    (heartbeat,) = Heartbeat().datagrams(True, 12.5)
    assert bytes(heartbeat) == HEARTBEAT
    assert decoded([heartbeat]) == [("/VMC/Ext/OK", [1, 3, 0, 1]), ("/VMC/Ext/T", [12.5])]


def test_messages_come_in_order_with_the_types_that_receivers_test_for() -> None:
    datagrams = composed(message_of(fake_pose(0, 0, ROOT).rotvec))
    assert len(datagrams) == 2 and all(len(datagram) < MAX_DATAGRAM_BYTES for datagram in datagrams)
    messages = decoded(datagrams)
    assert [address for address, _ in messages] == [
        "/VMC/Ext/Root/Pos",
        *["/VMC/Ext/Bone/Pos"] * 22,
        "/VMC/Ext/OK",
        "/VMC/Ext/T",
    ]
    assert messages[0][1] == ["root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    raw = b"".join(datagrams)
    tags = [raw.count(tag + b"\0") for tag in (b",sfffffff", b",iiii", b",f")]
    assert tags == [23, 1, 1] and len(messages) == 25
    assert {str(values[0]) for address, values in messages if "Bone" in address} == {"Hips", *PARENT}


def test_bones_are_unitys_and_rest_offsets_are_never_zero() -> None:
    names = {bone.name for bone in list_sent_bones(BODY)}
    assert names == {name[0].upper() + name[1:] for name in VRM_BONE}
    T_pose = charted_from_local(np.tile(np.eye(3), (N_JOINTS, 1, 1)))
    local = bones(decoded(composed(message_of(T_pose))))
    assert all(np.linalg.norm(values[:3]) > 0.01 for values in local.values())
    # The fake's offsets are (3j, 3j + 1, 3j + 2) cm for joint j; head is joint 14, upperNeck 13, and both are in Head.
    np.testing.assert_allclose(local["LeftUpperLeg"], [-0.03, 0.04, 0.05, 0, 0, 0, 1], atol=1e-7)
    np.testing.assert_allclose(local["Head"], [-(0.39 + 0.42), 0.40 + 0.43, 0.41 + 0.44, 0, 0, 0, 1], atol=1e-6)


def test_a_raised_left_arm_is_the_receivers_left_arm() -> None:
    """Unity's humanoid faces +Z with its left at -X, so that in a T-pose the left hand is at -X; raised, it is overhead."""
    offsets = np.zeros((N_JOINTS, 3))
    offsets[JOINT_INDEX["leftUpperArm"]] = [0.2, 0.5, 0.0]
    offsets[JOINT_INDEX["leftLowerArm"]] = offsets[JOINT_INDEX["leftHand"]] = [0.3, 0.0, 0.0]
    offsets[JOINT_INDEX["rightUpperArm"]] = [-0.2, 0.5, 0.0]
    offsets[JOINT_INDEX["rightLowerArm"]] = offsets[JOINT_INDEX["rightHand"]] = [-0.3, 0.0, 0.0]
    local = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    local[JOINT_INDEX["leftUpperArm"]] = matrix_from_rotvec([0.0, 0.0, np.pi / 2])  # from +X to +Y: up
    local[JOINT_INDEX["rightLowerArm"]] = matrix_from_rotvec([0.0, np.pi / 2, 0.0])  # from -X to +Z: forward
    pose = message_of(charted_from_local(local), np.zeros(3))
    composer = Composer(replace(BODY, offsets_m=offsets))
    composer.put_pose(pose)
    world = in_world(bones(decoded(composer.datagrams(True, 0.0))))
    np.testing.assert_allclose(world["LeftHand"][1], [-0.2, 1.1, 0.0], atol=1e-6)
    np.testing.assert_allclose(world["RightLowerArm"][1], [0.5, 0.5, 0.0], atol=1e-6)
    np.testing.assert_allclose(world["RightHand"][1], [0.5, 0.5, 0.3], atol=1e-6)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), upper_chest=st.booleans())
def test_folded_or_not_every_bone_is_where_its_joint_is(seed: int, upper_chest: bool) -> None:
    rotvec = np.random.default_rng(seed).normal(0.0, 0.8, (N_JOINTS, 3))
    datagrams = composed(message_of(rotvec), upper_chest)
    assert ("UpperChest" in bones(decoded(datagrams))) == upper_chest
    assert_same_body(datagrams, rotvec)


def test_a_second_pose_leaves_nothing_of_the_first() -> None:
    composer = Composer(BODY)
    first, second = (np.random.default_rng(seed).normal(0.0, 0.8, (N_JOINTS, 3)) for seed in (1, 2))
    composer.put_pose(message_of(first))
    composer.put_pose(message_of(second, ROOT + 1.0))
    assert_same_body([bytes(datagram) for datagram in composer.datagrams(False, 1.0)], second, ROOT + 1.0)


def test_numbers_are_patched_where_python_osc_reads_them() -> None:
    heartbeat = Heartbeat()
    heartbeat.datagrams(True, 1.0)
    assert decoded(heartbeat.datagrams(False, 3.25)) == [("/VMC/Ext/OK", [1, 3, 0, 0]), ("/VMC/Ext/T", [3.25])]
    assert OscPacket(bytes(heartbeat.datagrams(True, 0.5)[0])).messages[1].message.params == [0.5]
