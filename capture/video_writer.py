"""Pictures to a video that survives the end of its process at any moment: MJPEG in Matroska, one cluster a picture.

JPEG bytes are stored as they are. The muxer's bytes are held back until they are handed over by `flush`, so that a disk that is
full or gone never reaches the muxer, and what is in the file ends with a whole picture.
"""

import contextlib
import os
from collections import deque
from fractions import Fraction
from io import FileIO, UnsupportedOperation
from pathlib import Path

import av

MS_NS = 1_000_000  # Matroska counts milliseconds; exact stamps go beside the video
OPTIONS = {"flush_packets": "1", "cluster_time_limit": "300"}
MAX_RATE = 1000


class _Held:
    """Bytes with their places, until they are written; looks like a file to the muxer."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []
        self._place = self._end = 0

    def write(self, data: bytes) -> int:
        """Keep some bytes for the present place."""
        self._parts.append((self._place, bytes(data)))
        self._place += len(data)
        self._end = max(self._end, self._place)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to another place, as the muxer does to complete the head of the file."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._end}[whence]
        return self._place

    def tell(self) -> int:
        """Give the present place."""
        return self._place

    def read(self, n: int = -1) -> bytes:
        """Refuse: the muxer only writes."""
        raise UnsupportedOperation("read")

    def taken(self) -> list[tuple[int, bytes]]:
        """Give what is held, and forget it."""
        parts, self._parts = self._parts, []
        return parts


class VideoWriter:
    """One video that is being written; all calls from one thread.

    file: a new one; size: width, height [px]; fps: what the file announces, the stamps of the pictures tell the truth. A picture
    is in the file after the `flush` that follows the next picture. Raises OSError: the file is there already, or the disk is full
    or gone; then `abandon`.
    """

    def __init__(self, file: Path, size: tuple[int, int], fps: float) -> None:
        self.file = file
        self._raw: FileIO = file.open("xb", buffering=0)
        self._held = _Held()
        self._written = 0  # bytes from the beginning that are in the file
        self._ends: deque[int] = deque()  # places where the muxer was between two pictures, the last written one first
        self._muxer = av.open(self._held, "w", format="matroska", options=OPTIONS)
        rate = Fraction(fps).limit_denominator(1001) if 0.0 < fps <= MAX_RATE else Fraction(30)
        self._stream = self._muxer.add_mux_stream("mjpeg", rate=rate, width=size[0], height=size[1])
        self._t_first_ns: int | None = None
        self._last_ms = -1

    def write(self, jpeg: bytes, t_ns: int) -> None:
        """Take one picture as JPEG bytes, taken at t_ns."""
        if self._t_first_ns is None:
            self._t_first_ns = t_ns
        packet = av.Packet(jpeg)
        packet.stream = self._stream
        packet.time_base = Fraction(1, 1000)
        self._last_ms = max(self._last_ms + 1, round((t_ns - self._t_first_ns) / MS_NS))
        packet.pts = packet.dts = self._last_ms
        packet.is_keyframe = True
        self._muxer.mux(packet)
        self._ends.append(self._held.tell())

    def flush(self) -> None:
        """Hand what is complete to the operating system. Raises OSError."""
        for place, data in self._held.taken():
            self._raw.seek(place)
            left = memoryview(data)
            while left:
                n = self._raw.write(left) or 0
                place, left = place + n, left[n:]
                self._written = max(self._written, place)
        while len(self._ends) > 1 and self._ends[1] <= self._written:
            self._ends.popleft()

    def sync(self) -> None:
        """Have the operating system write to the disk itself, against a power cut. Raises OSError."""
        os.fsync(self._raw.fileno())

    def close(self) -> None:
        """Complete the file with its length and an index. Raises OSError; the pictures can be read all the same."""
        try:
            self._muxer.close()
            self.flush()
            self.sync()
        finally:
            self._close_raw()

    def abandon(self) -> None:
        """Close a file that cannot be written to any more, without a half-written picture at its end."""
        whole = max((end for end in self._ends if end <= self._written), default=0)
        with contextlib.suppress(OSError):
            self._raw.truncate(whole)
        self._close_raw()
        with contextlib.suppress(Exception):  # its end goes nowhere
            self._muxer.close()

    def _close_raw(self) -> None:
        """Close the file itself; a disk that is gone may complain once more."""
        with contextlib.suppress(OSError):
            self._raw.close()
