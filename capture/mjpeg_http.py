"""A camera that streams MJPEG over HTTP: IP Webcam and DroidCam on a phone, mjpg-streamer, ESP32-CAM, Axis and their like."""

import logging
import math
import threading

from capture.clock import now_ns
from capture.mjpeg_connection import MjpegConnection
from capture.multipart import Multipart, NotAStreamError, Part
from capture.network_address import without_secrets
from capture.network_camera import SILENCE_S, NetworkCamera
from capture.packets import Floats, Frame
from capture.sender_clock import SenderClock
from capture.sources import Source, Stamp
from capture.webcam_jpeg import pixels
from config.errors import SourceError

log = logging.getLogger(__name__)

OPEN_S = 6.0  # until the first picture
MAX_REPEATED = 2  # pictures a sender shows again in place of a new one; more are a picture that is frozen, and shown
TIMESTAMP_HEADERS = ("x-timestamp", "x-frame-timestamp")


class MjpegHttp(NetworkCamera[tuple[int, Part]]):
    """A `Source` of a network camera's pictures, stamped by the sender where it says when, else when each began to come.

    facts besides those of every network camera: `server`, and the count `repeated` by the sender in place of a new picture.
    """

    def __init__(self, url: str, camera: int, fps: float | None = None) -> None:
        """Open the stream and wait for its first pictures. Raises SourceError: one line that says what came instead."""
        super().__init__(without_secrets(url), camera, Stamp.READ, "a browser")
        self._clock: SenderClock | None = None
        self._n_repeated, self._last_jpeg = 0, b""
        self._connection = MjpegConnection(url)
        self.facts |= {"server": self._connection.server, "repeated": 0}
        threading.Thread(target=self._receive, name="mjpeg", daemon=True).start()
        self._begin(fps, OPEN_S)

    def close(self) -> None:
        """End the stream, and the waiting of `read` for it."""
        super().close()
        self._connection.interrupt()

    def _frame(self, taken: tuple[int, Part]) -> Frame | None:
        """Decode a picture."""
        index, part = taken
        image = pixels(part.jpeg)
        return None if image is None else Frame(self._camera, index, self._stamped_ns(part), image, part.jpeg)

    def _receive(self) -> None:
        """Take pictures off the line until it ends."""
        parts = Multipart(self._connection.boundary)
        try:
            while data := self._connection.read():
                for part in parts.feed(data, now_ns()):
                    self._received(part)
                self._n_cut = parts.cut
                self._tell_corrupt()
            ending = "the camera ended the stream"
        except NotAStreamError as error:
            ending = f"what came is no stream of pictures: {error}"
        except TimeoutError:
            ending = self._what_is_missing(SILENCE_S)
        except OSError as error:
            ending = f"the connection broke ({(error.strerror or type(error).__name__).lower()})"
        except Exception as error:
            log.debug("receiving from %s", self.name, exc_info=True)
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
        self._times_ns.append(part.t_arrival_ns)
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
