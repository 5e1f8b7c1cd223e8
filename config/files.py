"""Files that are whole or not there: written beside their place, then moved onto it; caches of the last used ones."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from config.errors import FileFormatError, reason

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk is full, or what the user may use of it


@contextlib.contextmanager
def atomic_open(file: Path) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become `file` when the block ends well; after an exception the old file is as it was.

    Raises FileFormatError: the folder does not exist, cannot be written to, or the disk is full.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    except OSError as error:
        raise _unwritable(file, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp allows only the owner to read; a result is an ordinary file.
        temporary.chmod(0o666 & ~_umask())
        try:
            temporary.replace(file)
        except OSError as error:  # a folder of that name, or on Windows a file that another program holds open
            raise _unwritable(file, error) from error
    except OSError as error:
        if error.errno in FULL:
            raise _unwritable(file, error) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(file: Path, content: str | bytes) -> None:
    """Write a whole file at once: text as UTF-8 with `\\n` line ends, or bytes."""
    with atomic_open(Path(file)) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


def mark_used(file: Path) -> None:
    """Let a file of a cache count as the last used; one that may only be read stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(file)


def keep_last_used(folder: Path, pattern: str, count: int) -> None:
    """Remove all files of a folder that match a pattern, such as `*.db`, but the `count` last used ones.

    What another process has open on Windows, or may not be removed, stays.
    """
    used: list[tuple[int, Path]] = []
    with contextlib.suppress(OSError):
        for file in folder.glob(pattern):
            with contextlib.suppress(OSError):  # gone since: another process removes as well
                used.append((file.stat().st_mtime_ns, file))
    for _, file in sorted(used, reverse=True)[count:]:
        with contextlib.suppress(OSError):
            file.unlink()


def _unwritable(file: Path, error: OSError) -> FileFormatError:
    """Say that `file` cannot be written and what to do."""
    todo = "choose a place in an existing folder that you may write to"
    return FileFormatError(f"{file}: cannot be written ({reason(error)}); {todo}")


def _umask() -> int:
    """Give the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
