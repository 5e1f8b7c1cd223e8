"""Write a recording: an MCAP file (https://mcap.dev/spec) with the stream's payloads, one channel a topic, from its own thread.

Chunks are written whole and every FLUSH_S, so that a run that is killed loses less than a second. If the disk is slower than the
stream, the queue fills, and what does not fit is counted in `n_lost`. If the disk is full or gone, `fault` says so, and the file
ends with its last whole chunk.
"""

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from io import FileIO
from pathlib import Path
from time import monotonic

from mcap.writer import CompressionType, Writer

from capture.recording.sink import SYNC_S
from config.errors import FileFormatError, describe_reason
from reconstruct.process import journal

log = logging.getLogger(__name__)

PROFILE = "duocap"
FORMAT_VERSION = "1"
METADATA, END_METADATA = "duocap", "duocap.end"
FLOOR_KNOWN = "floor_known"  # key of the metadata, always "yes"; "no" in recordings of before whose floor is unknown
ENCODING = "msgpack"
FLUSH_S = 0.3
MAX_QUEUED = 8192
MAX_QUEUED_BYTES = 64 << 20
CHUNK_BYTES = 1 << 20
CLOSE_S = 20.0
SCHEMA_TEXT = (
    "A msgpack map of schema 1: {keys}. Times are ns of the publisher's monotonic clock, lengths metres; see docs/messages.md."
)
SCHEMA_KEYS = {
    "skeleton": "hash, names, parents, offsets_m, rest_xyzw, humanoid, markers, subject, units, handedness, up, quaternion, "
    "mass_kg",
    "rig": "session, cameras, floor_known",
    "pose": "hash, session, seq, t_capture_ns, t_publish_ns, state, root_m, rotations_xyzw (J x 4 float32), markers, latency_ns, "
    "ground_forces, error_m",
    "status": "session, t_ns, state, rates_hz, drops, skew_ns, calibration, cameras",
    "event": "session, t_ns, kind, text",
}
TOPICS = tuple(SCHEMA_KEYS)
JOURNAL_KEYS = {
    journal.BLOBS: "camera, index, t_capture_ns, t_read_ns, t_sent_ns, points_px (N x 2), area_px, color_rgb, sigma_px, light",
    journal.TURN: "turn, t_ns, blobs: how many of the messages before it were taken together",
    journal.ORDER: "kind, text, details, t_start_ns, address",
    journal.STYLE: "number, checksum, seconds, and what was learned: modelled, mean, spread, latent, scale, active, parameters",
}


class RecordingError(FileFormatError):
    """A recording cannot be made, or a file is no recording that can be read."""


class _Pending:
    """A buffer in place of a file for the MCAP writer; its bytes are written at once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def write(self, data: bytes) -> int:
        """Append bytes."""
        self._parts.append(bytes(data))
        self._length += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the position in the file after all bytes so far."""
        return self._length

    def flush(self) -> None:
        """Do nothing: `take` empties the buffer."""

    def take(self) -> bytes:
        """Return the bytes and empty the buffer."""
        data = b"".join(self._parts)
        self._parts.clear()
        return data


class _RecordWriter:
    """Write payloads as the records of a file, in memory."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self._pending, self._channels, self._n_added = _Pending(), dict[str, int](), 0
        self._writer = Writer(self._pending, chunk_size=CHUNK_BYTES, compression=CompressionType.ZSTD)  # type: ignore[arg-type]
        self._writer.start(profile=PROFILE, library="duocap")
        self._writer.add_metadata(METADATA, {"format_version": FORMAT_VERSION, **metadata})
        for topic in TOPICS:
            self._register(topic)

    def _register(self, topic: str) -> None:
        """Register the channel of a topic with its schema."""
        text = SCHEMA_TEXT.format(keys={**SCHEMA_KEYS, **JOURNAL_KEYS}[topic])
        schema = self._writer.register_schema(f"duocap.{topic}", "text", text.encode())
        self._channels[topic] = self._writer.register_channel(topic, ENCODING, schema)

    def add(self, payload: bytes, t_ns: int, sequence: int) -> None:
        """Add one payload to the chunk.

        Args:
            payload: the payload as published.
            t_ns: time of publishing [ns].
            sequence: number of the message.
        """
        topic, _, body = payload.partition(b" ")
        name = topic.decode()
        if name not in self._channels:
            self._register(name)
        self._writer.add_message(self._channels[name], t_ns, body, t_ns, sequence)
        self._n_added += 1

    def take_chunk(self) -> bytes:
        """End the chunk; return the bytes of the file since the last call."""
        self._writer.flush()  # type: ignore[no-untyped-call]
        return self._pending.take()

    def finish(self, n_lost: int) -> bytes:
        """End the file with the numbers of messages in it and of those lost; return its last bytes."""
        self._writer.flush()  # type: ignore[no-untyped-call]
        self._writer.add_metadata(END_METADATA, {"messages": str(self._n_added), "lost": str(n_lost)})
        self._writer.finish()  # type: ignore[no-untyped-call]
        return self._pending.take()


class Recorder:
    """Record payloads to a new file; `write` never waits, and may be called from any thread.

    Args:
        file: file to create.
        metadata: text by name, for the head of the file.
    Attributes:
        n_recorded: number of payloads in the file.
        n_lost: number of payloads that were dropped.
        fault: error that ended the recording early, empty if none did.
    Raises: RecordingError: the file exists or cannot be created.
    """

    def __init__(self, file: Path, metadata: Mapping[str, str]) -> None:
        self.file, self.fault = file, ""
        self.n_recorded = self.n_lost = 0
        self._stream = _create_file(file)
        self._writer = _RecordWriter(metadata)
        self._n_whole = self._n_pending = 0
        self._queue: deque[tuple[bytes, int, int]] = deque()
        self._n_queued_bytes = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def write(self, payload: bytes, t_ns: int, sequence: int = 0) -> None:
        """Queue one payload of the stream or the journal, of time t_ns; it is written within FLUSH_S, or counted as lost.

        Args:
            payload: the payload as published.
            t_ns: time of publishing [ns].
            sequence: number of the message.
        """
        with self._changed:
            full = len(self._queue) >= MAX_QUEUED or self._n_queued_bytes + len(payload) > MAX_QUEUED_BYTES
            if self._closing:
                return
            if self.fault or full:
                self.n_lost += 1
                return
            self._queue.append((payload, t_ns, sequence))
            self._n_queued_bytes += len(payload)

    def finish(self) -> None:
        """Accept no more; the file is complete once `is_done`."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    @property
    def is_done(self) -> bool:
        """Return whether the file is closed."""
        return not self._thread.is_alive()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Write the queue and the file's index, and close the file; gives up on a disk that hangs after timeout_s."""
        self.finish()
        self._thread.join(timeout_s)
        if not self.is_done:
            self.fault = self.fault or f"{self.file}: the disk does not answer; what it has of the recording can be read"

    def _run(self) -> None:
        """Write until told to finish; the body of the thread."""
        synced_s = monotonic()
        try:
            while not self._closing:
                self._write_queued()
                if monotonic() - synced_s > SYNC_S:
                    os.fsync(self._stream.fileno())
                    synced_s = monotonic()
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, FLUSH_S)
            self._write_queued()
            self._put(self._writer.finish(self.n_lost))
            os.fsync(self._stream.fileno())
        except Exception as error:  # most likely the disk; in any case the run goes on and the fault is reported
            log.debug("recording failed", exc_info=True)
            self._fail(error)
        finally:
            with contextlib.suppress(OSError):
                self._stream.close()

    def _write_queued(self) -> None:
        """Write the queue as one chunk."""
        with self._changed:
            waiting, self._queue = self._queue, deque()
            self._n_queued_bytes, self._n_pending = 0, len(waiting)
        for payload, t_ns, sequence in waiting:
            self._writer.add(payload, t_ns, sequence)
        self._put(self._writer.take_chunk())
        self.n_recorded, self._n_pending = self.n_recorded + self._n_pending, 0

    def _put(self, data: bytes) -> None:
        """Write the bytes of whole chunks to the file."""
        view, written = memoryview(data), 0
        while written < len(data):
            written += self._stream.write(view[written:]) or 0
        self._n_whole += written

    def _fail(self, error: Exception) -> None:
        """End early: remove a half-written chunk, count what is not in the file."""
        with self._changed:
            self.fault = f"{self.file}: recording stopped ({describe_reason(error)}); what was recorded before is intact"
            self.n_lost += len(self._queue) + self._n_pending
            self._queue.clear()
        with contextlib.suppress(OSError):
            self._stream.truncate(self._n_whole)


def build_recording(metadata: Mapping[str, str], messages: Iterable[tuple[bytes, int, int]]) -> bytes:
    """Return a whole recording of payloads of the stream, with their times [ns] and sequence numbers."""
    writer = _RecordWriter(metadata)
    for payload, t_ns, sequence in messages:
        writer.add(payload, t_ns, sequence)
    return writer.finish(n_lost=0)


def _create_file(file: Path) -> FileIO:
    """Create a file that does not exist yet, unbuffered."""
    try:
        return file.open("xb", buffering=0)
    except FileExistsError:
        raise RecordingError(f"{file}: exists already, and a recording never replaces anything; choose another name") from None
    except OSError as error:
        raise RecordingError(
            f"{file}: cannot be written ({describe_reason(error)}); choose a place in an existing folder"
        ) from error
