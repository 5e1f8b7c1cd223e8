"""Pictures taken out of a byte stream: every cut of it gives the same ones, whatever the sender writes around them."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import multipart
from capture.multipart import Multipart, NotAStreamError, Part
from tests.camera_server import encoded
from tests.camera_server_pictures import numbered_jpegs

JPEGS = numbered_jpegs(6)
ENDINGS = ("\r\n", "\n")


def stream(jpegs: tuple[bytes, ...], boundary: str, length: int | None, newline: str, padding: bytes = b"") -> bytes:
    """Write a stream as a camera would. length: what is added to the right one, None: not announced."""
    out = b""
    for k, jpeg in enumerate(jpegs):
        lines = [f"--{boundary}", "Content-Type: image/jpeg", f"X-Number: {k}"]
        lines += [] if length is None else [f"Content-Length: {len(jpeg) + len(padding) + length}"]
        out += (newline.join(lines) + 2 * newline).encode() + jpeg + padding + newline.encode()
    return out + f"--{boundary}".encode()


def fed(parts: Multipart, data: bytes, cuts: list[int]) -> list[Part]:
    """Feed data in pieces, each at its own time."""
    out, edges = [], [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    for t_ns, (begin, end) in enumerate(pairwise(edges)):
        out += parts.feed(data[begin:end], t_ns)
    return out


@given(
    cuts=st.lists(st.integers(0, 20000), max_size=30),
    announced=st.sampled_from(["cam", '"cam"', "--cam", ""]),
    length=st.sampled_from([0, None, 37, -37]),
    newline=st.sampled_from(ENDINGS),
    padding=st.sampled_from([b"", b"\0" * 5]),
)
def test_every_picture_comes_whole_and_once(
    cuts: list[int], announced: str, length: int | None, newline: str, padding: bytes
) -> None:
    parts = Multipart(announced)
    found = fed(parts, stream(JPEGS, "cam", length, newline, padding), cuts)
    assert [part.jpeg.rstrip(b"\0") for part in found] == list(JPEGS)
    assert [part.headers["x-number"] for part in found] == ["0", "1", "2", "3", "4", "5"]
    assert parts.cut == 0


@given(cuts=st.lists(st.integers(0, 20000), max_size=10), length=st.sampled_from([0, None]), announced=st.booleans())
def test_a_picture_that_breaks_off_costs_no_other(cuts: list[int], length: int | None, announced: bool) -> None:
    half = JPEGS[2][: len(JPEGS[2]) * 2 // 3]
    parts = Multipart("cam" if announced else "")
    found = fed(parts, stream((*JPEGS[:2], half, *JPEGS[3:]), "cam", length, "\r\n"), cuts)
    assert [part.jpeg for part in found] == [*JPEGS[:2], *JPEGS[3:]] and parts.cut == 1


def test_a_picture_is_given_with_its_last_byte_and_stamped_with_its_first() -> None:
    parts = Multipart("cam")
    data = stream(JPEGS[:1], "cam", None, "\r\n")
    begin = data.index(b"\xff\xd8")
    end = data.rindex(b"\xff\xd9") + 2
    assert parts.feed(data[: begin + 1], 10) == []
    assert parts.feed(data[begin + 1 : begin + 50], 20) == []  # the mark of a beginning is three bytes long
    assert parts.feed(data[begin + 50 : end - 1], 30) == []
    (part,) = parts.feed(data[end - 1 : end], 40)
    assert part.jpeg == JPEGS[0] and part.t_arrival_ns == 20


def test_a_thumbnail_inside_a_picture_is_not_its_end() -> None:
    """Phones put a small picture with an end of its own into the head."""
    small = encoded(np.zeros((16, 16, 3), np.uint8))
    payload = b"Exif\0\0" + small
    picture = JPEGS[0][:2] + b"\xff\xe1" + (len(payload) + 2).to_bytes(2, "big") + payload + JPEGS[0][2:]
    found = fed(Multipart("cam"), stream((picture, JPEGS[1]), "cam", None, "\r\n"), list(range(0, 3000, 100)))
    assert [part.jpeg for part in found] == [picture, JPEGS[1]]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "MAX_JPEG_BYTES", 100_000)
    endless = JPEGS[0][: JPEGS[0].index(b"\xff\xda")] + b"\xff\xda\0\x08\1\1\0\0\x3f\0"
    parts = Multipart("cam")
    parts.feed(endless, 0)
    with pytest.raises(NotAStreamError, match="a picture of more than"):
        for _ in range(1000):
            parts.feed(b"x" * 1000, 0)
    parts = Multipart("cam")
    with pytest.raises(NotAStreamError, match="bytes without a JPEG"):
        for _ in range(3000):
            parts.feed(b"y: z\n" * 100, 0)


def test_a_length_that_nobody_has_room_for_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "MAX_JPEG_BYTES", 100_000)
    for length in (99_999_999, 100_001):
        (part,) = Multipart("cam").feed(b"--cam\r\nContent-Length: %d\r\n\r\n" % length + JPEGS[0], 0)
        assert part.jpeg == JPEGS[0]


def test_a_head_that_comes_in_crumbs_is_read_once() -> None:
    """Or a sender of endless heads would keep a core busy: half a million crumbs of an ever longer head."""
    parts = Multipart("cam")
    parts.feed(b"\xff\xd8\xff\xe0\0\x02", 0)
    begin = time.process_time()
    for _ in range(20_000):
        parts.feed(b"\xff\xe0\0\x02", 0)
    assert time.process_time() - begin < 5.0  # of 0.05; of minutes where it is read again each time
    parts = Multipart("cam")
    found = [part for k in range(len(JPEGS[0])) for part in parts.feed(JPEGS[0][k : k + 1], 0)]
    assert [part.jpeg for part in found] == [JPEGS[0]]


@given(noise=st.binary(max_size=3000), cuts=st.lists(st.integers(0, 2999), max_size=8))
def test_noise_gives_errors_of_ours_or_nothing(noise: bytes, cuts: list[int]) -> None:
    for data in (noise, b"\xff\xd8\xff" + noise, JPEGS[0][:300] + noise):
        found = fed(Multipart(""), data + b"x", cuts)
        assert all(part.jpeg.startswith(b"\xff\xd8") for part in found)
