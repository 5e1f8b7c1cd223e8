"""Small pictures of a camera for the eyes of the user, with what was detected: encoded only while somebody looks.

The one exception to "pixels stay in their camera's process" (docs/decisions/0021-previews.md). The camera's thread hands over a
frame and goes on; a thread of the preview's own shrinks it, makes a JPEG of it and sends it, at most PERIOD_NS apart.
"""

import logging
import re
import threading
from dataclasses import dataclass

import cv2
import msgpack
import numpy as np
import zmq
from numpy.typing import NDArray

from capture.packets import Blobs, Floats, Frame
from capture.wire import MAX_BLOBS, MAX_MESSAGE_BYTES, MalformedMessageError, field_of, floats_of, int_of, packed, unpacked_map

log = logging.getLogger(__name__)

Image = NDArray[np.uint8]
WIDTH_PX = 480
QUALITY = 75
PERIOD_NS = 100_000_000
SEND_BUFFER_MESSAGES = 2
TURN_MS = 100
MAX_FULL_PX = 1 << 14  # of a camera's picture, along one side
MAX_SMALL_PX = 1024  # of a preview's
MAX_SUBSCRIPTION_BYTES = 256
FRAME_HEADERS = frozenset((0xC0, 0xC1, 0xC2))  # JPEG: baseline, extended, progressive
BARE_MARKERS = frozenset((0x01, *range(0xD0, 0xD9)))  # without a length
JOIN_S = 1.0
LOOPBACK = r"tcp://127\.0\.0\.1:([0-9]{1,5})"


@dataclass(frozen=True, slots=True)
class Preview:
    """A small picture of one moment. size: of the camera's full picture [px]; points_px: blobs in the full picture, (N, 2)."""

    camera: int
    index: int
    t_capture_ns: int
    size: tuple[int, int]
    points_px: Floats
    jpeg: bytes

    def image(self) -> Image:
        """Give the picture, BGR (h, w, 3). Raises MalformedMessageError: no JPEG, or a large one."""
        width, height = jpeg_size(self.jpeg)
        if not (0 < width <= MAX_SMALL_PX and 0 < height <= MAX_SMALL_PX):
            raise MalformedMessageError(f"a preview of {width}x{height} pixels came, at most {MAX_SMALL_PX} a side; dropped")
        try:
            image = cv2.imdecode(np.frombuffer(self.jpeg, np.uint8), cv2.IMREAD_COLOR)
        except cv2.error as error:
            raise MalformedMessageError("a preview came whose JPEG is broken; it was dropped") from error
        if image is None:
            raise MalformedMessageError("a preview came whose JPEG is broken; it was dropped")
        return np.asarray(image, np.uint8)


def preview_of(frame: Frame, points_px: Floats) -> Preview:
    """Shrink a frame to at most WIDTH_PX and make a JPEG of it."""
    height, width = frame.image.shape[:2]
    image = frame.image
    if max(width, height) > WIDTH_PX:
        scale = WIDTH_PX / max(width, height)
        small = (max(round(width * scale), 1), max(round(height * scale), 1))
        image = np.asarray(cv2.resize(image, small, interpolation=cv2.INTER_AREA), np.uint8)
    _, jpeg = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, QUALITY))
    return Preview(frame.camera, frame.index, frame.t_capture_ns, (width, height), points_px[:MAX_BLOBS], jpeg.tobytes())


def jpeg_size(jpeg: bytes) -> tuple[int, int]:
    """Give width and height as a JPEG's header says, without decoding it. Raises MalformedMessageError: no such header."""
    at = 2
    while jpeg[:2] == b"\xff\xd8" and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker = jpeg[at + 1]
        if marker in FRAME_HEADERS:
            return int.from_bytes(jpeg[at + 7 : at + 9]), int.from_bytes(jpeg[at + 5 : at + 7])
        at += 2 if marker in BARE_MARKERS else 1 if marker == 0xFF else 2 + max(int.from_bytes(jpeg[at + 2 : at + 4]), 2)
    raise MalformedMessageError(f"expected a JPEG, got {len(jpeg)} bytes that are none; the preview was dropped")


def encode_preview(preview: Preview) -> bytes:
    """Give the bytes of a preview."""
    content = {
        "camera": preview.camera,
        "index": preview.index,
        "t_capture_ns": preview.t_capture_ns,
        "width": preview.size[0],
        "height": preview.size[1],
        "points_px": packed(preview.points_px, "<f4"),
        "jpeg": preview.jpeg,
    }
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_preview(payload: bytes) -> Preview:
    """Give the preview of a message, its picture still encoded; raises MalformedMessageError."""
    content = unpacked_map(payload)
    points_px = floats_of(content, "points_px", 2, "<f4")
    if len(points_px) > MAX_BLOBS:
        raise MalformedMessageError(f"a preview of {len(points_px)} blobs came, at most {MAX_BLOBS}; it was dropped")
    return Preview(
        camera=int_of(content, "camera", 0, 1),
        index=int_of(content, "index"),
        t_capture_ns=int_of(content, "t_capture_ns"),
        size=(int_of(content, "width", 1, MAX_FULL_PX), int_of(content, "height", 1, MAX_FULL_PX)),
        points_px=points_px,
        jpeg=field_of(content, "jpeg", bytes),
    )


class PreviewPublisher:
    """The previews of one camera on a free loopback port; `offer` is called by one thread and never waits for anything.

    address: where to subscribe; n_sent: how many were sent, for tests and logs.
    """

    def __init__(self) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XPUB)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION_BYTES)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.n_sent = 0
        self._topics: set[bytes] = set()
        self._latest: tuple[Frame, Floats] | None = None
        self._offered, self._stop = threading.Event(), threading.Event()
        self._due_ns = 0
        self.wanted = False
        self._thread = threading.Thread(target=self._run, name="preview", daemon=True)
        self._thread.start()

    def offer(self, frame: Frame, blobs: Blobs) -> None:
        """Hand over a frame and its blobs, if somebody looks and it is time for a picture; the image must not change any more."""
        if not self.wanted or 0 < self._due_ns - frame.t_capture_ns <= PERIOD_NS:
            return
        self._due_ns = frame.t_capture_ns + PERIOD_NS
        self._latest = (frame, blobs.points_px)
        self._offered.set()

    def close(self) -> None:
        """End the thread and close the socket."""
        self._stop.set()
        self._offered.set()
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        """Wait for somebody to look, then for frames; an error ends the previews and nothing else."""
        try:
            while not self._stop.is_set():
                self._hear(0 if self._topics else TURN_MS)
                if self._topics and self._offered.wait(TURN_MS * 1e-3):
                    self._offered.clear()
                    self._send()
        except (zmq.ZMQError, cv2.error):
            log.warning("no more previews of this camera", exc_info=True)
        finally:
            self.wanted = False
            self._socket.close(0)

    def _hear(self, timeout_ms: int) -> None:
        """Take note of who begins and ceases to look."""
        wait_ms = timeout_ms
        while self._socket.poll(wait_ms, zmq.POLLIN):
            request, wait_ms = self._socket.recv(zmq.NOBLOCK), 0
            if request[:1] == b"\x01":
                self._topics.add(request[1:])
            else:
                self._topics.discard(request[1:])
        self.wanted = bool(self._topics)

    def _send(self) -> None:
        """Encode and send the newest frame."""
        latest, self._latest = self._latest, None
        if latest is not None:
            try:
                self._socket.send(encode_preview(preview_of(*latest)), zmq.NOBLOCK)
                self.n_sent += 1
            except zmq.Again:
                log.debug("a preview was not sent: whoever looks is slow")


class PreviewSubscriber:
    """Look at the previews at one address of this machine; only the newest is ever kept. Use it from one thread.

    n_malformed: messages that were no previews. Raises MalformedMessageError for any other address.
    """

    def __init__(self, address: str) -> None:
        port = re.fullmatch(LOOPBACK, address)
        if port is None or not 0 < int(port[1]) < 1 << 16:
            raise MalformedMessageError(f"{address[:100]!r} is no address of previews; expected tcp://127.0.0.1:PORT")
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.CONFLATE, 1)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.subscribe(b"")
        self.address, self.n_malformed = address, 0
        self._socket.connect(address)

    def newest(self) -> Preview | None:
        """Give the newest preview if one has come since the last call; never waits."""
        if not self._socket.poll(0):
            return None
        try:
            return decode_preview(self._socket.recv(zmq.NOBLOCK))
        except MalformedMessageError as error:
            self.n_malformed += 1
            log.debug("%s", error)
            return None

    def close(self) -> None:
        """Look no longer; the camera then stops encoding."""
        self._socket.close()
