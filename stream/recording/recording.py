"""Open a recording: what was published, message by message.

Chunks are decompressed when their poses are asked for, so that hours open at once and take little memory. What is missing of a
truncated or damaged file is described in `notes`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, overload

import msgpack
import numpy as np
from mcap.records import Channel, Schema
from numpy.typing import NDArray

from capture.packets import Landmarks
from capture.sockets.wire import INT64_MAX, MalformedMessageError, decode_blobs
from config.errors import describe_reason
from database.geometry.rigid import RigidMotion
from reconstruct.pose import TrackingState
from reconstruct.process import journal
from reconstruct.process.journal import JournalEntry
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.messages import EventMessage, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.recording.file import MAX_CHUNK_BYTES, MAX_RATIO, Records, decompress_chunk, read_messages, read_records
from stream.recording.recorder import END_METADATA, FLOOR_KNOWN, FORMAT_VERSION, METADATA, PROFILE, TOPICS, RecordingError
from stream.recording.worlds import compute_take_levelling, find_world_motion, move_pose, move_rig_message

MAX_FILE_BYTES = 8 << 30
MAX_MESSAGES = 20_000_000
CACHED_CHUNKS = 64
LATEST_NS = 1_000_000_000  # after its capture a picture's blobs have been received
N_TOPICS = len(TOPICS)
ALL_TOPICS = TOPICS + journal.TOPICS
RIG = TOPICS.index("rig")
MotionOf = Callable[[int], RigidMotion | None]


class _MessageIndex:
    """The position of every message in a file: rows of topic, time [ns], chunk, start, end."""

    def __init__(self, data: bytes, records: Records, file: Path) -> None:
        self.notes: list[str] = list(records.notes)
        self._topics: dict[int, int] = {}
        self._chunk = lru_cache(maxsize=CACHED_CHUNKS)(lambda number: decompress_chunk(data, records.chunks[number]))
        rows: list[tuple[int, int, int, int, int]] = []
        n_bytes = 0
        for number, chunk in enumerate(records.chunks):
            n_bytes += min(chunk.n_bytes, MAX_CHUNK_BYTES)  # a larger one is not decompressed
            if n_bytes > max(MAX_RATIO * len(data), 4 * MAX_CHUNK_BYTES) or len(rows) > MAX_MESSAGES:
                raise RecordingError(f"{file}: its chunks grow beyond all measure when opened; this is no recording of duocap")
            try:
                rows += self._rows(number, decompress_chunk(data, chunk), file)
            except ValueError as error:
                self.notes.append(f"chunk {number + 1} of {len(records.chunks)} is damaged and left out ({error})")
        self.table = np.array(rows, np.int64).reshape(-1, 5)

    def _rows(self, number: int, content: bytes, file: Path) -> list[tuple[int, int, int, int, int]]:
        """Return the messages of one chunk."""
        rows = []
        for item in read_messages(content):
            if isinstance(item, Channel):
                known = item.topic in ALL_TOPICS
                self._topics[item.id] = ALL_TOPICS.index(item.topic) if known else len(ALL_TOPICS)
            elif isinstance(item, Schema):
                _check_schema(item, file)
            else:
                rows.append((self._topics.get(item.channel, len(ALL_TOPICS)), item.t_ns, number, item.start, item.end))
        return rows

    def payload(self, row: int) -> bytes:
        """Return a message as it was published."""
        return TOPICS[int(self.table[row, 0])].encode() + b" " + self.content(row)

    def content(self, row: int) -> bytes:
        """Return the map of a message."""
        _, _, chunk, start, end = self.table[row].tolist()
        return self._chunk(chunk)[start:end]

    def journal(self) -> Iterator[JournalEntry]:
        """Return the entries of the journal, in their order."""
        for row in np.flatnonzero((self.table[:, 0] >= N_TOPICS) & (self.table[:, 0] < len(ALL_TOPICS))):
            topic, t_ns = self.table[row, :2].tolist()
            yield JournalEntry(ALL_TOPICS[topic], t_ns, self.content(int(row)))

    def rows_of(self, topic: str) -> NDArray[np.int64]:
        """Return the rows of a topic, in order of time."""
        rows = np.flatnonzero(self.table[:, 0] == ALL_TOPICS.index(topic))
        return np.asarray(rows[np.argsort(self.table[rows, 1], kind="stable")], np.int64)


class RecordedPoses(Sequence[PoseMessage]):
    """The poses of a recording by time, decoded when asked for. Raises MalformedMessageError for a damaged one.

    motion_of: returns how a row of the file is moved into the world of the recording, None where it is not.
    """

    def __init__(self, index: _MessageIndex, motion_of: MotionOf | None = None) -> None:
        self._index, self._rows, self._motion_of = index, index.rows_of("pose"), motion_of

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, item: int) -> PoseMessage: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[PoseMessage, ...]: ...
    def __getitem__(self, item: int | slice) -> PoseMessage | tuple[PoseMessage, ...]:
        if isinstance(item, slice):
            return tuple(self[i] for i in range(*item.indices(len(self))))
        row = int(self._rows[item])
        message = decode_message(self._index.payload(row))
        assert isinstance(message, PoseMessage)
        motion = None if self._motion_of is None else self._motion_of(row)
        return message if motion is None else move_pose(message, motion)

    def payload(self, n: int) -> bytes:
        """Return the message of a pose."""
        row = int(self._rows[n])
        moved = self._motion_of is not None and self._motion_of(row) is not None
        return encode_message(self[n]) if moved else self._index.payload(row)


class PoseOutline(NamedTuple):
    """What an encoded pose says of itself: number, state and time of capture."""

    seq: int
    state: TrackingState
    t_capture_ns: int


def read_pose_outline(payload: bytes) -> PoseOutline | None:
    """Return the outline of an encoded pose, ten times faster than decoding it; None if malformed."""
    try:
        content: Any = msgpack.unpackb(payload.partition(b" ")[2])
        seq, state, t_ns = content["seq"], TrackingState(content["state"]), content["t_capture_ns"]
    except (ValueError, TypeError, KeyError, msgpack.UnpackException):
        return None
    return PoseOutline(seq, state, t_ns) if type(seq) is int and type(t_ns) is int and 0 <= t_ns <= INT64_MAX else None


@dataclass(frozen=True, slots=True)
class JournalledRun:
    """The journal of a file.

    Attributes:
        metadata: text by name.
        notes: notes for the user on missing data.
    """

    file: Path
    metadata: Mapping[str, str]
    notes: tuple[str, ...]
    index: _MessageIndex

    @property
    def holds_poses(self) -> bool:
        """Whether a pose was published: a run may end, or be started again, before the first."""
        return len(self.index.rows_of("pose")) > 0

    def journal(self) -> Iterator[JournalEntry]:
        """Return the entries of the journal."""
        return self.index.journal()


class Recording:
    """The content of one file; `open_recording` creates it.

    Attributes:
        data: the bytes of the file.
        metadata: subject, session, units, time and more, as text.
        poses: poses in the world of the recording, as `stream.recording.worlds` has it.
        published: the same poses as they were published.
        rig: the rig in the world of the recording.
        t_publish_ns: time at which each pose was published, (N,) [ns].
        notes: notes for the user on missing data.
        n_lost: number of messages that were published but not recorded, None if unknown.
    """

    def __init__(self, file: Path, data: bytes, records: Records, index: _MessageIndex) -> None:
        self.file, self.data = file, data
        self.metadata = dict(records.metadata.get(METADATA, {}))
        self._index = index
        self.skeleton = self._skeleton()
        self.published: Sequence[PoseMessage] = RecordedPoses(index)
        self.t_publish_ns = index.table[index.rows_of("pose"), 1]
        self.rig, motions = self._world()
        self._rig_rows, self._motions = np.flatnonzero(index.table[:, 0] == RIG), motions
        moved = any(motion is not None for motion in motions)
        self.poses: RecordedPoses = RecordedPoses(index, self._motion if moved else None)
        self.events = tuple(message for message in self._all("event") if isinstance(message, EventMessage))
        self.statuses = tuple(message for message in self._all("status") if isinstance(message, StatusMessage))
        lost = records.metadata.get(END_METADATA, {}).get("lost", "")
        self.n_lost = int(lost) if lost.isascii() and lost.isdigit() and len(lost) < 19 else None
        if self.n_lost:
            index.notes.append(f"{self.n_lost} messages were not recorded: the disk was too slow or full")
        self.notes = tuple(index.notes)

    def find_landmarks(self, camera: int, t_capture_ns: int) -> Landmarks | None:
        """Return the landmarks that a run found in the picture of a camera, by its number, of a time of capture; None: none."""
        rows, t_received_ns = self._blob_rows
        first, last = np.searchsorted(t_received_ns, [t_capture_ns, t_capture_ns + LATEST_NS])
        for row in rows[first:last].tolist():
            with contextlib.suppress(MalformedMessageError):
                blobs = decode_blobs(self._index.content(row)).blobs
                if blobs.camera == camera and blobs.t_capture_ns == t_capture_ns:
                    return blobs.landmarks
        return None

    @cached_property
    def _blob_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of blobs in the journal, and when each was received [ns]."""
        rows = self._index.rows_of(journal.BLOBS)
        return rows, self._index.table[rows, 1]

    def _world(self) -> tuple[RigMessage | None, list[RigidMotion | None]]:
        """Return the last rig, and the motions into its world of poses after none, one, two of the rigs in the file."""
        rigs = [message for message in self._all("rig") if isinstance(message, RigMessage)]
        if not (self.metadata.get(FLOOR_KNOWN) == "no" if not rigs else not all(rig.floor_known for rig in rigs)):
            last = rigs[-1] if rigs else None
            motions = [None if last is None else find_world_motion(rig, last) for rig in rigs]
            return last, [motions[0] if motions else None, *motions]
        with contextlib.suppress(MalformedMessageError):
            level = compute_take_levelling(self.skeleton, self.published, rigs[0].up_xyz if rigs else None)
            if level is not None:
                return move_rig_message(rigs[0], level) if rigs else None, [level] * (1 + len(rigs))
        self._index.notes.append("its floor is unknown, and nobody is tracked by whom it could be levelled")
        return rigs[0] if rigs else None, [None] * (1 + len(rigs))

    def _motion(self, row: int) -> RigidMotion | None:
        """Return how a row of the file is moved into the world of the recording."""
        return self._motions[min(int(np.searchsorted(self._rig_rows, row)), len(self._motions) - 1)]

    def _skeleton(self) -> SkeletonMessage:
        """Return the skeleton of the poses."""
        for message in self._all("skeleton"):
            if isinstance(message, SkeletonMessage):
                return message
        raise RecordingError(f"{self.file}: is empty: it breaks off before the first skeleton; record anew")

    def _all(self, topic: str) -> Iterator[object]:
        """Return the well-formed messages of a topic."""
        for row in self._index.rows_of(topic).tolist():
            try:
                yield decode_message(self._index.payload(row))
            except MalformedMessageError as error:
                self._index.notes.append(f"a {topic} message is damaged and left out ({error})")

    @property
    def duration_s(self) -> float:
        """Time from the first pose to the last [s]."""
        return float(self.t_publish_ns[-1] - self.t_publish_ns[0]) * 1e-9

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """Return all payloads with their times [ns], in the order of publishing, in the world of the recording."""
        moved = any(motion is not None for motion in self._motions)
        for row in np.flatnonzero(self._index.table[:, 0] < N_TOPICS).tolist():
            t_ns, payload = int(self._index.table[row, 1]), self._index.payload(row)
            yield t_ns, self._in_world(row, payload) if moved else payload

    def _in_world(self, row: int, payload: bytes) -> bytes:
        """Return a payload in the world of the recording; a damaged one as it is."""
        with contextlib.suppress(MalformedMessageError):
            message, motion = decode_message(payload), self._motion(row)
            if isinstance(message, RigMessage) and self.rig is not None:
                return encode_message(self.rig)
            if isinstance(message, PoseMessage) and motion is not None:
                return encode_message(move_pose(message, motion))
        return payload


def open_recording(file: Path) -> Recording:
    """Open a recording; a truncated or damaged one as far as it can be read.

    Raises RecordingError: no such file, not a recording of duocap, of a newer version, or without poses.
    """
    return open_recording_bytes(_read_bytes(file), file)


def open_journal(file: Path) -> JournalledRun:
    """Open the journal of a recording, with or without poses. Raises RecordingError, as `open_recording` does."""
    records, index = _read_records_and_messages(_read_bytes(file), file)
    return JournalledRun(file, dict(records.metadata.get(METADATA, {})), tuple(index.notes), index)


def _read_bytes(file: Path) -> bytes:
    """Read a file. Raises RecordingError."""
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise RecordingError(
                f"{file}: larger than {MAX_FILE_BYTES >> 30} GB, the most that is opened at once; cut it with mcap filter"
            )
        return file.read_bytes()
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read ({describe_reason(error)}); give a file that duocap recorded") from error


def open_recording_bytes(data: bytes, file: Path) -> Recording:
    """Open the bytes of a recording; file: its name in messages. Raises RecordingError, as `open_recording` does."""
    records, index = _read_records_and_messages(data, file)
    recording = Recording(file, data, records, index)
    if not recording.poses:
        raise RecordingError(f"{file}: holds no pose; it ended before the first one, record anew")
    try:
        first = recording.poses[0]
    except MalformedMessageError as error:
        raise RecordingError(f"{file}: its poses cannot be read: {error}") from error
    if first.hash != recording.skeleton.hash or len(first.rotations_xyzw) != len(recording.skeleton.names):
        raise RecordingError(f"{file}: its poses belong to another skeleton than the one in it; record anew")
    return recording


def _read_records_and_messages(data: bytes, file: Path) -> tuple[Records, _MessageIndex]:
    """Return records and messages of a recording's bytes. Raises RecordingError."""
    if not data:
        raise RecordingError(f"{file}: is empty: the run ended before anything was recorded; record anew")
    records = read_records(data, str(file))
    if records.header.profile != PROFILE and METADATA not in records.metadata:
        profile = f"profile {records.header.profile[:40]!r}"
        raise RecordingError(f"{file}: is an MCAP file, but no recording of duocap ({profile}); give a file that duocap recorded")
    version = records.metadata.get(METADATA, {}).get("format_version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise RecordingError(f"{file}: format {version[:20]} of a newer duocap, this one reads {FORMAT_VERSION}; update duocap")
    return records, _MessageIndex(data, records, file)


def _check_schema(schema: Schema, file: Path) -> None:
    """Raise RecordingError for a schema of another program."""
    if not schema.name.startswith("duocap."):
        raise RecordingError(
            f"{file}: holds messages of schema {schema.name[:40]!r}, expected duocap's; is it from another program?"
        )
