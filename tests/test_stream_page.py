"""docs/stream.md says what is sent: every key of every topic, and a pose byte by byte."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from stream.codec import TOPIC_OF, decode, encode
from stream.messages import CameraReading, EventMessage, MarkerReading, PoseMessage
from tests.test_codec import same

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "stream.md").read_text("utf-8")
POSE = PoseMessage(
    hash="9f2c4e1ab07d3586",
    session="s1",
    seq=7,
    t_capture_ns=1_000_000_000,
    t_publish_ns=1_004_000_000,
    skew_ns=-500_000,
    state="tracking",
    root_m=(0.5, 1.0, -0.25),
    rotations_xyzw=np.array([[0, 0, 0, 1], [0.6, 0, 0, 0.8]], np.float32),
    joint_source=np.array([0, 1], np.uint8),
    confidence=np.array([1, 0.5], np.float32),
    contacts=("leftFoot",),
    markers=(MarkerReading("chest", (0.5, 1.25, 0.0), None, (1,)),),
    latency_ns={"solve": 900_000},
)


def example_bytes() -> bytes:
    section = PAGE.partition("## A pose, byte by byte")[2].partition("\n## ")[0]
    lines = re.findall(r"^    ((?:[0-9a-f]{2} ?)+)(?:\s*#.*)?$", section, re.MULTILINE)
    return bytes.fromhex("".join(lines))


def test_the_worked_example_is_what_is_sent() -> None:
    assert len(example_bytes()) > 300
    assert encode(POSE).hex(" ") == example_bytes().hex(" ")
    assert same(decode(example_bytes()), POSE)


@pytest.mark.parametrize("kind", TOPIC_OF, ids=lambda kind: kind.__name__)
def test_every_key_of_every_topic_is_explained(kind: type) -> None:
    topic = TOPIC_OF[kind].decode()
    section = PAGE.partition(f"**`{topic}`**")[2].partition("\n**`" if kind is not EventMessage else "\n## ")[0]
    assert section
    for item in fields(kind):
        assert f"`{item.name}`" in section, f"{topic}: {item.name} is not explained"


def test_the_parts_of_cameras_and_markers_are_explained() -> None:
    for item in (*fields(CameraReading), *fields(MarkerReading)):
        assert f"`{item.name}`" in PAGE
