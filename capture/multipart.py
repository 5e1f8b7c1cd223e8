"""The JPEGs of a multipart stream, whatever way its sender marks where they begin and end.

Cameras announce lengths or not, and wrong ones; boundaries with dashes, in quotes or not at all. A JPEG says itself where it
ends, so that is believed first: it is also known at once, and not when the next one begins.
"""

from dataclasses import dataclass

SOI, EOI = b"\xff\xd8\xff", b"\xff\xd9"
MAX_HEADER_BYTES = 16384
MAX_GAP_BYTES = 1 << 20  # before a picture
MAX_JPEG_BYTES = 16 * 1024 * 1024
TAIL_BYTES = 64  # of padding that some cameras send after the end of a picture
SOS, WITHOUT_LENGTH = 0xDA, frozenset({0x01, *range(0xD0, 0xD9), 0xFF})  # markers: start of scan; those that stand alone


class NotAStreamError(Exception):
    """What comes is no stream of JPEGs; the message says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """One picture: its JPEG, the headers before it (names in small letters), and when its first byte came."""

    jpeg: bytes
    headers: dict[str, str]
    t_arrival_ns: int


class Multipart:
    """Takes the stream apart, in pieces as they come; holds one picture at most, and that no larger than MAX_JPEG_BYTES.

    boundary: as announced, empty where it was not; cut: how many pictures broke off before their end, and were dropped.
    """

    def __init__(self, boundary: str) -> None:
        stripped = boundary.strip().strip('"').lstrip("-").encode("latin-1", "replace")
        self._boundary = b"\n--" + stripped if stripped else b""
        self._buffer = bytearray()
        self._headers: dict[str, str] = {}
        self._t_begun_ns = 0
        self._begun = False  # a picture stands at the beginning of the buffer
        self._length: int | None = None  # of that picture, as announced
        self._walked = self._scan = self._sought = 0  # how far its head was read; where its pixels begin; end sought up to
        self._lengths_right = True
        self.cut = 0

    def feed(self, data: bytes, t_ns: int) -> list[Part]:
        """Take what came at t_ns and give the pictures it completes. Raises NotAStreamError."""
        self._buffer += data
        parts: list[Part] = []
        while (self._begun or self._begin(t_ns)) and (end := self._end()) != 0:
            if end > 0:
                parts.append(Part(bytes(self._buffer[:end]), self._headers, self._t_begun_ns))
            else:
                self.cut += 1
            del self._buffer[: abs(end)]
            self._begun = False
        return parts

    def _begin(self, t_ns: int) -> bool:
        """Find the beginning of the next picture and read the headers before it; tell whether it is there."""
        at = self._buffer.find(SOI)
        if at < 0 and len(self._buffer) > MAX_GAP_BYTES:
            raise NotAStreamError(f"{len(self._buffer)} bytes without a JPEG among them")
        if at < 0:
            return False
        self._headers = self._headers_in(bytes(self._buffer[max(0, at - MAX_HEADER_BYTES) : at]))
        del self._buffer[:at]
        announced = self._headers.get("content-length", "")
        self._length = int(announced) if announced.isdecimal() and len(announced) < 9 else None
        if self._length is not None and self._length > MAX_JPEG_BYTES:
            self._length = None
        self._begun, self._t_begun_ns, self._walked, self._scan, self._sought = True, t_ns, len(SOI) - 1, 0, 0
        return True

    def _headers_in(self, before: bytes) -> dict[str, str]:
        """Read the headers before a picture; learn the boundary where none was announced."""
        lines = [line.strip() for line in before.split(b"\n")]
        if not self._boundary:
            self._boundary = next((b"\n" + line for line in lines if line.startswith(b"--") and len(line) > 4), b"")
        pairs = [line.decode("latin-1").partition(":") for line in lines if b":" in line]
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _end(self) -> int:
        """Give where the picture in the buffer ends, 0 where that has not come yet; negative where it broke off."""
        if self._length is not None and self._lengths_right:
            if len(self._buffer) < self._length:
                return 0
            self._lengths_right = self._length > len(SOI) and _ends(self._buffer, self._length)
            if self._lengths_right:
                return self._length
        end = self._end_by_itself()
        if end == 0 and len(self._buffer) > MAX_JPEG_BYTES:
            raise NotAStreamError(f"a picture of more than {MAX_JPEG_BYTES >> 20} MB")
        return end

    def _end_by_itself(self) -> int:
        """Give the end as `_end` does, by the JPEG itself and by what cannot be inside it."""
        if self._scan == 0:
            self._walked, self._scan = _pixels_at(self._buffer, self._walked)
            self._sought = self._scan
        if self._scan <= 0:
            return -len(SOI) if self._scan < 0 else 0
        end = self._buffer.find(EOI, self._sought)
        breaks = [self._buffer.find(mark, self._sought) for mark in (SOI, self._boundary) if mark]
        broken = min((at for at in breaks if at >= 0), default=-1)
        self._sought = max(self._scan, len(self._buffer) - max(len(self._boundary), len(SOI)))
        if broken >= 0 and not 0 <= end < broken:
            return -broken
        return end + len(EOI) if end >= 0 else 0


def _ends(buffer: bytearray, length: int) -> bool:
    """Tell whether a picture ends at `length`, but for padding."""
    tail = buffer[max(0, length - TAIL_BYTES) : length]
    at = tail.rfind(EOI)
    return at >= 0 and not tail[at + len(EOI) :].strip(b"\0\r\n")


def _pixels_at(buffer: bytearray, at: int) -> tuple[int, int]:
    """Read on in the head of the JPEG at the beginning of the buffer, from the marker at `at`.

    Gives how far it was read, so that a head that comes in crumbs is read once, and where the pixels begin: 0 if that has not
    come, -1 if it is no JPEG.
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
