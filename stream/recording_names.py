"""Names of recordings: where they go, and which names may be asked for from outside."""

import re
from datetime import datetime
from pathlib import Path

import platformdirs

from stream.recorder import RecordingError

SUFFIX = ".mcap"
MAX_NAME = 80
FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # by Windows, whatever the suffix


def recordings_folder(setting: str) -> Path:
    """Give the folder of recordings: of the setting, else duocap in the user's documents."""
    return Path(setting).expanduser() if setting else platformdirs.user_documents_path() / "duocap"


def recording_file(folder: Path, name: str | None, when: datetime) -> Path:
    """Give the file to record to: `name` in the folder, or a free name of the time; makes the folder.

    Raises RecordingError: the name is not a plain file name, or the folder cannot be made.
    """
    if name is not None:
        check_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be made; name another folder with --set stream.recordings=FOLDER") from error
    if name is not None:
        return folder / (name if name.lower().endswith(SUFFIX) else name + SUFFIX)
    stem = f"{when:%Y-%m-%d %H.%M.%S}"
    names = [stem, *(f"{stem} {n}" for n in range(2, 100))]
    return folder / (next((free for free in names if not (folder / (free + SUFFIX)).exists()), stem) + SUFFIX)


def check_name(name: str) -> None:
    """Raise RecordingError unless a name is a plain file name on every system."""
    plain = name and name == name.strip() and not name.startswith(".") and not name.endswith(".")
    if not plain or len(name) > MAX_NAME or len(name.encode("utf-8", "replace")) > 2 * MAX_NAME:
        raise RecordingError(
            f"{name[:40]!r} cannot name a recording; give a plain name such as 'walk 1', at most {MAX_NAME} letters"
        )
    if FORBIDDEN.search(name) or RESERVED.fullmatch(name) or not name.isprintable():
        raise RecordingError(
            f'{name[:40]!r} cannot name a recording; give a plain name, without folders or any of / \\ : * ? " < > |'
        )
