"""One message of each topic, for tests: three joints, two markers, two cameras; and comparison of messages with arrays."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace

import msgpack
import numpy as np

from reconstruct.pose import TrackingState
from stream.protocol.codec import encode_message
from stream.protocol.messages import (
    CameraReading,
    EventMessage,
    FootForce,
    MarkerReading,
    Message,
    PoseMessage,
    RigMessage,
    SkeletonMessage,
    StatusMessage,
)
from stream.recording.recorder import build_recording

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
    state=TrackingState.TRACKING,
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
FORCED = replace(
    POSE,
    ground_forces=(
        FootForce("leftFoot", (-12.5, 680.0, 33.0), (0.1, 0.01, -2.4), (0.25, -3.0, 0.5)),
        FootForce("rightFoot", (0.0, 0.0, 0.0), None, (0.0, 0.0, 0.0)),
    ),
)
STATUS = StatusMessage(
    "s1",
    5,
    "tracking",
    {"pose": 59.9},
    {"late": 1},
    {"mean": -2e6},
    {"epipolar_px": 0.4},
    {"left": {"fps": 60.0}},
    lag_ns=100_000_000,
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
WIDE = replace(CAMERA, distortions=np.array([-0.02, 0.006, -0.003, 0.0005]), fisheye=True)
MARKERLESS = replace(POSE, landmarks=("nothing", None, "legs"), error_m=np.array([0.01, 0.02, 0.5], np.float32))
UNROUND = replace(POSE, t_capture_ns=2**62, skew_ns=-(2**40) - 1, root_m=(0.1, 1.0 / 3.0, -99.7))  # no float32 has these
MESSAGES: list[Message] = [SKELETON, RIG, POSE, STATUS, EVENT, replace(SKELETON, mass_kg=71.5), FORCED, MARKERLESS, UNROUND]
MESSAGES.append(replace(RIG, cameras=(WIDE, *RIG.cameras[1:])))


def record(messages: Iterable[tuple[int, Message]]) -> bytes:
    """Return a recording of messages, each with its time [ns]."""
    rows = ((encode_message(m), t_ns, m.seq if isinstance(m, PoseMessage) else 0) for t_ns, m in messages)
    return build_recording({"subject": "Ann"}, rows)


def same(first: object, second: object) -> bool:
    """Return whether two messages, or parts of them, are equal."""
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and np.array_equal(first, second) and first.dtype == second.dtype
    if isinstance(first, tuple):
        return isinstance(second, tuple) and len(first) == len(second) and all(map(same, first, second))
    if not is_dataclass(first):
        return first == second
    return type(first) is type(second) and all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))


def changed(message: Message, **values: object) -> bytes:
    """Return the bytes of a message with other values."""
    topic, _, body = encode_message(message).partition(b" ")
    return topic + b" " + msgpack.packb({**msgpack.unpackb(body), **values})
