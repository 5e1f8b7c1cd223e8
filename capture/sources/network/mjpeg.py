"""A camera that streams MJPEG over HTTP: IP Webcam and DroidCam on a phone, mjpg-streamer, ESP32-CAM, Axis and their like.

Cameras announce lengths or not, and wrong ones; boundaries with dashes, in quotes or not at all. The end marker of the JPEG is
always right, and known at once, not when the next image begins (docs/decisions/0028).
"""

import logging
import math
import threading
from dataclasses import dataclass

from capture.clock import now_ns
from capture.packets import Frame
from capture.sources.jpeg import decode_jpeg
from capture.sources.network.address import hide_secrets
from capture.sources.network.camera import SILENCE_S, NetworkCamera
from capture.sources.network.connection import MjpegConnection, describe_failure
from config.errors import SourceError

log = logging.getLogger(__name__)

SOI, EOI = b"\xff\xd8\xff", b"\xff\xd9"
SOS, WITHOUT_LENGTH = 0xDA, frozenset({0x01, *range(0xD0, 0xD9), 0xFF})  # markers: start of scan; those without a length
MAX_HEADER_BYTES = 16384
MAX_GAP_BYTES = 1 << 20  # before an image
MAX_JPEG_BYTES = 16 * 1024 * 1024
TAIL_BYTES = 64  # of padding that some cameras send after the end of an image
OPEN_S = 6.0  # until the first image
MAX_REPEATED = 2  # images a sender repeats in place of a new one; more are a frozen image
TIMESTAMP_HEADERS = ("x-timestamp", "x-frame-timestamp")


class NotAStreamError(Exception):
    """The bytes are no stream of JPEGs."""


@dataclass(frozen=True, slots=True)
class JpegPart:
    """One image. headers: before it, names in lower case; t_arrival_ns: of its first byte."""

    jpeg: bytes
    headers: dict[str, str]
    t_arrival_ns: int


class MultipartParser:
    """Splits a stream into images; holds one at most, no larger than MAX_JPEG_BYTES.

    boundary: as announced, or empty; n_cut: number of incomplete images, which are dropped.
    """

    def __init__(self, boundary: str) -> None:
        stripped = boundary.strip().strip('"').lstrip("-").encode("latin-1", "replace")
        self._boundary = b"\n--" + stripped if stripped else b""
        self._buffer = bytearray()
        self._headers: dict[str, str] = {}
        self._t_begun_ns = 0
        self._begun = False  # an image stands at the beginning of the buffer
        self._length: int | None = None  # of that image, as announced
        self._header_at = self._scan_at = self._searched = 0  # header read up to; start of its pixels; end searched up to
        self._lengths_right = True
        self.n_cut = 0

    def feed(self, data: bytes, t_ns: int) -> list[JpegPart]:
        """Take bytes that came at t_ns; return the images they complete. Raises NotAStreamError."""
        self._buffer += data
        parts: list[JpegPart] = []
        while (self._begun or self._begin(t_ns)) and (end := self._end()) != 0:
            if end > 0:
                parts.append(JpegPart(bytes(self._buffer[:end]), self._headers, self._t_begun_ns))
            else:
                self.n_cut += 1
            del self._buffer[: abs(end)]
            self._begun = False
        return parts

    def _begin(self, t_ns: int) -> bool:
        """Find the start of the next image and read the headers before it; return whether it is there."""
        at = self._buffer.find(SOI)
        if at < 0 and len(self._buffer) > MAX_GAP_BYTES:
            raise NotAStreamError(f"{len(self._buffer)} bytes without a JPEG among them")
        if at < 0:
            return False
        self._headers = self._read_headers(bytes(self._buffer[max(0, at - MAX_HEADER_BYTES) : at]))
        del self._buffer[:at]
        announced = self._headers.get("content-length", "")
        self._length = int(announced) if announced.isdecimal() and len(announced) < 9 else None
        if self._length is not None and self._length > MAX_JPEG_BYTES:
            self._length = None
        self._begun, self._t_begun_ns, self._header_at, self._scan_at, self._searched = True, t_ns, len(SOI) - 1, 0, 0
        return True

    def _read_headers(self, before: bytes) -> dict[str, str]:
        """Return the headers before an image; learn the boundary where none was announced."""
        lines = [line.strip() for line in before.split(b"\n")]
        if not self._boundary:
            self._boundary = next((b"\n" + line for line in lines if line.startswith(b"--") and len(line) > 4), b"")
        pairs = [line.decode("latin-1").partition(":") for line in lines if b":" in line]
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _end(self) -> int:
        """Return the end of the image in the buffer, 0 if it has not come yet; negative where an incomplete one ends."""
        if self._length is not None and self._lengths_right:
            if len(self._buffer) < self._length:
                return 0
            self._lengths_right = self._length > len(SOI) and _is_image_end(self._buffer, self._length)
            if self._lengths_right:
                return self._length
        end = self._end_by_content()
        if end == 0 and len(self._buffer) > MAX_JPEG_BYTES:
            raise NotAStreamError(f"a picture of more than {MAX_JPEG_BYTES >> 20} MB")
        return end

    def _end_by_content(self) -> int:
        """Return the end as `_end` does, by the markers of the JPEG and by what cannot be inside it."""
        if self._scan_at == 0:
            self._header_at, self._scan_at = _find_scan(self._buffer, self._header_at)
            self._searched = self._scan_at
        if self._scan_at <= 0:
            return -len(SOI) if self._scan_at < 0 else 0
        end = self._buffer.find(EOI, self._searched)
        breaks = [self._buffer.find(mark, self._searched) for mark in (SOI, self._boundary) if mark]
        broken = min((at for at in breaks if at >= 0), default=-1)
        self._searched = max(self._scan_at, len(self._buffer) - max(len(self._boundary), len(SOI)))
        if broken >= 0 and not 0 <= end < broken:
            return -broken
        return end + len(EOI) if end >= 0 else 0


def _is_image_end(buffer: bytearray, length: int) -> bool:
    """Return whether an image ends at `length`, apart from padding."""
    tail = buffer[max(0, length - TAIL_BYTES) : length]
    at = tail.rfind(EOI)
    return at >= 0 and not tail[at + len(EOI) :].strip(b"\0\r\n")


def _find_scan(buffer: bytearray, at: int) -> tuple[int, int]:
    """Read the header of the JPEG at the start of the buffer, from the marker at `at` on.

    Returns how far it was read, and where the pixels begin: 0 if that has not come yet, -1 if it is no JPEG.
    """
    while at + 4 <= len(buffer):
        if buffer[at] != 0xFF:
            return at, -1
        marker = buffer[at + 1]
        length = 0 if marker in WITHOUT_LENGTH else int.from_bytes(buffer[at + 2 : at + 4], "big")
        at += (1 if marker == 0xFF else 2) + length
        if marker == SOS:
            return at, at
    return at, 0


class MjpegHttp(NetworkCamera[tuple[int, JpegPart]]):
    """A `Source` of MJPEG over HTTP, with the sender's timestamps where it sends them, else the arrival of the first byte.

    facts besides those of every network camera: `server`, and the count `repeated` of images sent again.
    """

    def __init__(self, url: str, camera: int, fps: float | None = None) -> None:
        """Open the stream and wait for its first images. Raises SourceError."""
        super().__init__(hide_secrets(url), camera, "a browser")
        self._n_repeated, self._last_jpeg = 0, b""
        self._connection = MjpegConnection(url)
        self.facts |= {"server": self._connection.server, "repeated": 0}
        threading.Thread(target=self._receive, name="mjpeg", daemon=True).start()
        self._begin(fps, OPEN_S)

    def close(self) -> None:
        """Close the stream, and end the waiting of `read`."""
        super().close()
        self._connection.interrupt()

    def _frame(self, received: tuple[int, JpegPart]) -> Frame | None:
        """Decode an image."""
        index, part = received
        image = decode_jpeg(part.jpeg)
        if image is None:
            return None
        return Frame(self._camera, index, self._timestamp(parse_sent_ns(part.headers), part.t_arrival_ns), image, part.jpeg)

    def _receive(self) -> None:
        """Receive images until the stream ends."""
        parts = MultipartParser(self._connection.boundary)
        try:
            while data := self._connection.read():
                for part in parts.feed(data, now_ns()):
                    self._pass_on(part)
                self._n_cut = parts.n_cut
                self._update_corrupt()
            ending = "the camera ended the stream"
        except NotAStreamError as error:
            ending = f"what came is no stream of pictures: {error}"
        except TimeoutError:
            ending = self._describe_silence(SILENCE_S)
        except OSError as error:
            ending = f"the connection broke ({describe_failure(error)})"
        except Exception as error:
            log.debug("receiving from %s", self.name, exc_info=True)
            ending = f"receiving failed ({type(error).__name__})"
        self._images.fail(SourceError(f"{self.name}: {ending}"))
        self._connection.close()

    def _pass_on(self, part: JpegPart) -> None:
        """Pass an image to the reader, unless it is the last one again."""
        index = self._count_received()
        self._n_repeated = self._n_repeated + 1 if part.jpeg == self._last_jpeg else 0
        self._last_jpeg = part.jpeg
        if 0 < self._n_repeated <= MAX_REPEATED:
            self.facts["repeated"] = int(self.facts["repeated"]) + 1
            return
        self._times_ns.append(part.t_arrival_ns)
        self._images.put((index, part))


def parse_sent_ns(headers: dict[str, str]) -> int | None:
    """Return the sender's timestamp of an image [ns]: of seconds, or of milliseconds if written without a point; or None."""
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
