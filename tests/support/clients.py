"""What the tests of several clients share: a body, its pose as a message, and a stream of it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from config.joints import JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.publish.publisher import Publisher
from tests.support import fakes

SUBJECT = fakes.subject()
SKELETON = compose_skeleton_message(SUBJECT)
FAKE = fakes.pose(5, 1000, np.array([0.5, 1.0, -0.25]), n_cameras=4)
POSE = compose_pose_message(FAKE, SKELETON, "run", 9, 2000)
JOINTS_M = compute_forward_kinematics(SUBJECT.skeleton, FAKE.rotvec, FAKE.root_m)[1]


def publish_until(publisher: Publisher, done: Callable[[], bool], seconds: float = 40.0, noise: bytes = b"") -> None:
    """Publish poses at 60 Hz until something has happened.

    Args:
        publisher: publisher of the skeleton.
        done: whether it has happened.
        seconds: by then it must have.
        noise: sent after every pose.
    """
    seq, deadline = 0, time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        publisher.serve(time.monotonic_ns())
        publisher.publish(replace(POSE, seq=seq))
        if noise:
            publisher._send(noise)
        seq += 1
        time.sleep(1 / 60)


def check_places(places: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Compare the places of joints by name with our forward kinematics; messages hold float32."""
    assert [name for name, _ in places] == list(JOINTS)
    np.testing.assert_allclose([place for _, place in places], JOINTS_M, atol=5e-6)
