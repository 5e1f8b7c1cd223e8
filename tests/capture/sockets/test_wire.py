"""Blobs survive the journey between processes exactly; nothing else gets through."""

import random
from dataclasses import replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from capture.packets import Blobs, Landmarks
from capture.sockets.wire import MAX_BLOBS, MalformedMessageError, SentBlobs, decode_blobs, encode_blobs

finite = st.floats(-1e6, 1e6)


def example(n: int = 3) -> SentBlobs:
    points = np.arange(2.0 * n).reshape(n, 2) + 0.25
    color = np.arange(3.0 * n).reshape(n, 3)
    blobs = Blobs(1, 7, 123_456_789_012_345, points, np.arange(n) + 4.5, color, np.full(n, 0.1))
    return SentBlobs(blobs, t_read_ns=123_456_789_112_345, t_sent_ns=123_456_790_000_000)


def changed(**fields: object) -> bytes:
    content = msgpack.unpackb(encode_blobs(example()))
    return msgpack.packb({**content, **fields})


@given(
    hnp.arrays(float, st.tuples(st.integers(0, 30), st.just(7)), elements=finite),
    st.integers(0, 7),
    st.integers(0, 2**40),
    st.integers(0, 2**62),
)
def test_round_trip_is_exact(table: np.ndarray, camera: int, index: int, t_ns: int) -> None:
    columns = np.split(table.copy(), [2, 3, 6], axis=1)
    points, area, color, sigma = (np.ascontiguousarray(column) for column in columns)
    sent = SentBlobs(Blobs(camera, index, t_ns, points, area[:, 0].copy(), color, sigma[:, 0].copy()), t_ns + 1, t_ns + 2)
    back = decode_blobs(encode_blobs(sent))
    assert (back.blobs.camera, back.blobs.index, back.blobs.t_capture_ns) == (camera, index, t_ns)
    assert (back.t_read_ns, back.t_sent_ns) == (t_ns + 1, t_ns + 2)
    for name in ("points_px", "area_px", "color_rgb", "sigma_px"):
        array = getattr(back.blobs, name)
        assert array.tobytes() == getattr(sent.blobs, name).tobytes() and array.flags.c_contiguous
        assert not array.flags.writeable


def test_landmarks_travel_with_blobs_and_cost_nothing_where_there_are_none() -> None:
    image_px = np.arange(66.0).reshape(33, 2) - 5.5
    found = Landmarks(image_px, np.linspace(0.0, 1.0, 33), 0.75)
    sent = example()
    back = decode_blobs(encode_blobs(replace(sent, blobs=replace(sent.blobs, landmarks=found)))).blobs.landmarks
    assert back is not None and back.presence == 0.75
    assert back.image_px.tobytes() == found.image_px.tobytes() and back.score.tobytes() == found.score.tobytes()
    assert not back.image_px.flags.writeable and not back.score.flags.writeable
    assert decode_blobs(encode_blobs(sent)).blobs.landmarks is None
    assert not {"landmarks", "presence"} & set(msgpack.unpackb(encode_blobs(sent)))


def test_layout_is_little_endian_doubles_row_by_row() -> None:
    content = msgpack.unpackb(encode_blobs(example()))
    assert content["points_px"][:16] == np.array([0.25, 1.25], "<f8").tobytes()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        msgpack.packb([1, 2]),
        msgpack.packb({}),
        msgpack.packb({1: 2}),
        b"\x91" * 5000,
        changed(camera=8),
        changed(camera=True),
        changed(camera="0"),
        changed(index=-1),
        changed(t_capture_ns=2**63),
        changed(t_sent_ns=1.5),
        changed(points_px=b"123"),
        changed(points_px="text"),
        changed(area_px=np.zeros(2).tobytes()),
        changed(sigma_px=np.array([0.1, np.nan, 0.1]).tobytes()),
        changed(points_px=np.full((3, 2), np.inf).tobytes()),
        encode_blobs(example(MAX_BLOBS + 1)),
        changed(landmarks=np.zeros((32, 3)).tobytes(), presence=1.0),
        changed(landmarks=np.full((33, 3), 1.5).tobytes(), presence=1.0),
        changed(landmarks=np.full((33, 3), np.nan).tobytes(), presence=1.0),
        changed(landmarks=np.zeros((33, 3)).tobytes(), presence=1.5),
        encode_blobs(example()) + b"\x00",
        b"\x00" * (1 << 20) + b"\x00",
    ],
)
def test_malformed_blobs_are_rejected(payload: bytes) -> None:
    with pytest.raises(MalformedMessageError, match="dropped"):
        decode_blobs(payload)


def test_mutilated_bytes_give_blobs_or_one_kind_of_error() -> None:
    rng, good = random.Random(5), encode_blobs(example())
    rejected = 0
    for _ in range(2000):
        data = bytearray(good[: rng.randrange(1, len(good) + 1)])
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            decode_blobs(bytes(data))
        except MalformedMessageError:
            rejected += 1
    assert rejected > 1000
