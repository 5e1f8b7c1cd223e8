"""Motion files out of archives of others: by name only, into one folder, no more than expected, each whole or not at all."""

import logging
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from config.errors import DatabaseError, describe_reason
from config.files import open_atomically
from database.store import Progress

logger = logging.getLogger(__name__)
MOTION_SUFFIXES: Final = (".amc", ".asf", ".bvh")
_NAME: Final = re.compile(r"\w[\w .()+-]*", re.ASCII)
# What `zipfile` raises for archives that are cut, damaged, encrypted, of a kind it does not know, or made to confuse it.
_FAULTS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


class DamagedArchiveError(DatabaseError):
    """An archive cannot be unpacked."""


def unpack_archive(archive: Path, folder: Path, takes: Callable[[str], bool], limit_bytes: int, progress: Progress) -> int:
    """Unpack the motion files of an archive into one folder, which is made, and return how many it has.

    Folders inside the archive are left off, so no member can lie elsewhere; a skeleton thus lies beside its motions. Files that
    are there with the right length are not unpacked again.

    Args:
        archive: the file.
        folder: folder for the motions.
        takes: function that says which names are taken.
        limit_bytes: largest total size of the unpacked files [bytes].
        progress: called with bytes done, in all and the archive's name.
    Raises: DamagedArchiveError; DatabaseError: more than the limit, or the folder cannot be written to.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = _list_motion_files(archive, opened, takes)
            n_bytes = sum(member.file_size for member in members.values())
            if n_bytes > limit_bytes:
                raise DatabaseError(
                    f"{archive}: unpacks to {n_bytes / 1e6:.0f} MB, expected at most {limit_bytes / 1e6:.0f}; nothing is unpacked"
                )
            folder.mkdir(parents=True, exist_ok=True)
            for done, (name, member) in enumerate(members.items(), start=1):
                target = folder / name
                if not (target.is_file() and target.stat().st_size == member.file_size):
                    with opened.open(member) as source, open_atomically(target, DatabaseError) as stream:
                        shutil.copyfileobj(source, stream, 1 << 20)
                progress(done, len(members), name)
    except _FAULTS as error:
        raise DamagedArchiveError(
            f"{archive}: not a whole archive ({describe_reason(error)}); it was cut short, or is no .zip; get it again"
        ) from error
    except OSError as error:
        raise DatabaseError(f"{archive}: cannot be unpacked to {folder} ({describe_reason(error)})") from error
    return len(members)


def _list_motion_files(archive: Path, opened: zipfile.ZipFile, takes: Callable[[str], bool]) -> dict[str, zipfile.ZipInfo]:
    """Return the motion files of an archive by name; of two that differ under one name the first, with a warning."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in opened.infolist():
        name = PurePosixPath(member.filename.replace("\\", "/")).name
        if member.is_dir() or not _NAME.fullmatch(name) or Path(name).suffix.lower() not in MOTION_SUFFIXES or not takes(name):
            continue
        first = members.setdefault(name, member)
        if (first.CRC, first.file_size) != (member.CRC, member.file_size):
            logger.warning("left out: %s of %s; %s has the same name", member.filename, archive.name, first.filename)
    return members
