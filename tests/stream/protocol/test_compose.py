"""From a pose to its message: local quaternions, provenance, markers; the hash of a skeleton."""

from dataclasses import replace

import numpy as np
import pytest

from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import matrix_from_quaternion
from stream.protocol.codec import MalformedMessageError, decode_message, encode_message
from stream.protocol.compose import compose_pose_message, compose_rig_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage, RigMessage
from tests.support import fakes

SUBJECT = fakes.subject()
SKELETON = compose_skeleton_message(SUBJECT)


def test_message_rotations_rebuild_the_pose_in_plain_kinematics() -> None:
    pose = fakes.pose(5, 1000, np.array([0.5, 1.0, -0.25]))
    message = decode_message(encode_message(compose_pose_message(pose, SKELETON, "s", 9, 2000)))
    assert isinstance(message, PoseMessage)
    # As any client does it: global = parent's global times local, position = parent's plus its turned offset.
    local = matrix_from_quaternion(message.rotations_xyzw)
    G, p = [local[0]], [np.array(message.root_m)]
    for joint in range(1, N_JOINTS):
        parent = SKELETON.parents[joint]
        p.append(p[parent] + G[parent] @ SKELETON.offsets_m[joint])
        G.append(G[parent] @ local[joint])
    expected_G, expected_p = compute_forward_kinematics(SUBJECT.skeleton, pose.rotvec, pose.root_m)
    np.testing.assert_allclose(np.array(G), expected_G, atol=2e-6)
    np.testing.assert_allclose(np.array(p), expected_p, atol=5e-6)
    np.testing.assert_allclose(local, local_from_charted(pose.rotvec), atol=1e-6)


def test_message_carries_provenance_and_markers() -> None:
    pose = replace(fakes.pose(5, 1000, np.zeros(3), skew_ns=-7), point_m=np.array([[1.0, 2.0, 3.004], [9.0, 9.0, 9.0]]))
    message = compose_pose_message(pose, SKELETON, "run", 9, 2000)
    assert (message.session, message.seq, message.t_capture_ns, message.t_publish_ns) == ("run", 9, 1000, 2000)
    assert (message.skew_ns, message.state, message.hash) == (-7, "tracking", SKELETON.hash)
    chest, hand = message.markers
    assert (chest.name, chest.xyz, chest.residual, chest.cameras) == ("chest", (1.0, 2.0, 3.0), 0.004, (0, 1))
    assert (hand.name, hand.xyz, hand.residual, hand.cameras) == ("hand", (4.0, 5.0, 6.0), None, (1,))
    assert chest.measured == (1.0, 2.0, 3.004) and hand.measured is None  # the hand's point was not measured
    assert message.confidence.tolist() == [0.75] * N_JOINTS and message.latency_ns == {"solve": 1000}


def test_a_marker_names_every_camera_that_saw_it() -> None:
    pose = replace(fakes.pose(5, 1000, np.zeros(3)), seen=np.array([[1, 0], [0, 0], [1, 0], [1, 0], [0, 0]], bool))
    message = decode_message(encode_message(compose_pose_message(pose, SKELETON, "run", 9, 2000)))
    assert isinstance(message, PoseMessage) and [marker.cameras for marker in message.markers] == [(0, 2, 3), ()]


def test_rig_message_describes_one_camera_to_eight() -> None:
    rig = fakes.rig()
    first, second = rig.cameras
    message = compose_rig_message(rig, "run")
    assert [camera.name for camera in message.cameras] == [first.name, second.name] and message.floor_known
    assert message.cameras[1].translation.tolist() == [-2.0, 0.0, 0.0] and message.cameras[0].matrix is first.matrix
    for n in (1, 3, 8):
        many = decode_message(encode_message(replace(message, cameras=(message.cameras * n)[:n])))
        assert isinstance(many, RigMessage) and len(many.cameras) == n
    with pytest.raises(MalformedMessageError, match="9 cameras, expected one to 8"):
        decode_message(encode_message(replace(message, cameras=message.cameras[:1] * 9)))


def test_an_up_direction_of_a_recording_of_before_has_length_1() -> None:
    tilted = replace(compose_rig_message(fakes.rig(), "run"), floor_known=False, up_xyz=(0.0, -0.6, 0.8))
    back = decode_message(encode_message(tilted))
    assert isinstance(back, RigMessage) and back.up_xyz == tilted.up_xyz and not back.floor_known
    with pytest.raises(MalformedMessageError, match="length 1"):
        decode_message(encode_message(replace(tilted, up_xyz=(0.0, 2.0, 0.0))))
