"""TOML files read, files written atomically, and caches that keep the last used ones."""

import contextlib
import errno
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from config.errors import DuocapError, FileFormatError, describe_reason
from config.text import read_text

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # or the user's share of it
PART = ".part"  # how the names of files end that are being written
ABANDONED_S = 3600.0


def read_toml(file: Path, error_type: type[DuocapError] = FileFormatError, what: str = "", advice: str = "") -> dict[str, Any]:
    """Return the table of a TOML file.

    Args:
        error_type: of the error that is raised.
        what: what the file is, for the message of an error.
        advice: what to do, for the message of an error.
    Raises: `error_type`: no such file, not text, not TOML.
    """
    after = f"; {advice}" if advice else ""
    try:
        return tomllib.loads(read_text(file, what=what or "the file"))
    except FileFormatError as error:
        raise error_type(f"{error}{after}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise error_type(f"{file}: not valid TOML: {error or 'nested too deeply'}{after}") from error


@contextlib.contextmanager
def open_atomically(file: Path, error_type: type[DuocapError] = FileFormatError) -> Iterator[BinaryIO]:
    """Return a stream, to write and to read back, whose bytes become `file` when the block ends without an exception.

    They go to a temporary file in the same folder, which then replaces `file`, or does so at the end of `write_together`; after
    an exception the old file is unchanged. Raises `error_type`: the folder does not exist, cannot be written to, or the disk is
    full.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=PART, dir=file.parent)
    except OSError as error:
        raise error_type(_describe_unwritable(file, error)) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp allows only the owner to read; a result is an ordinary file.
        temporary.chmod(0o666 & ~_read_umask())
        replace_file(temporary, file, error_type)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise error_type(_describe_unwritable(file, error)) from error
        raise
    finally:
        if temporary not in (_WAITING.get() or {}):
            temporary.unlink(missing_ok=True)


_WAITING: ContextVar[dict[Path, tuple[Path, type[DuocapError]]] | None] = ContextVar("_WAITING", default=None)


@contextlib.contextmanager
def write_together() -> Iterator[None]:
    """Let all files that are written atomically in the block replace the old ones at its end; after an exception none does.

    Raises what `open_atomically` of a file would, if it cannot be replaced; if that shows beforehand, nothing is replaced.
    """
    if _WAITING.get() is not None:
        yield  # part of a larger whole
        return
    waiting: dict[Path, tuple[Path, type[DuocapError]]] = {}
    token = _WAITING.set(waiting)
    try:
        yield
        for file, error_type in waiting.values():
            if file.is_dir():
                raise error_type(_describe_unwritable(file, IsADirectoryError(errno.EISDIR, "it is a folder")))
        for temporary, (file, error_type) in waiting.items():
            _replace_file(temporary, file, error_type)
    finally:
        _WAITING.reset(token)
        for temporary in waiting:
            temporary.unlink(missing_ok=True)


def replace_file(temporary: Path, file: Path, error_type: type[DuocapError] = FileFormatError) -> None:
    """Put a whole file in another's place, at once or at the end of `write_together`.

    Args:
        temporary: the whole file.
        file: the one it replaces.
        error_type: of the error that is raised.
    Raises: `error_type`: it cannot be replaced.
    """
    waiting = _WAITING.get()
    if waiting is None:
        _replace_file(temporary, file, error_type)
    else:
        waiting[temporary] = (file, error_type)


def _replace_file(temporary: Path, file: Path, error_type: type[DuocapError]) -> None:
    """Put a whole file in another's place. Raises `error_type`."""
    try:
        temporary.replace(file)
    except OSError as error:  # a folder of that name, or on Windows a file that another program has open
        raise error_type(_describe_unwritable(file, error)) from error


def write_atomically(file: Path, content: str | bytes) -> None:
    """Write a whole file atomically.

    Text as UTF-8 with `\\n` line ends, or bytes. Raises FileFormatError as `open_atomically`.
    """
    with open_atomically(Path(file)) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


def lock_file(descriptor: int) -> None:
    """Lock an open file for this process until it is closed, however the process ends. Raises OSError: it is locked."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def mark_used(file: Path) -> None:
    """Set the modification time of a cached file to now; a file that may only be read is left as it is."""
    with contextlib.suppress(OSError):
        os.utime(file)


def remove_least_used(folder: Path, pattern: str, count: int) -> None:
    """Remove the files of a folder that match a pattern, except the last used ones.

    Temporary files that killed processes left behind (`open_atomically`) are removed, too, after an hour. A file that another
    process has open on Windows, or that may not be removed, stays.

    Args:
        pattern: such as `*.db`.
        count: how many are kept.
    """
    written = _sort_by_use(folder, f".{pattern}.*{PART}")
    abandoned = [file for used_s, file in written if used_s < time.time() - ABANDONED_S]
    for file in [file for _, file in _sort_by_use(folder, pattern)[count:]] + abandoned:
        with contextlib.suppress(OSError):
            file.unlink()


def _sort_by_use(folder: Path, pattern: str) -> list[tuple[float, Path]]:
    """Return the files of a folder that match a pattern, the last used one first, with when that was [s]."""
    used: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for file in folder.glob(pattern):
            with contextlib.suppress(OSError):  # removed meanwhile by another process
                used.append((file.stat().st_mtime, file))
    return sorted(used, reverse=True)


def _describe_unwritable(file: Path, error: OSError) -> str:
    """Return the message for a file that cannot be written."""
    return f"{file}: cannot be written ({describe_reason(error)}); choose a place in an existing folder that you may write to"


def _read_umask() -> int:
    """Return the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
