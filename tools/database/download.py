"""Download one file by HTTP, going on where an earlier attempt broke off.

Beside `FILE` lie, until it is complete, `FILE.part` and `FILE.part.json`: where it comes from, how long it is, and the server's
mark of its version (RFC 9110: ETag or Last-Modified). A part is continued only if the server says that it is of the same version;
else it begins anew.
"""

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from config.errors import DatabaseError, describe_reason
from config.files import write_atomically
from database.store import Progress

TIMEOUT_S: Final = 30.0  # without a byte
ATTEMPTS: Final = 5  # in a row that bring nothing new
LONGEST_PAUSE_S: Final = 8.0
BLOCK: Final = 1 << 16
BUSY: Final = (408, 425, 429, 500, 502, 503, 504)  # answers after which it is worth while to ask again


class BrokenOffError(Exception):
    """A connection failed or ended early; asking again may help."""


class MissingFileError(DatabaseError):
    """The server has no such file."""


@dataclass(slots=True)
class RemoteFile:
    """What the server said of the file that a part belongs to; total: bytes, None where it did not say."""

    url: str
    etag: str = ""
    modified: str = ""
    total: int | None = None

    @property
    def version(self) -> str:
        """A mark by which If-Range tells one version from another, empty if there is none."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


def read_remote_file(url: str, headers: Message, total: int | None) -> RemoteFile:
    """Return what an answer's header says of the file.

    Args:
        url: address of the file.
        headers: headers of the answer.
        total: bytes; None where the server did not say.
    """
    return RemoteFile(url, headers.get("ETag", ""), headers.get("Last-Modified", ""), total)


class PartialFile:
    """A file that is not complete yet, with what is known of it, both on disk."""

    def __init__(self, file: Path, url: str) -> None:
        self.file, self.url = file, url
        self.path, self._notes = Path(f"{file}.part"), Path(f"{file}.part.json")
        self.remote = self._noted()
        if self.remote is None:
            self.path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, as far as the server told the length."""
        return self.remote is not None and self.remote.total is not None and self.size == self.remote.total

    def start(self) -> int:
        """Return the byte to go on from: 0 unless the server can be asked for the rest of the same version."""
        known = self.remote
        if known is None or not known.version or (known.total is not None and self.size > known.total):
            return 0
        return self.size

    def begin(self, remote: RemoteFile) -> None:
        """Forget what is there and begin a version of the file."""
        self.path.unlink(missing_ok=True)
        write_atomically(self._notes, json.dumps(asdict(remote)))
        self.remote = remote

    def finish(self) -> None:
        """Rename the complete part to the file."""
        self.path.replace(self.file)
        self._notes.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what is there."""
        self.path.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)
        self.remote = None

    def _noted(self) -> RemoteFile | None:
        """Return what an earlier attempt noted, None if it was about another address or cannot be read."""
        try:
            noted = RemoteFile(**json.loads(self._notes.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return noted if noted.url == self.url else None


def download_file(
    url: str, file: Path, progress: Progress, limit_bytes: int, pause: Callable[[float], None] = time.sleep
) -> RemoteFile:
    """Download `url` to `file`, whose folder exists; ask again where the connection breaks off.

    Args:
        url: address of the file.
        file: file to write.
        progress: called with bytes done, in all (0: unknown) and the file's name.
        limit_bytes: a longer file is refused.
        pause: waits for so many seconds.
    Raises: MissingFileError; DatabaseError: no such server, it refuses, it breaks off time and again, the disk is full. What was
        received is kept, also after KeyboardInterrupt, and the next call goes on from there.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise DatabaseError(f"{url}: not an address to download from; expected http:// or https:// (database.mirror)")
    part = PartialFile(file, url)
    furthest, in_vain, is_complete = part.size, 0, part.is_complete
    while not is_complete:
        try:
            is_complete = _receive_part(part, progress, limit_bytes)
        except BrokenOffError as error:
            in_vain = 0 if part.size > furthest else in_vain + 1
            furthest = max(furthest, part.size)
            if in_vain >= ATTEMPTS:
                raise DatabaseError(
                    f"{url}: {error}, {ATTEMPTS} times in a row; {part.size / 1e6:.1f} MB are kept and the same command goes on "
                    "from there, or set database.mirror, or download it by hand and give --from FILE"
                ) from error
            total = part.remote.total if part.remote is not None else None
            progress(part.size, total or 0, f"{file.name}: {error}; asking again")
            pause(min(2.0**in_vain, LONGEST_PAUSE_S))
    assert part.remote is not None
    part.finish()
    return part.remote


def _receive_part(part: PartialFile, progress: Progress, limit_bytes: int) -> bool:
    """Ask once for what is missing and append what comes; return whether the file is complete.

    Raises BrokenOffError, DatabaseError.
    """
    start = part.start()
    headers = {"Accept-Encoding": "identity", "User-Agent": "duocap"}
    if start:
        assert part.remote is not None
        headers |= {"Range": f"bytes={start}-", "If-Range": part.remote.version}
    try:
        with urllib.request.urlopen(urllib.request.Request(part.url, headers=headers), timeout=TIMEOUT_S) as answer:
            if not _check_answer(part, answer.status, answer.headers, start, limit_bytes):
                part.discard()
                return False
            _append_answer(part, answer, progress, limit_bytes)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:
            part.discard()
            return False
        raise _build_refusal(part.url, error) from error
    except urllib.error.URLError as error:
        raise BrokenOffError(_format_connection_error(error.reason)) from error
    except (http.client.HTTPException, OSError) as error:
        raise BrokenOffError(_format_connection_error(error)) from error
    total = part.remote.total if part.remote is not None else None
    if total is not None and part.size != total:
        raise BrokenOffError(f"broke off after {part.size} of {total} bytes")
    return True


def _check_answer(part: PartialFile, status: int, headers: Message, start: int, limit_bytes: int) -> bool:
    """Return whether an answer can be written where the part ends; an answer with the whole file begins the part anew.

    Raises DatabaseError: neither, or too much.
    """
    encoding, length = headers.get("Content-Encoding", "identity"), headers.get("Content-Length", "")
    if encoding != "identity" or status not in (200, 206) or (status == 206 and not start):
        raise DatabaseError(f"{part.url}: answered with status {status}, encoding {encoding}; expected the file as it is")
    if status == 200:
        part.begin(read_remote_file(part.url, headers, int(length) if length.isdecimal() else None))
    assert part.remote is not None
    if status == 206:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", "").strip())
        if span is None or int(span[1]) != start:
            return False
        told = read_remote_file(part.url, headers, int(span[2]) if span[2] != "*" else part.remote.total)
        same = told.version == part.remote.version or not told.version
        if not same or part.remote.total not in (None, told.total):
            return False
        part.remote.total = told.total
    if part.remote.total is not None and part.remote.total > limit_bytes:
        raise DatabaseError(_build_length_error(part, part.remote.total, limit_bytes))
    return True


def _append_answer(part: PartialFile, answer: http.client.HTTPResponse, progress: Progress, limit_bytes: int) -> None:
    """Append what comes to the part. Raises DatabaseError: it cannot be written, or is too long; OSError, HTTPException."""
    assert part.remote is not None
    total, done = part.remote.total or 0, part.size
    try:
        file = part.path.open("ab", buffering=0)
    except OSError as error:
        raise DatabaseError(_build_write_error(part, error)) from error
    with file:
        while block := answer.read1(BLOCK):
            try:
                file.write(block)
            except OSError as error:
                raise DatabaseError(_build_write_error(part, error)) from error
            done += len(block)
            if done > limit_bytes:
                raise DatabaseError(_build_length_error(part, done, limit_bytes))
            progress(done, total, part.file.name)


def _build_refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    """Return what an answer that is an error means."""
    said = f"the server answered {error.code} {error.reason}"
    if error.code in BUSY:
        return BrokenOffError(said)
    kind = MissingFileError if error.code in (404, 410) else DatabaseError
    return kind(f"{url}: {said}; set database.mirror, or download it with a browser and give --from FILE")


def _format_connection_error(error: object) -> str:
    """Return why a connection failed, as a phrase."""
    if isinstance(error, TimeoutError):
        return f"nothing came for {TIMEOUT_S:g} s"
    return describe_reason(error) if isinstance(error, Exception) else str(error)


def _build_length_error(part: PartialFile, n_bytes: int, limit_bytes: int) -> str:
    """Return the message for a file that is far longer than what is published."""
    return f"{part.url}: {n_bytes / 1e6:.0f} MB or more, expected at most {limit_bytes / 1e6:.0f}; is this the right address?"


def _build_write_error(part: PartialFile, error: OSError) -> str:
    """Return the message for a part that cannot be written."""
    reason = describe_reason(error)
    return f"{part.path}: cannot be written ({reason}); make room there, and the same command goes on from where it is"
