"""A file of named arrays: memory-mapped, checksummed, written atomically.

    0   16 bytes  magic and kind
    16   u32      version of that kind
    20   u32      CRC-32 of the header
    24   u64      where the header begins
    32   u64      length of the header
    40   u32      CRC-32 of bytes 0..39
    64            arrays, little-endian, C order, each on a multiple of 64 bytes, then the header: JSON with `fields` and `arrays`

The header comes last, so that arrays can be written before their length is known. The checksums of arrays are CRC-32 and are
compared by `Container.damaged` only: opening a file reads its header, not its data.
"""

import contextlib
import json
import math
import mmap
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError, DuocapError, describe_reason
from config.files import open_atomically

ALIGNMENT = 64
_PREAMBLE = struct.Struct("<16sIIQQ")
_SEAL = struct.Struct("<I")
_NUMBER_DTYPE = r"[<>|]?[biuf]\d{1,2}"  # dtypes that an array may have
_MAX_DIMENSIONS = 8
Array = NDArray[Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: magic (16 bytes) and version; for messages what it is, how to make one, and how to make it again.

    error: raised for a file that cannot be read or written.
    """

    magic: bytes
    version: int
    what: str
    make: str
    again: str
    error: type[DuocapError] = DatabaseError


DATABASE = FileKind(b"duocap motion db", 1, "a motion database", "build one with `duocap database build`", "build it again")


@dataclass(frozen=True, slots=True)
class Container:
    """An open file: `fields` of plain values, and read-only arrays mapped from the file."""

    fields: dict[str, Any]
    arrays: dict[str, Array]
    checksums: dict[str, int]

    def damaged(self) -> list[str]:
        """Read all arrays and return the names of those that differ from their checksum."""
        return [name for name, array in self.arrays.items() if _compute_crc(array) != self.checksums[name]]


class ContainerWriter:
    """Writes arrays one after the other to the file that `write_container` opens.

    fields: plain values for the header, to be set before the file is closed.
    """

    def __init__(self, file: BinaryIO, kind: FileKind) -> None:
        self._file, self._kind = file, kind
        self._arrays: list[dict[str, Any]] = []
        self.fields: dict[str, Any] = {}
        file.write(bytes(ALIGNMENT))

    def add(self, name: str, array: Array) -> None:
        """Write one array."""
        self.stream(name, array.dtype, array.shape[1:], [array])

    def stream(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Write an array that comes in blocks.

        Args:
            name: of the array.
            dtype: of its numbers.
            shape: of one row.
            blocks: (n, *shape) each.
        """
        little = np.dtype(dtype).newbyteorder("<")
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        start, length, checksum = self._file.tell(), 0, 0
        for block in blocks:
            assert block.shape[1:] == shape
            data = np.ascontiguousarray(block, little)
            self._file.write(data.data)
            checksum = zlib.crc32(data.data, checksum) if data.size else checksum
            length += len(data)
        entry = {"name": name, "dtype": little.str, "shape": [length, *shape], "start": start, "crc32": checksum}
        self._arrays.append(entry)

    def read_back(self, name: str) -> Array:
        """Return an array already written, mapped read-only; on Windows nothing may hold it when the file is closed."""
        entry = next(entry for entry in self._arrays if entry["name"] == name)
        shape, dtype, end = tuple(entry["shape"]), np.dtype(entry["dtype"]), self._file.tell()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), end, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype, math.prod(shape), entry["start"]).reshape(shape)

    def finish(self) -> None:
        """Write header and preamble."""
        header = json.dumps({"fields": self.fields, "arrays": self._arrays}, ensure_ascii=False, allow_nan=False).encode()
        start = self._file.tell()
        preamble = _PREAMBLE.pack(self._kind.magic, self._kind.version, zlib.crc32(header), start, len(header))
        self._file.write(header)
        self._file.seek(0)
        self._file.write(preamble + _SEAL.pack(zlib.crc32(preamble)))


@contextlib.contextmanager
def write_container(path: Path, kind: FileKind = DATABASE) -> Iterator[ContainerWriter]:
    """Return a writer of a file that is there when the block ends without an exception; else the old file is unchanged.

    Raises kind.error: the folder cannot be made or written to, or the disk is full.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise kind.error(f"{path}: cannot be written ({describe_reason(error)}); choose a folder you may write to") from error
    with open_atomically(path, kind.error) as file:
        writer = ContainerWriter(file, kind)
        yield writer
        writer.finish()


def open_container(path: Path, kind: FileKind = DATABASE) -> Container:
    """Open a file, mapped into memory.

    Raises kind.error if it is missing, empty, foreign, truncated, damaged or of another version.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            preamble = file.read(ALIGNMENT)
            header = _read_header(path, preamble, size, file, kind)
            # The mapping outlives the file handle and is closed with the last of its arrays.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise kind.error(f"{path}: cannot be opened ({describe_reason(error)}); {kind.make}") from error
    arrays: dict[str, Array] = {}
    for entry in header["arrays"]:
        shape, dtype = tuple(entry["shape"]), np.dtype(entry["dtype"])
        count = math.prod(shape)
        if entry["start"] + count * dtype.itemsize > size:
            raise kind.error(f"{path}: {entry['name']} reaches beyond the end of the file; {kind.again}")
        arrays[entry["name"]] = np.frombuffer(mapped, dtype, count, entry["start"]).reshape(shape)
    return Container(header["fields"], arrays, {entry["name"]: entry["crc32"] for entry in header["arrays"]})


def open_whole_container(path: Path, kind: FileKind) -> Container:
    """Open a file as `open_container` does and compare its checksums. Raises kind.error, also if an array is damaged."""
    container = open_container(path, kind)
    damaged = container.damaged()
    if damaged:
        raise kind.error(f"{path}: damaged: {', '.join(damaged)} differ from their checksums; copy it again or {kind.again}")
    return container


def build_checked(path: Path, kind: FileKind, build: Callable[[], T], describe_fault: Callable[[T], str]) -> T:
    """Return what a file holds. Raises kind.error: its contents do not fit together, or have a fault.

    Args:
        path: the file, for messages.
        kind: its kind.
        build: returns it; raises KeyError, TypeError or the like where the contents are of another form.
        describe_fault: says what is wrong with it, empty if nothing is.
    """
    try:
        built = build()
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise kind.error(f"{path}: its contents do not fit together; copy it again or {kind.again}") from error
    fault = describe_fault(built)
    if fault:
        raise kind.error(f"{path}: cannot be right: {fault}; copy it again or {kind.again}")
    return built


def _read_header(path: Path, preamble: bytes, size: int, file: BinaryIO, kind: FileKind) -> dict[str, Any]:
    """Check the preamble and read the header."""
    if size == 0:
        raise kind.error(f"{path}: the file is empty; expected {kind.what}, {kind.make}")
    if preamble[: len(kind.magic)] != kind.magic:
        raise kind.error(f"{path}: not {kind.what}; {kind.make}")
    if len(preamble) < ALIGNMENT:
        raise kind.error(f"{path}: cut short after {size} bytes; copy it again or {kind.again}")
    _, version, checksum, start, length = _PREAMBLE.unpack_from(preamble)
    if version != kind.version:
        raise kind.error(f"{path}: written in version {version}, expected {kind.version}; {kind.again}")
    if _SEAL.unpack_from(preamble, _PREAMBLE.size)[0] != zlib.crc32(preamble[: _PREAMBLE.size]):
        raise kind.error(f"{path}: damaged in its first bytes; copy it again or {kind.again}")
    if start + length > size:
        raise kind.error(f"{path}: cut short: {start + length} bytes expected, {size} found; copy it again or {kind.again}")
    file.seek(start)
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise kind.error(f"{path}: its table of contents is damaged; copy it again or {kind.again}")
    header = _parse_header(text)
    if header is None:
        raise kind.error(f"{path}: its table of contents makes no sense; copy it again or {kind.again}")
    return header


def _parse_header(text: bytes) -> dict[str, Any] | None:
    """Return a header, None if it is not one; a hostile file may have correct checksums."""
    try:
        header = json.loads(text)
        whole = isinstance(header["fields"], dict) and all(_is_entry(entry) for entry in header["arrays"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return header if whole else None


def _is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an array's entry is well-formed."""
    shape, numbers = entry["shape"], (entry["start"], entry["crc32"], *entry["shape"])
    plain = all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) and 1 <= len(shape) <= _MAX_DIMENSIONS
    dtype = re.fullmatch(_NUMBER_DTYPE, entry["dtype"])
    return plain and isinstance(entry["name"], str) and dtype is not None and np.dtype(dtype[0]).itemsize > 0


def add_arrays(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Add or replace arrays of a file, atomically; on Windows nothing may have it open meanwhile. Raises DatabaseError."""
    old = open_container(Path(path))
    with write_container(Path(path)) as writer:
        writer.fields = old.fields
        for name, array in {**old.arrays, **arrays}.items():
            writer.stream(name, array.dtype, array.shape[1:], _split_into_blocks(array))
        # Windows does not replace a file that is still mapped.
        del old, array


def _split_into_blocks(array: Array, rows: int = 1 << 16) -> Iterator[Array]:
    """Return an array in pieces, so that copying a large file does not fill the memory."""
    for start in range(0, len(array), rows):
        yield array[start : start + rows]


def _compute_crc(array: Array) -> int:
    """Return the CRC-32 of an array's bytes."""
    checksum = 0
    for block in _split_into_blocks(array):
        checksum = zlib.crc32(np.ascontiguousarray(block).data, checksum) if block.size else checksum
    return checksum
