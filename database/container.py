"""A file of named arrays: memory-mapped, checksummed, written atomically.

    0   16 bytes  magic and kind
    16   u32      version of that kind
    20   u32      CRC-32 of the header
    24   u64      where the header begins
    32   u64      length of the header
    40   u32      CRC-32 of bytes 0..39
    64            arrays, little-endian, C order, each on a multiple of 64 bytes, then the header: JSON with `fields` and `arrays`

The header stands last, so that arrays can be written while their length is not known yet. Array checksums are CRC-32 and are read
only by `verify`: opening costs the header, not the data.
"""

import contextlib
import json
import math
import mmap
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError, reason

ALIGNMENT = 64
_PREAMBLE = struct.Struct("<16sIIQQ")
_SEAL = struct.Struct("<I")
_NUMBERS = r"[<>|]?[biuf]\d{1,2}"  # dtypes that an array may have
_MOST_DIMENSIONS = 8
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is: magic (16 bytes) and version; for its errors what it is, how one is made, and how made again."""

    magic: bytes
    version: int
    what: str
    make: str
    again: str


DATABASE = Kind(b"duocap motion db", 1, "a motion database", "build one with `duocap database build`", "build it again")
MAGIC, VERSION = DATABASE.magic, DATABASE.version


@dataclass(frozen=True, slots=True)
class Container:
    """An open file: `fields` of plain values and read-only arrays that lie in the file."""

    path: Path
    version: int
    fields: dict[str, Any]
    arrays: dict[str, Array]
    checksums: dict[str, int]

    def damaged(self) -> list[str]:
        """Read all arrays and give the names of those that differ from their checksum."""
        return [name for name, array in self.arrays.items() if _crc(array) != self.checksums[name]]


class ContainerWriter:
    """Writes arrays one after the other to a temporary file that takes the real name only when all is on disk.

    Use as a context manager; an exception inside leaves no file behind, and an existing file as it was.
    """

    def __init__(self, path: Path, kind: Kind = DATABASE) -> None:
        self._path, self._kind = path, kind
        self._arrays: list[dict[str, Any]] = []
        self.fields: dict[str, Any] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        except OSError as error:
            raise DatabaseError(f"{path}: cannot be written ({reason(error)}); choose a folder you may write to") from error
        self._temporary = Path(name)
        self._file: BinaryIO = os.fdopen(handle, "wb")
        self._file.write(bytes(ALIGNMENT))

    def __enter__(self) -> "ContainerWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as fault:
            why = f"cannot be written ({fault.strerror})"
            raise DatabaseError(f"{self._path}: {why}; free space or close programs that use it") from fault
        finally:
            self._file.close()
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)

    def add(self, name: str, array: Array) -> None:
        """Write one array."""
        self.stream(name, array.dtype, array.shape[1:], [array])

    def stream(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[Array]) -> int:
        """Write an array that comes in blocks (n, *shape); gives its length."""
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
        return length

    def read_back(self, name: str) -> Array:
        """Give a copy of an array already written."""
        entry = next(entry for entry in self._arrays if entry["name"] == name)
        self._file.flush()
        count = int(np.prod(entry["shape"]))
        read = np.fromfile(self._temporary, np.dtype(entry["dtype"]), count, offset=entry["start"])
        return np.asarray(read.reshape(entry["shape"]))

    def _finish(self) -> None:
        """Write header and preamble, push them to the disk and give the file its name."""
        header = json.dumps({"fields": self.fields, "arrays": self._arrays}, ensure_ascii=False, allow_nan=False).encode()
        start = self._file.tell()
        preamble = _PREAMBLE.pack(self._kind.magic, self._kind.version, zlib.crc32(header), start, len(header))
        self._file.write(header)
        self._file.seek(0)
        self._file.write(preamble + _SEAL.pack(zlib.crc32(preamble)))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._temporary.chmod(0o644)
        self._temporary.replace(self._path)


def open_container(path: Path, kind: Kind = DATABASE) -> Container:
    """Map a file.

    Raises DatabaseError if it is missing, empty, foreign, truncated, damaged or of another version.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            preamble = file.read(ALIGNMENT)
            header = _header(path, preamble, size, file, kind)
            # The mapping outlives the handle, and goes with the last array that looks into it.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be opened ({reason(error)}); {kind.make}") from error
    arrays: dict[str, Array] = {}
    for entry in header["arrays"]:
        shape, dtype = tuple(entry["shape"]), np.dtype(entry["dtype"])
        count = math.prod(shape)
        if entry["start"] + count * dtype.itemsize > size:
            raise DatabaseError(f"{path}: {entry['name']} reaches beyond the end of the file; {kind.again}")
        arrays[entry["name"]] = np.frombuffer(mapped, dtype, count, entry["start"]).reshape(shape)
    return Container(path, kind.version, header["fields"], arrays, {entry["name"]: entry["crc32"] for entry in header["arrays"]})


def _header(path: Path, preamble: bytes, size: int, file: BinaryIO, kind: Kind) -> dict[str, Any]:
    """Check the preamble and read the header."""
    if size == 0:
        raise DatabaseError(f"{path}: the file is empty; expected {kind.what}, {kind.make}")
    if preamble[: len(kind.magic)] != kind.magic:
        raise DatabaseError(f"{path}: not {kind.what}; {kind.make}")
    if len(preamble) < ALIGNMENT:
        raise DatabaseError(f"{path}: cut short after {size} bytes; copy it again or {kind.again}")
    _, version, checksum, start, length = _PREAMBLE.unpack_from(preamble)
    if version != kind.version:
        raise DatabaseError(f"{path}: written in version {version}, expected {kind.version}; {kind.again}")
    if _SEAL.unpack_from(preamble, _PREAMBLE.size)[0] != zlib.crc32(preamble[: _PREAMBLE.size]):
        raise DatabaseError(f"{path}: damaged in its first bytes; copy it again or {kind.again}")
    if start + length > size:
        raise DatabaseError(f"{path}: cut short: {start + length} bytes expected, {size} found; copy it again or {kind.again}")
    file.seek(start)
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise DatabaseError(f"{path}: its table of contents is damaged; copy it again or {kind.again}")
    header = _parsed(text)
    if header is None:
        raise DatabaseError(f"{path}: its table of contents makes no sense; copy it again or {kind.again}")
    return header


def _parsed(text: bytes) -> dict[str, Any] | None:
    """Give a header if it is one: somebody may have made the file to do harm, its checksums all right."""
    try:
        header = json.loads(text)
        whole = isinstance(header["fields"], dict) and all(_is_entry(entry) for entry in header["arrays"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return header if whole else None


def _is_entry(entry: dict[str, Any]) -> bool:
    """Tell whether an array's entry can be followed."""
    shape, numbers = entry["shape"], (entry["start"], entry["crc32"], *entry["shape"])
    plain = all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) and 1 <= len(shape) <= _MOST_DIMENSIONS
    dtype = re.fullmatch(_NUMBERS, entry["dtype"])
    return plain and isinstance(entry["name"], str) and dtype is not None and np.dtype(dtype[0]).itemsize > 0


def rewrite_with(path: Path, fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Add or replace fields and arrays of an existing file, atomically; close what reads it first (Windows insists)."""
    old = open_container(path)
    with ContainerWriter(path) as writer:
        writer.fields = {**old.fields, **fields}
        for name, array in {**old.arrays, **arrays}.items():
            writer.stream(name, array.dtype, array.shape[1:], _blocks(array))
        # Windows does not replace a file that is still mapped.
        del old, array


def _blocks(array: Array, rows: int = 1 << 16) -> Iterator[Array]:
    """Give an array in pieces, so that copying a large file does not fill the memory."""
    for start in range(0, len(array), rows):
        yield array[start : start + rows]


def _crc(array: Array) -> int:
    """Give the CRC-32 of an array's bytes."""
    checksum = 0
    for block in _blocks(array):
        checksum = zlib.crc32(np.ascontiguousarray(block).data, checksum) if block.size else checksum
    return checksum
