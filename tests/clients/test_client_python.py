"""The Python client: installs alone, hears a real publisher, agrees with our kinematics, counts what it misses."""

import contextlib
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.joints import JOINTS
from stream.protocol.codec import encode_message
from stream.protocol.messages import EventMessage, Message
from stream.publish.publisher import Publisher
from tests.support.clients import JOINTS_M, POSE, SKELETON, check_places

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path.insert(0, str(FOLDER))
from duocap_client import Client, MalformedMessageError, Pose, Skeleton, decode  # noqa: E402


def join(publisher: Publisher, client: Client) -> None:
    """Serve until the client has the skeleton."""
    deadline = time.monotonic() + 30
    while client.skeleton is None and time.monotonic() < deadline:
        publisher.serve(1)
        client.latest(0.01)
    assert client.skeleton is not None


def test_positions_are_ours() -> None:
    topic, skeleton = decode(encode_message(SKELETON))
    assert topic == "skeleton" and isinstance(skeleton, Skeleton)
    _, pose = decode(encode_message(POSE))
    assert isinstance(pose, Pose)
    check_places(list(skeleton.joint_positions(pose).items()))
    assert [marker.cameras for marker in pose.markers] == [(0, 1, 2, 3), (1,)]
    assert pose.markers[0].name == "chest" and pose.markers[0].residual == 0.004 and pose.state == "tracking"
    with pytest.raises(ValueError, match="wait for the new skeleton"):
        skeleton.joint_positions(decode(encode_message(replace(POSE, hash="other")))[1])


def test_hears_the_newest_pose_and_counts_the_missing(publisher: Publisher) -> None:
    with Client(publisher.address) as client:
        join(publisher, client)
        for seq in (3, 4, 8):
            publisher.publish(replace(POSE, seq=seq))
        publisher.publish(EventMessage("run", 1, "camera", "left camera gone"))
        time.sleep(0.2)
        pose = client.latest()
        assert pose is not None and pose.seq == 8 and client.n_missed == 3
        assert client.events == ["left camera gone"] and client.n_malformed == 0
        assert client.latest(0.01) is None
        # A pose of a skeleton that has not been told yet is not given.
        publisher.publish(replace(POSE, seq=9, hash="f" * 16))
        assert client.latest(0.2) is None


@given(st.integers(0, 2), st.data())
def test_malformed_messages_raise_one_kind_of_error(which: int, data: st.DataObject) -> None:
    messages: list[Message] = [SKELETON, POSE, EventMessage("run", 1, "camera", "text")]
    payload = bytearray(encode_message(messages[which]))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedMessageError):
        decode(bytes(payload[: data.draw(st.integers(0, len(payload)))]))


@pytest.mark.slow
def test_installs_alone_and_prints_poses(publisher: Publisher, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    copy = shutil.copytree(FOLDER, tmp_path / "client")  # pip builds in place
    pip = [sys.executable, "-m", "pip", "--python", str(python)]  # its own pip would take longer to install than the client
    installed = subprocess.run([*pip, "install", "-q", str(copy)], capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"pip could not install the client: {installed.stderr[-200:]}")
    listed = subprocess.run([*pip, "list", "--format=freeze"], capture_output=True, text=True, check=True).stdout
    assert "numpy" not in listed and "duocap-client" in listed.replace("_", "-")
    program = subprocess.Popen(
        [python, "-u", FOLDER / "examples" / "print_poses.py", publisher.address], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        deadline = time.monotonic() + 60
        while publisher.n_subscriptions == 0 and time.monotonic() < deadline:
            publisher.serve(1)
            time.sleep(0.01)
        publisher.publish(POSE)
        assert program.stdout is not None
        words = program.stdout.readline().split()
    finally:
        program.kill()
        program.communicate()
    assert words[:2] == ["9", "tracking"]
    np.testing.assert_allclose([float(word) for word in words[4:7]], JOINTS_M[JOINTS.index("leftHand")], atol=0.006)
