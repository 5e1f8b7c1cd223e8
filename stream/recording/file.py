"""The bytes of a recording, none of them trusted: MCAP records one by one, chunks decompressed one at a time and within limits.

A file without its end (the run was killed) is read up to its last whole chunk. A chunk with a wrong checksum is left out; where
the chain of records is broken, reading resumes at the next chunk.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Header, Metadata, Schema

from stream.recording.recorder import RecordingError

MAGIC = b"\x89MCAP0\r\n"
RECORD_HEAD = struct.Struct("<BQ")
MESSAGE = struct.Struct("<HIQQ")
ZSTD_MARK = b"\x04\x00\x00\x00zstd"
CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, decompressed size, checksum, length of the compression's name
LENGTH = struct.Struct("<Q")
MARK_OFFSET = RECORD_HEAD.size + CHUNK_HEAD.size - 4
MAX_RECORD_BYTES = 16 << 20
MAX_CHUNK_BYTES = 16 << 20
MAX_RATIO = 200  # of all chunks decompressed to the file; real ones reach 3, a bomb 1000 and more


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A compressed chunk of a file.

    Attributes:
        start: first byte.
        end: byte after the last.
        compression: name of the compression.
        n_bytes: size after decompression.
        crc: checksum of the decompressed bytes, 0 if unknown.
    """

    start: int
    end: int
    compression: str
    n_bytes: int
    crc: int


@dataclass(frozen=True, slots=True)
class MessageSpan:
    """One message of a decompressed chunk: channel, time of publishing [ns], its data is content[start:end]."""

    channel: int
    t_ns: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a file besides messages.

    Attributes:
        notes: notes for the user on missing data.
        ended: the file was finished.
    """

    header: Header
    metadata: dict[str, dict[str, str]]
    chunks: tuple[ChunkSpan, ...]
    notes: tuple[str, ...]
    ended: bool


def is_recording(file: Path) -> bool:
    """Return whether a file begins as a recording does; one that cannot be opened is left to whoever reads it."""
    try:
        with file.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return True


def read_records(data: bytes, name: str) -> Records:
    """Read the records of a file. Raises RecordingError: it is no MCAP file."""
    if not data.startswith(MAGIC):
        raise RecordingError(f"{name}: is no recording (not an MCAP file); give a file that duocap recorded")
    header, metadata, chunks, notes, ended = Header("", ""), {}, [], [], False
    position = len(MAGIC)
    while position < len(data) and not ended:
        end = _find_record_end(data, position)
        if end is None:
            after = _find_next_chunk(data, position + 1)
            if after is None:
                notes.append(f"breaks off after {position} of {len(data)} bytes, in the middle of a record")
                break
            notes.append(f"bytes {position} to {after} are damaged and left out")
            position = after
            continue
        opcode, start = data[position], position + RECORD_HEAD.size
        try:
            if opcode == Opcode.HEADER:
                header = Header.read(_open_record_stream(data, start, end))
            elif opcode == Opcode.METADATA:
                record = Metadata.read(_open_record_stream(data, start, end))
                metadata[record.name] = record.metadata
            elif opcode == Opcode.CHUNK:
                chunks.append(_read_chunk_span(data, start, end))
            ended = opcode == Opcode.FOOTER
        except (McapError, ValueError, struct.error, EOFError) as error:
            notes.append(f"a record at byte {position} is damaged and left out ({error or type(error).__name__})")
        position = end
    if not ended and not notes:
        notes.append("was not finished: the run ended all of a sudden")
    return Records(header, metadata, tuple(chunks), tuple(notes), ended)


def _find_record_end(data: bytes, position: int) -> int | None:
    """Return the end of a record; None if there is no whole, plausible one."""
    if position + RECORD_HEAD.size > len(data):
        return None
    opcode, length = RECORD_HEAD.unpack_from(data, position)
    end: int = position + RECORD_HEAD.size + length
    return end if 0 < opcode <= Opcode.DATA_END and length <= MAX_RECORD_BYTES and end <= len(data) else None


def _find_next_chunk(data: bytes, position: int) -> int | None:
    """Find the next whole chunk as duocap writes them; None if there is none."""
    while (mark := data.find(ZSTD_MARK, position)) >= 0:
        start = mark - MARK_OFFSET
        if start >= position - 1 and data[start] == Opcode.CHUNK and _find_record_end(data, start) is not None:
            return start
        position = mark + 1
    return None


def _read_chunk_span(data: bytes, start: int, end: int) -> ChunkSpan:
    """Read the head of a chunk's record. Raises ValueError, struct.error."""
    _, _, n_bytes, crc, n_name = CHUNK_HEAD.unpack_from(data[start:end])
    named = start + CHUNK_HEAD.size
    content = named + n_name + LENGTH.size
    compression = str(data[named : content - LENGTH.size], "ascii")
    if content > end or LENGTH.unpack_from(data, content - LENGTH.size)[0] != end - content:
        raise ValueError("a chunk that is not as long as it says")
    return ChunkSpan(content, end, compression, n_bytes, crc)


def _open_record_stream(data: bytes, start: int, end: int) -> ReadDataStream:
    """Return the content of a record for the MCAP library."""
    return ReadDataStream(BytesIO(data[start:end]))


def decompress_chunk(data: bytes, chunk: ChunkSpan) -> bytes:
    """Return the records of a chunk. Raises ValueError: damaged, too large, or of an unknown compression."""
    if chunk.n_bytes > MAX_CHUNK_BYTES:
        raise ValueError(f"{chunk.n_bytes} bytes when opened, at most {MAX_CHUNK_BYTES} are read")
    content = _decompress_limited(data[chunk.start : chunk.end], chunk.compression, chunk.n_bytes)
    if len(content) != chunk.n_bytes:
        raise ValueError(f"{len(content)} bytes when opened, {chunk.n_bytes} were written")
    if chunk.crc and zlib.crc32(content) != chunk.crc:
        raise ValueError("its checksum is wrong")
    return content


def _decompress_limited(packed: bytes, compression: str, n_bytes: int) -> bytes:
    """Decompress to at most n_bytes + 1."""
    try:
        if compression == "zstd":
            # The size that the frame claims is not trusted.
            with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
                return _read_all(reader, n_bytes + 1)
        if compression == "lz4":
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=n_bytes + 1))
    except (zstandard.ZstdError, RuntimeError, EOFError) as error:
        raise ValueError(str(error)) from error
    if compression:
        raise ValueError(f"compressed with {compression[:20]!r}, expected zstd, lz4 or nothing")
    return packed


def _read_all(reader: Any, n_bytes: int) -> bytes:
    """Read up to n_bytes."""
    parts, missing = [], n_bytes
    while missing and (part := reader.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def read_messages(content: bytes) -> Iterator[MessageSpan | Channel | Schema]:
    """Return the messages, channels and schemas of a decompressed chunk. Raises ValueError: not made of records."""
    position = 0
    while position < len(content):
        end = _find_record_end(content, position)
        if end is None:
            raise ValueError("its records are damaged")
        opcode, start = content[position], position + RECORD_HEAD.size
        try:
            if opcode == Opcode.MESSAGE:
                channel, _, t_ns, _ = MESSAGE.unpack(content[start : min(start + MESSAGE.size, end)])
                yield MessageSpan(channel, t_ns, start + MESSAGE.size, end)
            elif opcode == Opcode.CHANNEL:
                yield Channel.read(_open_record_stream(content, start, end))
            elif opcode == Opcode.SCHEMA:
                yield Schema.read(_open_record_stream(content, start, end))
        except (McapError, struct.error, EOFError) as error:
            raise ValueError(str(error)) from error
        position = end
