"""A camera that streams MJPEG over HTTP: IP Webcam and DroidCam on a phone, mjpg-streamer, ESP32-CAM, Axis and their like."""

import logging
import math
import threading
import time
from collections import deque

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.clock import now_ns
from capture.frame_rate import frame_rate
from capture.mjpeg_connection import MjpegConnection
from capture.multipart import Multipart, NotAStreamError, Part
from capture.network_address import without_secrets
from capture.newest import Newest
from capture.packets import Floats, Frame
from capture.sender_clock import SenderClock
from capture.sources import Facts, Source, Stamp
from config.errors import SourceError

log = logging.getLogger(__name__)

OPEN_S = 6.0  # until the first picture
SILENCE_S = 2.5
RATE_PICTURES, RATE_S = 16, 1.0  # as many, or as long, are listened to for the frame rate
MAX_REPEATED = 2  # pictures a sender shows again in place of a new one; more are a picture that is frozen, and shown
TIMESTAMP_HEADERS = ("x-timestamp", "x-frame-timestamp")


class MjpegHttp:
    """A `Source` of a network camera's pictures, stamped by the sender where it says when, else when each began to come.

    facts: `address`, `server`, and counts: `received` pictures, `overtaken` by newer ones before they were read, `corrupt`,
    `repeated` by the sender in place of a new one, `stamp_jumps` of the sender's clock.
    """

    n_frames: int | None = None
    truncated = False

    def __init__(self, url: str, camera: int, fps: float | None = None) -> None:
        """Open the stream and wait for its first pictures. Raises SourceError: one line that says what came instead."""
        self.name, self._camera = without_secrets(url), camera
        self.stamp = Stamp.READ
        counts = dict.fromkeys(("received", "overtaken", "corrupt", "repeated", "stamp_jumps"), 0)
        self.facts: Facts = {"address": self.name, **counts}
        self._pictures: Newest[tuple[int, Part]] = Newest()
        self._clock: SenderClock | None = None
        self._t_last_ns = self._n_received = self._n_repeated = self._n_corrupt = 0
        self._last_jpeg = b""
        self._arrivals_ns: deque[int] = deque(maxlen=RATE_PICTURES)
        self._connection = MjpegConnection(url)
        self.facts["server"] = self._connection.server
        threading.Thread(target=self._receive, name="mjpeg", daemon=True).start()
        try:
            first = self._next(OPEN_S)
            assert first is not None
            self.size = (first.image.shape[1], first.image.shape[0])
            self.fps = fps or self._measured_fps()
        except BaseException:
            self.close()
            raise

    def read(self) -> Frame | None:
        """Give the next picture; None when closed. Raises SourceError: none came for some seconds, or one of another size."""
        frame = self._next(SILENCE_S)
        if frame is not None and (frame.image.shape[1], frame.image.shape[0]) != self.size:
            raise SourceError(
                f"{self.name}: the pictures are {frame.image.shape[1]}x{frame.image.shape[0]} now, were {self.size[0]}x"
                f"{self.size[1]}; was the phone turned, or its settings changed? set it back, or calibrate anew"
            )
        return frame

    def close(self) -> None:
        """End the stream, and the waiting of `read` for it."""
        self._pictures.close()
        self._connection.interrupt()

    def _next(self, timeout_s: float) -> Frame | None:
        """Give the next picture that can be decoded. Raises SourceError."""
        until_s = time.monotonic() + timeout_s
        while True:
            try:
                taken = self._pictures.take(until_s - time.monotonic())
            except TimeoutError:
                raise SourceError(f"{self.name}: {self._what_is_missing(timeout_s)}") from None
            self.facts["overtaken"] = self._pictures.dropped
            if taken is None:
                return None
            index, part = taken
            image = _decoded(part.jpeg)
            if image is not None:
                return Frame(self._camera, index, self._stamped_ns(part), image, part.jpeg)
            self._n_corrupt += 1

    def _what_is_missing(self, waited_s: float) -> str:
        """Say what did not come."""
        if self.facts["received"]:
            return f"no picture for {waited_s:g} s; is the camera still on, and the network good enough?"
        return f"connected, but no picture within {waited_s:g} s; does it show in a browser?"

    def _measured_fps(self) -> float:
        """Listen for the frame rate."""
        until_s = time.monotonic() + RATE_S
        while len(self._arrivals_ns) < RATE_PICTURES and time.monotonic() < until_s and not self._pictures.closed:
            time.sleep(0.02)
        return frame_rate(list(self._arrivals_ns))

    def _receive(self) -> None:
        """Take pictures off the line until it ends."""
        parts = Multipart(self._connection.boundary)
        try:
            while data := self._connection.read():
                for part in parts.feed(data, now_ns()):
                    self._received(part)
                self.facts["corrupt"] = self._n_corrupt + parts.cut
            ending = "the camera ended the stream"
        except NotAStreamError as error:
            ending = f"what came is no stream of pictures: {error}"
        except TimeoutError:
            ending = self._what_is_missing(SILENCE_S)
        except OSError as error:
            ending = f"the connection broke ({(error.strerror or type(error).__name__).lower()})"
        except Exception as error:
            log.exception("receiving from %s", self.name)
            ending = f"receiving failed ({type(error).__name__})"
        self._pictures.fail(SourceError(f"{self.name}: {ending}"))
        self._connection.close()

    def _received(self, part: Part) -> None:
        """Hand on a picture, unless it is the last one again."""
        self._n_received += 1
        self.facts["received"] = self._n_received
        self._n_repeated = self._n_repeated + 1 if part.jpeg == self._last_jpeg else 0
        self._last_jpeg = part.jpeg
        if 0 < self._n_repeated <= MAX_REPEATED:
            self.facts["repeated"] = int(self.facts["repeated"]) + 1
            return
        self._arrivals_ns.append(part.t_arrival_ns)
        self._pictures.put((self._n_received - 1, part))

    def _stamped_ns(self, part: Part) -> int:
        """Give the picture's time on our clock: by the sender's stamp while that is plausible, else its arrival."""
        stamp_ns = _sent_ns(part.headers)
        ours_ns = part.t_arrival_ns
        if stamp_ns is not None:
            self._clock = self._clock or SenderClock()
            mapped_ns = self._clock.ours_ns(stamp_ns, part.t_arrival_ns)
            self.facts["stamp_jumps"] = self._clock.jumps
            self.stamp = Stamp.SENDER if self._clock.trusted else Stamp.READ
            ours_ns = mapped_ns if self._clock.trusted else ours_ns
        self._t_last_ns = max(ours_ns, self._t_last_ns + 1)
        return self._t_last_ns


def open_mjpeg(spec: str, camera: int, fps: float | None, seconds: Floats | None) -> Source:
    """Open as `open_source` asks a registered kind to; there is no use for a list of times. Raises SourceError."""
    return MjpegHttp(spec, camera, fps)


def _decoded(jpeg: bytes) -> NDArray[np.uint8] | None:
    """Decode a picture to BGR; None where that cannot be done."""
    try:
        image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.ascontiguousarray(image, dtype=np.uint8)


def _sent_ns(headers: dict[str, str]) -> int | None:
    """Give the sender's stamp of a picture: seconds, or milliseconds where it is written without a point, or None."""
    for name in TIMESTAMP_HEADERS:
        text = headers.get(name, "")
        try:
            seconds = float(text)
        except ValueError:
            continue
        if math.isfinite(seconds) and 0.0 <= seconds < 1e15:
            whole = "." not in text and seconds > 1e11  # no clock of seconds is there before the year 5138
            return round(seconds * (1e6 if whole else 1e9))
    return None
