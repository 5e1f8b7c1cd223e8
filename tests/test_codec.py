"""The stream's bytes: exact layout, exact round trip, and no way to crash a receiver."""

import random
from dataclasses import fields, is_dataclass, replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.wire import MalformedMessageError
from stream.codec import decode, encode
from stream.messages import (
    CameraReading,
    EventMessage,
    MarkerReading,
    Message,
    PoseMessage,
    RigMessage,
    SkeletonMessage,
    StatusMessage,
)

HALF = float(np.sqrt(0.5))
SKELETON = SkeletonMessage(
    hash="0123456789abcdef",
    names=("hips", "spine", "leftUpperLeg"),
    parents=(-1, 0, 0),
    offsets_m=np.array([[0, 0, 0], [0, 0.1, 0.02], [0.09, -0.05, 0]]),
    rest_xyzw=np.tile([0.0, 0, 0, 1], (3, 1)),
    humanoid={"hips": "hips", "spine": "spine", "leftUpperLeg": "leftUpperLeg"},
    markers=("chest", "left_hand"),
    subject="Änne",
)
POSE = PoseMessage(
    hash=SKELETON.hash,
    session="s1",
    seq=41,
    t_capture_ns=9_000_000_000_123,
    t_publish_ns=9_000_004_000_456,
    skew_ns=-2_000_000,
    state="tracking",
    root_m=(0.125, 1.0, -2.5),
    rotations_xyzw=np.array([[0, 0, 0, 1], [HALF, 0, 0, HALF], [0, 0.6, 0, -0.8]], np.float32),
    joint_source=np.array([0, 1, 2], np.uint8),
    confidence=np.array([1, 0.5, 0.25], np.float32),
    contacts=("leftFoot",),
    markers=(
        MarkerReading("chest", (0.5, 1.25, 2.0), 0.004, (0, 1), (0.5, 1.25, 2.004)),
        MarkerReading("left_hand", (1.0, 0.0, 0.0), None, (1,)),
    ),
    latency_ns={"detect": 1_500_000, "solve": 900_000},
)
STATUS = StatusMessage(
    "s1", 5, "tracking", {"pose": 59.9}, {"late": 1}, {"mean": -2e6}, {"epipolar_px": 0.4}, {"left": {"fps": 60.0}}
)
EVENT = EventMessage("s1", 6, "camera", "camera left ended and was started again")
CAMERA = CameraReading(
    "left",
    (640, 480),
    np.array([[600.0, 0, 320], [0, 610, 240], [0, 0, 1]]),
    np.array([0.1, -0.2, 0.001, 0.002, 0.05]),
    np.array([0.1, 0.2, 0.3]),
    np.array([0.0, -1.0, 3.0]),
)
RIG = RigMessage("s1", (CAMERA, replace(CAMERA, name="right", distortions=np.zeros(4))), True)
MESSAGES: list[Message] = [SKELETON, RIG, POSE, STATUS, EVENT]


def same(first: object, second: object) -> bool:
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and np.array_equal(first, second) and first.dtype == second.dtype
    if isinstance(first, tuple):
        return isinstance(second, tuple) and len(first) == len(second) and all(map(same, first, second))
    if not is_dataclass(first):
        return first == second
    return type(first) is type(second) and all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))


def changed(message: Message, **values: object) -> bytes:
    topic, _, body = encode(message).partition(b" ")
    return topic + b" " + msgpack.packb({**msgpack.unpackb(body), **values})


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_round_trip(message: Message) -> None:
    assert same(decode(encode(message)), message)


def test_pose_layout_is_the_one_other_languages_read() -> None:
    topic, _, body = encode(POSE).partition(b" ")
    content = msgpack.unpackb(body)
    assert topic == b"pose" and body[0] & 0xF0 in (0x80, 0xD0)
    assert content["rotations_xyzw"][16:32] == np.array([HALF, 0, 0, HALF], "<f4").tobytes()
    assert content["joint_source"] == b"\x00\x01\x02" and len(content["confidence"]) == 12
    assert content["root_m"] == [0.125, 1.0, -2.5] and content["schema"] == 1
    assert content["markers"][1] == {
        "name": "left_hand",
        "xyz": [1.0, 0.0, 0.0],
        "residual": None,
        "cameras": [1],
        "measured": None,
    }
    assert list(content)[:1] != [] and set(content) == {item.name for item in fields(POSE)}


@pytest.mark.parametrize(
    "camera",
    [{"size": [640]}, {"size": [0, 480]}, {"matrix": [[1.0, 0, 0]]}, {"distortions": [0.0]}, {"rotation": [0.0, np.nan, 0]}],
    ids=str,
)
def test_a_camera_that_cannot_be_is_refused(camera: dict[str, object]) -> None:
    content = msgpack.unpackb(encode(RIG).partition(b" ")[2])["cameras"][0]
    assert isinstance(decode(changed(RIG, cameras=[content])), RigMessage)
    with pytest.raises(MalformedMessageError):
        decode(changed(RIG, cameras=[{**content, **camera}]))


def test_skeleton_layout() -> None:
    content = msgpack.unpackb(encode(SKELETON).partition(b" ")[2])
    assert content["offsets_m"][1] == [0.0, 0.1, 0.02] and content["parents"] == [-1, 0, 0]
    assert (content["units"], content["handedness"], content["up"], content["quaternion"]) == ("m", "right", "Y", "xyzw")


def test_keys_of_the_future_are_ignored_and_another_schema_is_not() -> None:
    assert same(decode(changed(POSE, fingers=[1, 2])), POSE)
    with pytest.raises(MalformedMessageError, match="update this client"):
        decode(changed(POSE, schema=2))


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
        changed(POSE, hash=3),
        changed(POSE, root_m=[1.0, 2.0]),
        changed(POSE, root_m=[1.0, 2.0, float("nan")]),
        changed(POSE, rotations_xyzw=b"\0" * 48),
        changed(POSE, rotations_xyzw=POSE.rotations_xyzw.tobytes()[:-1]),
        changed(POSE, rotations_xyzw=POSE.rotations_xyzw.tobytes()[:-16]),
        changed(POSE, confidence=[1.0, 1.0, 1.0]),
        changed(POSE, joint_source=b"\0"),
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
        decode(payload)


def test_mutilated_bytes_give_a_message_or_one_kind_of_error() -> None:
    rng, rejected = random.Random(11), 0
    originals = [encode(message) for message in MESSAGES]
    for _ in range(6000):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            decode(bytes(data[: rng.randrange(1, len(data) + 1)]))
        except MalformedMessageError:
            rejected += 1
    assert rejected > 4000


@given(st.binary(max_size=200), st.sampled_from([b"", b"pose ", b"skeleton ", b"status ", b"event "]))
def test_noise_is_rejected(noise: bytes, topic: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        decode(topic + noise)


@given(st.integers(0, 2**62), st.tuples(*[st.floats(-100, 100)] * 3), st.integers(-(2**40), 2**40))
def test_numbers_of_a_pose_arrive_exactly(t_ns: int, root: tuple[float, float, float], skew_ns: int) -> None:
    pose = replace(POSE, t_capture_ns=t_ns, root_m=root, skew_ns=skew_ns)
    assert same(decode(encode(pose)), pose)
