"""The stream's bytes: the layout that docs/messages.md explains, exact round trips, and one error for anything malformed."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from capture.sockets.wire import MalformedMessageError
from reconstruct.pose import TrackingState
from stream.protocol.codec import TOPIC_OF, decode_message, encode_message
from stream.protocol.messages import CameraReading, MarkerReading, Message, PoseMessage, RigMessage
from tests.support.stream_messages import EVENT, FORCED, MESSAGES, POSE, RIG, SKELETON, STATUS, changed, same


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_round_trip(message: Message) -> None:
    assert same(decode_message(encode_message(message)), message)


def content_of(message: Message) -> dict[str, Any]:
    return dict(msgpack.unpackb(encode_message(message).partition(b" ")[2]))


def test_what_is_unknown_is_absent() -> None:
    assert "fisheye" not in content_of(RIG)["cameras"][0]
    absent = {"ground_forces", "error_m", "views", "landmarks", "props"}
    assert set(content_of(POSE)) == {item.name for item in fields(POSE)} - absent
    foot = content_of(FORCED)["ground_forces"][1]
    assert foot == {"joint": "rightFoot", "force_n": [0.0] * 3, "center_m": None, "moment_nm": [0.0] * 3}


@pytest.mark.parametrize(
    "camera",
    [
        {"size": [640]},
        {"size": [0, 480]},
        {"matrix": [[1.0, 0, 0]]},
        {"distortions": [0.0]},
        {"rotation": [0.0, np.nan, 0]},
        {"fisheye": True},  # of five distortions
    ],
    ids=str,
)
def test_a_camera_that_cannot_be_is_refused(camera: dict[str, object]) -> None:
    content = content_of(RIG)["cameras"][0]
    assert isinstance(decode_message(changed(RIG, cameras=[content])), RigMessage)
    with pytest.raises(MalformedMessageError):
        decode_message(changed(RIG, cameras=[{**content, **camera}]))


def test_skeleton_layout() -> None:
    content = content_of(SKELETON)
    assert content["offsets_m"][1] == [0.0, 0.1, 0.02] and content["parents"] == [-1, 0, 0]
    assert (content["units"], content["handedness"], content["up"], content["quaternion"]) == ("m", "right", "Y", "xyzw")


def test_keys_of_the_future_are_ignored_and_another_schema_is_not() -> None:
    assert same(decode_message(changed(POSE, fingers=[1, 2])), POSE)
    with pytest.raises(MalformedMessageError, match="update this client"):
        decode_message(changed(POSE, schema=2))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"pose",
        b"pose ",
        b"other \x80",
        b"pose\x80",
        b"pose " + msgpack.packb([1]),
        changed(POSE, state="fine"),
        changed(POSE, seq=-1),
        changed(POSE, ground_forces=[{}]),
        changed(POSE, ground_forces=[{"joint": "leftFoot", "force_n": [0, float("inf"), 0], "moment_nm": [0, 0, 0]}]),
        changed(SKELETON, mass_kg=-1.0),
        changed(POSE, hash=3),
        changed(POSE, root_m=[1.0, 2.0]),
        changed(POSE, root_m=[1.0, 2.0, float("nan")]),
        changed(POSE, rotations_xyzw=b"\0" * 48),
        changed(POSE, rotations_xyzw=POSE.rotations_xyzw.tobytes()[:-1]),
        changed(POSE, rotations_xyzw=POSE.rotations_xyzw.tobytes()[:-16]),
        changed(POSE, confidence=[1.0, 1.0, 1.0]),
        changed(POSE, joint_source=b"\0"),
        changed(POSE, error_m=b"\0" * 4),
        *(changed(POSE, landmarks=broken) for broken in ([1], "legs", ["nothing"] * 9)),
        changed(POSE, error_m=np.full(3, -0.1, "<f4").tobytes()),
        changed(POSE, markers=[3]),
        changed(POSE, markers=[{"name": "a", "xyz": [0, 0, 0], "residual": float("inf"), "cameras": [0]}]),
        changed(POSE, latency_ns={"solve": "long"}),
        changed(SKELETON, parents=[-1, 2, 0]),
        changed(SKELETON, parents=[-1, 0]),
        changed(SKELETON, parents=[-1, 0, True]),
        changed(SKELETON, offsets_m=[[0, 0, 0], [0, 0], [1, 1, 1]]),
        changed(SKELETON, names=[]),
        changed(STATUS, drops=[]),
        changed(EVENT, text=None),
    ],
)
def test_malformed_messages_are_rejected(payload: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        decode_message(payload)


DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE_POSE = PoseMessage(
    hash="9f2c4e1ab07d3586",
    session="s1",
    seq=7,
    t_capture_ns=1_000_000_000,
    t_publish_ns=1_004_000_000,
    skew_ns=-500_000,
    state=TrackingState.TRACKING,
    root_m=(0.5, 1.0, -0.25),
    rotations_xyzw=np.array([[0, 0, 0, 1], [0.6, 0, 0, 0.8]], np.float32),
    joint_source=np.array([0, 1], np.uint8),
    confidence=np.array([1, 0.5], np.float32),
    contacts=("leftFoot",),
    markers=(MarkerReading("chest", (0.5, 1.25, 0.0), None, (1,)),),
    latency_ns={"solve": 900_000},
)


def example_bytes() -> bytes:
    lines = re.findall(
        r"^    ((?:[0-9a-f]{2} ?)+)(?:\s*#.*)?$", (DOCS / "tables" / "pose-bytes.txt").read_text("utf-8"), re.MULTILINE
    )
    return bytes.fromhex("".join(lines))


def test_the_worked_example_is_what_is_sent() -> None:
    assert len(example_bytes()) > 300
    assert encode_message(PAGE_POSE).hex(" ") == example_bytes().hex(" ")
    assert same(decode_message(example_bytes()), PAGE_POSE)


@pytest.mark.parametrize("kind", TOPIC_OF, ids=lambda kind: kind.__name__)
def test_every_key_of_every_topic_is_explained(kind: type) -> None:
    topic = TOPIC_OF[kind].decode()
    section = (DOCS / "messages.md").read_text("utf-8").partition(f"## `{topic}`")[2].partition("\n## ")[0]
    assert section
    for item in fields(kind):
        assert f"`{item.name}`" in section, f"{topic}: {item.name} is not explained"


def test_the_parts_of_cameras_and_markers_are_explained() -> None:
    page = (DOCS / "messages.md").read_text("utf-8")
    for name in (*(item.name for item in fields(CameraReading)), *MarkerReading._fields):
        assert f"`{name}`" in page
