"""Write a video that survives the end of its process at any time: MJPEG in Matroska, one cluster an image.

JPEG bytes are stored as they are. The muxer's bytes are kept until `flush` writes them, so that a disk that is full or lost never
reaches the muxer, and the file ends with a complete image.
"""

import contextlib
import os
from collections import deque
from fractions import Fraction
from io import FileIO, UnsupportedOperation
from pathlib import Path

import av

MS_NS = 1_000_000  # Matroska counts milliseconds; exact times are in the CSV
OPTIONS = {"flush_packets": "1", "cluster_time_limit": "300"}
MAX_RATE = 1000


class _MuxerOutput:
    """A file for the muxer that keeps what is written, with its positions."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []
        self._position = self._end = 0

    def write(self, data: bytes) -> int:
        """Keep bytes for the present position."""
        self._parts.append((self._position, bytes(data)))
        self._position += len(data)
        self._end = max(self._end, self._position)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Change the position, as the muxer does to complete the header."""
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._end}[whence]
        return self._position

    def tell(self) -> int:
        """Return the present position."""
        return self._position

    def read(self, n: int = -1) -> bytes:
        """Raise UnsupportedOperation: the muxer only writes."""
        raise UnsupportedOperation("read")

    def take(self) -> list[tuple[int, bytes]]:
        """Return the kept bytes with their positions, and forget them."""
        parts, self._parts = self._parts, []
        return parts


class VideoWriter:
    """Writes one video; for one thread.

    file: a new one; size: width, height [px]; fps: as announced in the file (exact times are in its CSV). An image is in the file
    after the `flush` that follows the next image. Raises OSError: the file exists, or the disk is full or lost; then `abandon`.
    """

    def __init__(self, file: Path, size: tuple[int, int], fps: float) -> None:
        self.file = file
        self._raw: FileIO = file.open("xb", buffering=0)
        self._output = _MuxerOutput()
        self._written = 0  # bytes from the beginning that are in the file
        self._ends: deque[int] = deque()  # positions of the muxer between two images, the last written one first
        self._muxer = av.open(self._output, "w", format="matroska", options=OPTIONS)
        rate = Fraction(fps).limit_denominator(1001) if 0.0 < fps <= MAX_RATE else Fraction(30)
        self._stream = self._muxer.add_mux_stream("mjpeg", rate=rate, width=size[0], height=size[1])
        self._t_first_ns: int | None = None
        self._last_ms = -1

    def write(self, jpeg: bytes, t_ns: int) -> None:
        """Add one JPEG, captured at t_ns."""
        if self._t_first_ns is None:
            self._t_first_ns = t_ns
        packet = av.Packet(jpeg)
        packet.stream = self._stream
        packet.time_base = Fraction(1, 1000)
        self._last_ms = max(self._last_ms + 1, round((t_ns - self._t_first_ns) / MS_NS))
        packet.pts = packet.dts = self._last_ms
        packet.is_keyframe = True
        self._muxer.mux(packet)
        self._ends.append(self._output.tell())

    def flush(self) -> None:
        """Write what is complete to the file. Raises OSError."""
        for position, data in self._output.take():
            self._raw.seek(position)
            left = memoryview(data)
            while left:
                n = self._raw.write(left) or 0
                position, left = position + n, left[n:]
                self._written = max(self._written, position)
        while len(self._ends) > 1 and self._ends[1] <= self._written:
            self._ends.popleft()

    def sync(self) -> None:
        """Write to the disk itself, against a power cut. Raises OSError."""
        os.fsync(self._raw.fileno())

    def close(self) -> None:
        """Complete the file with its length and an index. Raises OSError; the images can be read all the same."""
        try:
            self._muxer.close()
            self.flush()
            self.sync()
        finally:
            self._close_raw()

    def abandon(self) -> None:
        """Close a file that can no longer be written, without an incomplete image at its end."""
        whole = max((end for end in self._ends if end <= self._written), default=0)
        with contextlib.suppress(OSError):
            self._raw.truncate(whole)
        self._close_raw()
        with contextlib.suppress(Exception):  # its end goes nowhere
            self._muxer.close()

    def _close_raw(self) -> None:
        """Close the file itself; a lost disk may raise once more."""
        with contextlib.suppress(OSError):
            self._raw.close()
