"""MJPEG over HTTP: the parts of a stream, and a camera that sends them; what all protocols share: test_streams.py."""

import base64
import contextlib
import socket
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.clock import now_ns
from capture.sources.network import connection as mjpeg_connection
from capture.sources.network import mjpeg as mjpeg_http
from capture.sources.network import mjpeg as multipart
from capture.sources.network.mjpeg import JpegPart, MjpegHttp, MultipartParser, NotAStreamError, parse_sent_ns
from capture.sources.source import Source, Stamp
from config.errors import SourceError
from tests.capture.sources.network.camera_server_pictures import number_of, numbered_jpegs
from tests.support.cameras.mjpeg import MjpegServer, encoded
from tests.support.kept import Kept

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


def fed(parts: MultipartParser, data: bytes, cuts: list[int]) -> list[JpegPart]:
    """Feed data in pieces, each at its own time."""
    out, edges = [], [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    for t_ns, (begin, end) in enumerate(pairwise(edges)):
        out += parts.feed(data[begin:end], t_ns)
    return out


@settings(max_examples=25)
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
    parts = MultipartParser(announced)
    found = fed(parts, stream(JPEGS, "cam", length, newline, padding), cuts)
    assert [part.jpeg.rstrip(b"\0") for part in found] == list(JPEGS)
    assert [part.headers["x-number"] for part in found] == ["0", "1", "2", "3", "4", "5"]
    assert parts.n_cut == 0


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 20000), max_size=10), length=st.sampled_from([0, None]), announced=st.booleans())
def test_a_picture_that_breaks_off_costs_no_other(cuts: list[int], length: int | None, announced: bool) -> None:
    half = JPEGS[2][: len(JPEGS[2]) * 2 // 3]
    parts = MultipartParser("cam" if announced else "")
    found = fed(parts, stream((*JPEGS[:2], half, *JPEGS[3:]), "cam", length, "\r\n"), cuts)
    assert [part.jpeg for part in found] == [*JPEGS[:2], *JPEGS[3:]] and parts.n_cut == 1


def test_a_picture_is_given_with_its_last_byte_and_stamped_with_its_first() -> None:
    parts = MultipartParser("cam")
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
    found = fed(MultipartParser("cam"), stream((picture, JPEGS[1]), "cam", None, "\r\n"), list(range(0, 3000, 100)))
    assert [part.jpeg for part in found] == [picture, JPEGS[1]]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "MAX_JPEG_BYTES", 100_000)
    monkeypatch.setattr(multipart, "MAX_GAP_BYTES", 100_000)
    endless = JPEGS[0][: JPEGS[0].index(b"\xff\xda")] + b"\xff\xda\0\x08\1\1\0\0\x3f\0"
    parts = MultipartParser("cam")
    parts.feed(endless, 0)
    with pytest.raises(NotAStreamError, match="a picture of more than"):
        for _ in range(1000):
            parts.feed(b"x" * 1000, 0)
    parts = MultipartParser("cam")
    with pytest.raises(NotAStreamError, match="bytes without a JPEG"):
        for _ in range(3000):
            parts.feed(b"y: z\n" * 100, 0)


def test_a_length_that_nobody_has_room_for_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "MAX_JPEG_BYTES", 100_000)
    for length in (99_999_999, 100_001):
        (part,) = MultipartParser("cam").feed(b"--cam\r\nContent-Length: %d\r\n\r\n" % length + JPEGS[0], 0)
        assert part.jpeg == JPEGS[0]


def test_a_head_that_comes_in_crumbs_is_read_once() -> None:
    """Or a sender of endless heads would keep a core busy: half a million crumbs of an ever longer head."""
    parts = MultipartParser("cam")
    parts.feed(b"\xff\xd8\xff\xe0\0\x02", 0)
    for _ in range(20_000):
        parts.feed(b"\xff\xe0\0\x02", 0)
    parts = MultipartParser("cam")
    found = [part for k in range(len(JPEGS[0])) for part in parts.feed(JPEGS[0][k : k + 1], 0)]
    assert [part.jpeg for part in found] == [JPEGS[0]]


@given(noise=st.binary(max_size=3000), cuts=st.lists(st.integers(0, 2999), max_size=8))
def test_noise_gives_errors_of_ours_or_nothing(noise: bytes, cuts: list[int]) -> None:
    for data in (noise, b"\xff\xd8\xff" + noise, JPEGS[0][:300] + noise):
        found = fed(MultipartParser(""), data + b"x", cuts)
        assert all(part.jpeg.startswith(b"\xff\xd8") for part in found)


N = 64
FPS = 100.0


def numbers(source: MjpegHttp, count: int) -> list[int]:
    frames = [source.read() for _ in range(count)]
    assert all(frame is not None for frame in frames)
    return [number_of(frame.image) for frame in frames if frame is not None]


@pytest.fixture
def server() -> MjpegServer:
    with MjpegServer(numbered_jpegs(N), fps=FPS) as server:
        yield server


def test_pictures_come_in_order_with_their_bytes(server: MjpegServer, kept: Kept) -> None:
    t_begin_ns = now_ns()
    source = kept(MjpegHttp(server.url, 1))
    assert isinstance(source, Source)
    assert (source.size, source.n_frames, source.truncated, source.stamp) == ((256, 64), None, False, Stamp.READ)
    assert source.name == server.url and source.facts["server"] == "test camera"
    for _ in range(20):
        frame = source.read()
        assert frame is not None and frame.camera == 1 and frame.image.shape == (64, 256, 3)
        assert frame.jpeg == numbered_jpegs(N)[number_of(frame.image)]
        assert t_begin_ns < frame.t_capture_ns <= now_ns()
    source.close()
    assert source.read() is None


@pytest.mark.parametrize(
    ("headers", "ns"),
    [
        ({"x-timestamp": "12.5"}, 12_500_000_000),
        ({"x-timestamp": "1700000000.250000"}, 1_700_000_000_250_000_000),
        ({"x-timestamp": "1700000000250"}, 1_700_000_000_250_000_000),
        ({"x-timestamp": "now"}, None),
        ({"x-timestamp": "nan"}, None),
        ({"x-timestamp": "-1"}, None),
        ({}, None),
    ],
)
def test_how_a_sender_writes_its_time(headers: dict[str, str], ns: int | None) -> None:
    found = parse_sent_ns(headers)
    assert found == (None if ns is None else pytest.approx(ns, abs=300))


@pytest.mark.slow
def test_damaged_pictures_are_dropped_and_counted() -> None:
    with MjpegServer(numbered_jpegs(N), fps=FPS, corrupt=0.4, seed=5) as server:
        source = MjpegHttp(server.url, 0)
        for _ in range(30):
            frame = source.read()
            assert frame is not None and frame.jpeg == numbered_jpegs(N)[number_of(frame.image)]
        assert int(source.facts["corrupt"]) > 5
        source.close()


@pytest.mark.slow
def test_a_picture_sent_again_is_no_new_one_but_a_frozen_one_is_shown() -> None:
    twice = [jpeg for jpeg in numbered_jpegs(N // 2) for _ in range(2)]
    with MjpegServer(twice, fps=FPS) as server:
        source = MjpegHttp(server.url, 0)
        assert set(np.diff(numbers(source, 16)) % (N // 2)) <= {1, 2, 3}
        assert int(source.facts["repeated"]) >= 10
        server.set(frozen=True)
        assert numbers(source, 40)[-20:] == [0] * 20
        source.close()


def test_another_size_is_an_error_that_says_so(server: MjpegServer, kept: Kept) -> None:
    source = kept(MjpegHttp(server.url, 0))
    server.set(resized=True)
    with pytest.raises(SourceError, match="are 128x32 now, were 256x64; was the phone turned"):
        for _ in range(1000):
            source.read()


@pytest.mark.slow
def test_a_redirect_is_followed(server: MjpegServer, kept: Kept) -> None:
    server.set(reply="redirect", password=True)
    source = kept(MjpegHttp(server.url_with_password.replace("/video", "/"), 0))
    assert source.read() is not None


@pytest.mark.slow
def test_a_stream_that_does_not_say_what_it_is() -> None:
    """No kind, lines that end with a line feed alone, no lengths."""
    listener = socket.create_server(("127.0.0.1", 0))
    jpegs = numbered_jpegs(N)

    def serve() -> None:
        client, _ = listener.accept()
        request = client.recv(4096)
        assert b"Authorization: Basic " + base64.b64encode("über:p w".encode()) in request
        client.sendall(b"HTTP/1.0 200 OK\r\n\r\n--x\n")
        for jpeg in jpegs[:30]:
            client.sendall(b"Content-type: image/jpeg\n\n" + jpeg + b"\n--x\n")
            time.sleep(0.01)
        client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        source = MjpegHttp(f"http://%C3%BCber:p%20w@127.0.0.1:{listener.getsockname()[1]}/", 0, fps=60.0)
        read = []
        with pytest.raises(SourceError, match="the camera ended the stream"):
            while True:
                read.extend(numbers(source, 1))
        assert read[-1] == 29 and read == sorted(read)
        source.close()


def served_once(send: Callable[[socket.socket], None]) -> socket.socket:
    """Listen, and let `send` talk to the first client until it leaves."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            client, _ = listener.accept()
            with client:
                client.recv(4096)
                send(client)

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.slow
def test_a_head_that_never_ends_though_each_byte_comes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjpeg_connection, "HEADER_S", 0.5)

    def dribble(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.0 200 OK\r\nX: ")
        while True:
            client.sendall(b"x")
            time.sleep(0.05)

    with served_once(dribble) as listener, pytest.raises(SourceError, match="does not answer as a web server does"):
        MjpegHttp(f"http://127.0.0.1:{listener.getsockname()[1]}/", 0)


def test_a_stream_of_pictures_that_cannot_be_decoded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjpeg_http, "OPEN_S", 0.5)
    jpeg = numbered_jpegs(1)[0]
    at = jpeg.index(b"\xff\xc0")
    huge = jpeg[: at + 5] + b"\xff\xff\xff\xff" + jpeg[at + 9 :]  # 65535 x 65535: 13 GB of pixels

    def flood(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=x\r\n\r\n")
        for k in range(10**6):
            client.sendall(b"--x\r\n\r\n" + huge[:-2] + b"%d" % k + huge[-2:] + b"\r\n")
            time.sleep(0.001)

    with served_once(flood) as listener, pytest.raises(SourceError, match=r"none for 0\.5 s that can be decoded"):
        MjpegHttp(f"http://127.0.0.1:{listener.getsockname()[1]}/", 0)
