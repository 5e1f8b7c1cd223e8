"""The files of takes: new names, deleting that can be undone, and free names for edited ones. Nothing is ever replaced."""

from pathlib import Path

from config.errors import describe_reason
from stream.recording.folders import SUFFIX, check_recording_name, find_free_path
from stream.recording.recorder import RecordingError

DELETED = "deleted"  # the folder beside takes that deleted ones are moved to


def rename_take(take: Path, name: str) -> Path:
    """Give a recording, or the folder of a session, another name in its folder, and return its path.

    Raises RecordingError: the name is no plain name, or taken, or the file cannot be moved.
    """
    check_recording_name(name)
    suffix = "" if take.is_dir() or name.lower().endswith(take.suffix.lower()) else take.suffix
    return _move(take, take.with_name(name + suffix))


def delete_take(take: Path) -> Path:
    """Move a recording, or the folder of a session, to the folder of deleted takes beside it; return where it is now.

    Raises RecordingError: it cannot be moved.
    """
    folder = take.absolute().parent / DELETED
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be made ({describe_reason(error)}); nothing was deleted") from error
    stem, suffix = (take.name, "") if take.is_dir() else (take.stem, take.suffix)  # a session's name may have a dot in its time
    return _move(take, find_free_path(folder, stem, suffix))


def restore_take(deleted: Path) -> Path:
    """Bring a deleted take back to where it was, and return its path. Raises RecordingError: it is not deleted, or in the way."""
    place = deleted.absolute()
    if place.parent.name != DELETED:
        raise RecordingError(f"{deleted}: is not in a folder named {DELETED!r}, so there is nothing to bring back")
    return _move(place, place.parent.parent / place.name)


def find_free_file(file: Path) -> Path:
    """Return a file, or the first with a number behind its name that does not exist."""
    return find_free_path(file.parent, file.stem, file.suffix)


def name_edited_file(take: Path) -> Path:
    """Return a free file for an edited take, beside the original: `walk edited.mcap`."""
    stem = take.stem if take.suffix == SUFFIX else take.name
    return find_free_path(take.parent, f"{stem} edited", SUFFIX)


def _move(take: Path, place: Path) -> Path:
    """Move a file or folder to a place that is free."""
    if place.exists():
        raise RecordingError(f"{place}: exists already, and a recording never replaces anything; choose another name")
    try:
        take.rename(place)
    except OSError as error:
        raise RecordingError(f"{take}: cannot be moved to {place} ({describe_reason(error)})") from error
    return place
