"""Whole pictures from the pieces that come over RTP, as soon as the last piece is there.

H.264 and H.265 come as NAL units. Which one is a picture's last is only certain when the next picture begins, a whole frame time
later; but an encoder cuts its pictures into the same number of slices again and again, so that the last is known by counting.
"""

from dataclasses import dataclass

START = b"\0\0\1"
CONSTANT = 3  # pictures in a row with the same number of slices are believed
MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AccessUnit:
    """A coded picture. pts: its time stamp in the stream's unit, None where it has none; t_arrival_ns: of its first piece."""

    data: bytes
    pts: int | None
    t_arrival_ns: int


class AccessUnits:
    """Joins pieces with one time stamp. codec: its name by FFmpeg; a piece of any but H.264 and H.265 is a whole picture."""

    def __init__(self, codec: str) -> None:
        self._is_slice = {"h264": _is_h264_slice, "hevc": _is_h265_slice}.get(codec)
        self._pieces: list[bytes] = []
        self._pts: int | None = None
        self._t_begun_ns = self._n_bytes = 0
        self._n_slices = 0  # of this picture, also of what was given already
        self._usual = self._n_alike = 0

    def feed(self, data: bytes, pts: int | None, t_ns: int) -> list[AccessUnit]:
        """Take a piece that came at t_ns; give the pictures that are whole now: the one before, this one, both or none."""
        if self._is_slice is None:
            return [AccessUnit(data, pts, t_ns)]
        units = self._ended() if pts != self._pts else []
        if not self._pieces:
            self._pts, self._t_begun_ns = pts, t_ns
        self._pieces.append(data)
        self._n_bytes += len(data)
        self._n_slices += sum(map(self._is_slice, _unit_heads(data)))
        by_count = self._n_alike >= CONSTANT and self._n_slices == self._usual
        if by_count or pts is None or self._n_bytes > MAX_BYTES:
            units += self._given()
        return units

    def _ended(self) -> list[AccessUnit]:
        """Learn from the picture that has ended, and give what of it was not given."""
        if self._n_slices:
            self._n_alike = self._n_alike + 1 if self._n_slices == self._usual else 1
            self._usual = self._n_slices
        self._n_slices = 0
        return self._given()

    def _given(self) -> list[AccessUnit]:
        """Give the pieces there are as one."""
        units = [AccessUnit(b"".join(self._pieces), self._pts, self._t_begun_ns)] if self._pieces else []
        self._pieces, self._n_bytes = [], 0
        return units


def _unit_heads(data: bytes) -> list[int]:
    """Give the first byte of every NAL unit, after its start code."""
    heads, at = [], data.find(START)
    while 0 <= at < len(data) - len(START):
        heads.append(data[at + len(START)])
        at = data.find(START, at + len(START))
    return heads


def _is_h264_slice(head: int) -> bool:
    """Tell whether a NAL unit of H.264 holds pixels (ITU-T H.264, table 7-1)."""
    return 1 <= head & 0x1F <= 5


def _is_h265_slice(head: int) -> bool:
    """Tell whether a NAL unit of H.265 holds pixels (ITU-T H.265, table 7-1)."""
    return head >> 1 & 0x3F < 32
