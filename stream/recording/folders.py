"""Where recordings and sessions go: folders, names that may be asked for from outside, free names by the time."""

import logging
import re
from datetime import datetime
from itertools import count
from pathlib import Path

import platformdirs

from capture.recording.session import SESSION, is_session, list_recording_parts
from config.errors import describe_reason
from stream.recording.recorder import RecordingError

log = logging.getLogger(__name__)

SUFFIX = ".mcap"
TAKE = "take.mcap"
MAX_NAME = 80
BY_TIME = "%Y-%m-%d %H.%M.%S"  # names of recordings and sessions
FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # by Windows, whatever the suffix


def find_recordings_folder(setting: str) -> Path:
    """Return the folder of recordings: of the setting, else duocap in the user's documents."""
    return Path(setting).expanduser() if setting else platformdirs.user_documents_path() / "duocap"


def choose_recording_file(folder: Path, name: str | None, when: datetime) -> Path:
    """Return the file to record to, `name` in the folder or a free name by the time; creates the folder.

    Args:
        folder: folder of the recordings.
        name: None: by the time.
        when: time of the recording.
    Raises: RecordingError: the name is not a plain file name, or the folder cannot be created.
    """
    if name is not None:
        check_recording_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be made; name another folder with --set stream.recordings=FOLDER") from error
    if name is not None:
        return folder / (name if name.lower().endswith(SUFFIX) else name + SUFFIX)
    return find_free_path(folder, f"{when:{BY_TIME}}", SUFFIX)


def check_recording_name(name: str) -> None:
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


def make_session_folder(folder: Path) -> Path:
    """Create the folder of a new session. Raises RecordingError: it exists, or cannot be created."""
    check_recording_name(folder.name)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise RecordingError(f"{folder}: exists already, and a recording never replaces anything; choose another name") from None
    except OSError as error:
        raise RecordingError(
            f"{folder}: cannot be made ({describe_reason(error)}); choose a place that you may write to"
        ) from error
    return folder


def choose_session_folder(parent: Path, when: datetime) -> Path:
    """Return a free name by the time in a folder."""
    return find_free_path(parent, f"{when:{BY_TIME}}")


def choose_next_take(folder: Path) -> Path:
    """Return the file of the next take: take.mcap, and take.2.mcap after a restart of the reconstruction."""
    n_takes = len(list_recording_parts(folder, "take", "mcap"))
    return folder / (f"take.{n_takes + 1}.mcap" if n_takes else TAKE)


def find_take(path: Path) -> Path:
    """Return the recording of a path: the take of a session's folder, else the path itself.

    Raises RecordingError: nothing there, a folder that is no session, or one without poses.
    """
    if not path.exists():
        raise RecordingError(f"{path}: no such file or folder; give a recording (.mcap) or the folder of a session")
    if not path.is_dir():
        return path
    if not is_session(path):
        raise RecordingError(f"{path}: is a folder without {SESSION}; give a recording (.mcap) or the folder of a session")
    takes = list_recording_parts(path, "take", "mcap")
    if not takes:
        raise RecordingError(f"{path}: has no {TAKE}: it was recorded without poses; make them with duocap replay {path} --video")
    if len(takes) > 1:
        log.warning(
            "%s: the reconstruction was started again; this is the first of %d takes, %s", path, len(takes), takes[0].name
        )
    return takes[0]


def find_free_path(folder: Path, stem: str, suffix: str = "") -> Path:
    """Return the first path of a name that does not exist: `walk.mcap`, `walk 2.mcap` and so on.

    Args:
        folder: where it is to be.
        stem: the name without its suffix.
        suffix: of a file; empty: none.
    """
    paths = (folder / f"{stem}{'' if n == 1 else f' {n}'}{suffix}" for n in count(1))
    return next(path for path in paths if not path.exists())
