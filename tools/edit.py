"""Edits of a take from the command line: the take read, edited, written to a new recording."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from database.store import PoseDatabase, open_database
from stream.edit.edits import Edit, apply_edit, describe_edit, split_recording, write_edited
from stream.edit.files import find_free_file, name_edited_file
from stream.recording.recording import Recording, open_recording
from stream.take.read import find_recording
from tools.database.installed import open_default


def edit_take(take: Path, edits: Sequence[Edit], split_s: float | None, out: Path | None, database: Path | None) -> list[str]:
    """Write a take after edits to a new recording, or to two; return what was done, line by line.

    Args:
        take: a recording, the folder of a session, or a motion file.
        edits: what is done, in order.
        split_s: time at which the result is split, before any trimming; None: not.
        out: the new recording; None: beside the take.
        database: file of the motion that poses are solved with; None: the default one.
    Raises: DuocapError.
    """

    def open_motion() -> PoseDatabase:
        return open_default() if database is None else open_database(database)

    with tempfile.TemporaryDirectory(prefix="duocap-edit-") as folder:
        recording = open_recording(find_recording(take, Path(folder)))
        for edit in edits:
            recording = apply_edit(recording, edit, open_motion)
        parts = [recording] if split_s is None else list(split_recording(recording, split_s))
        file = name_edited_file(take) if out is None else out
        written = [write_edited(file, parts[0])]
        written += [write_edited(find_free_file(file), part) for part in parts[1:]]
    return [*(describe_edit(edit) for edit in edits), *(_describe(path, part) for path, part in zip(written, parts, strict=True))]


def _describe(file: Path, recording: Recording) -> str:
    """Return a line on a file that was written."""
    return f"{file}: {len(recording.poses)} poses, {recording.duration_s:.2f} s"
