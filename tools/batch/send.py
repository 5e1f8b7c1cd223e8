"""Inputs for workers that share no folder with who asks: files by their content, each sent to a worker once.

A worker says which it lacks, and is sent them; those of several tasks (databases, rigs) it keeps until it ends.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from config.errors import DuocapError
from tools.batch.task import BatchTask

PIECE_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class SentFiles:
    """The files of a task's inputs.

    Attributes:
        hashes: hash of each input as in a record.
        kept: contents that other tasks read, too.
    """

    hashes: dict[str, list[Any]]
    kept: frozenset[str]

    def missing(self) -> tuple[str, ...]:
        """Return the contents that this process was not sent yet."""
        return tuple(sorted({mark[2] for mark in self.hashes.values() if not _find_content_path(mark[2]).is_file()}))

    def forget(self) -> None:
        """Remove the contents that no other task needs."""
        for mark in self.hashes.values():
            if mark[2] not in self.kept:
                _find_content_path(mark[2]).unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _find_store() -> Path:
    """Return the folder of what this process was sent; it goes with the process."""
    folder = Path(tempfile.mkdtemp(prefix="duocap-sent-"))
    atexit.register(shutil.rmtree, folder, True)
    return folder


def _find_content_path(content: str) -> Path:
    """Return where a content is or will be."""
    return _find_store() / content


def take_piece(content: str, piece: bytes, first: bool, last: bool) -> None:
    """Take a piece of a content; the file is there when it is whole. Runs in the worker.

    Args:
        content: hash of the content.
        piece: the bytes that follow.
        first: whether it is the first.
        last: whether it is the last.
    """
    part = _find_content_path(content).with_suffix(".part")
    with part.open("wb" if first else "ab") as stream:
        stream.write(piece)
    if last:
        part.replace(_find_content_path(content))


def send_contents(contents: tuple[str, ...], files: dict[str, Path], tell: Callable[..., Any]) -> None:
    """Send contents to a worker.

    Args:
        contents: hashes of the files.
        files: files with these contents on this machine.
        tell: calls a function there.
    Raises: OSError.
    """
    for content in contents:
        for piece, first, last in _read_pieces(files[content]):
            tell(take_piece, content, piece, first, last)


def _read_pieces(file: Path) -> Iterator[tuple[bytes, bool, bool]]:
    """Return a file in pieces: content, whether it is the first, whether it is the last."""
    left, first = file.stat().st_size, True
    with file.open("rb") as stream:
        while first or left > 0:
            piece = stream.read(PIECE_BYTES)
            left -= len(piece)
            yield piece, first, left <= 0 or not piece
            first = False
            if not piece:
                return


def place_inputs(task: BatchTask, sent: SentFiles, folder: Path) -> tuple[str, ...]:
    """Lay the inputs out in a folder, under the names they have; return where they are.

    Args:
        task: task that the inputs belong to.
        sent: the files of its inputs.
        folder: folder for the inputs.
    Raises: DuocapError.
    """
    places = tuple(str(folder / f"in{n}" / Path(place).name) for n, place in enumerate(task.inputs))
    for key, mark in sent.hashes.items():
        number, _, name = key.partition("/")
        to = Path(os.path.normpath(Path(places[int(number)]) / name))
        if not to.is_relative_to(folder):
            raise DuocapError(f"{Path(name).name}: is too far from the database that it is part of to be sent; put them together")
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(_find_content_path(mark[2]), to)
        except OSError:
            shutil.copyfile(_find_content_path(mark[2]), to)
    return places
