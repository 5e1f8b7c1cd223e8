"""The folder of a recorded session: which files it has, and session.toml, which says what they are.

session.toml     what ran, when, with which cameras and database; made at the start, completed at the end
settings.toml    every setting as it was      rig.toml, subject.toml    as the run used them
left.mkv, left.csv, right.mkv, right.csv    pictures and their stamps; left.2.mkv and so on after a restart of the camera
begin.style      the style that the run began with, if it was given one
take.mcap        what was published, what was detected, and what was done with it; take.2.mcap likewise
"""

import logging
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import tomli_w

from capture.control import Details
from capture.session_files import SESSION, is_session, parts_of
from config.cameras import CAMERAS
from config.errors import reason
from config.files import atomic_write
from stream.recorder import RecordingError
from stream.recording_names import check_name
from stream.report import versions

log = logging.getLogger(__name__)

FORMAT = 1
SETTINGS, RIG, SUBJECT, TAKE = "settings.toml", "rig.toml", "subject.toml", "take.mcap"
STYLE = "begin.style"
DETECTIONS = "detections.mcap"  # of a session without poses


@dataclass(frozen=True, slots=True)
class SessionCamera:
    """One camera as session.toml has it.

    source: as the user named it; name: of the device, empty where it has none; stamp: kind of its times; details: facts of it.
    """

    source: str
    name: str = ""
    width: int = 0
    height: int = 0
    fps: float = 0.0
    stamp: str = ""
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionDatabase:
    """The database of the run. checksum: of its poses, which another database does not have."""

    file: str
    poses: int
    checksum: int


Part = TypeVar("Part", SessionCamera, SessionDatabase)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What session.toml says.

    session: name of the run in its messages; when: wall clock with its zone, when the stamps' clock showed when_ns; subject:
    name, empty without one; markers: names; budget_ns: largest skew of a pair at first; end: figures of a session that was ended
    in order, empty for one that was not.
    """

    session: str
    when: str
    when_ns: int
    cameras: tuple[SessionCamera, SessionCamera]
    subject: str = ""
    markers: tuple[str, ...] = ()
    budget_ns: int = 0
    database: SessionDatabase | None = None
    end: Mapping[str, int | float | str] = field(default_factory=dict)


def make_session_folder(folder: Path) -> Path:
    """Make the folder of a new session. Raises RecordingError: it exists, or cannot be made."""
    check_name(folder.name)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise RecordingError(f"{folder}: exists already, and a recording never replaces anything; choose another name") from None
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be made ({reason(error)}); choose a place that you may write to") from error
    return folder


def free_session_folder(parent: Path, when: datetime) -> Path:
    """Give a name of the time that is free in a folder."""
    stem = f"{when:%Y-%m-%d %H.%M.%S}"
    names = [stem, *(f"{stem} {n}" for n in range(2, 100))]
    return parent / next((name for name in names if not (parent / name).exists()), stem)


def next_take(folder: Path) -> Path:
    """Give the file of the next take: take.mcap, and take.2.mcap after a restart of the reconstruction."""
    taken = parts_of(folder, "take", "mcap")
    return folder / (TAKE if not taken else f"take.{len(taken) + 1}.mcap")


def take_of(path: Path) -> Path:
    """Give the recording that a path stands for: the take of a session's folder, or the very path.

    Raises RecordingError: a folder that is no session, or one without poses.
    """
    if not path.is_dir():
        return path
    if not is_session(path):
        raise RecordingError(f"{path}: is a folder without {SESSION}; give a recording (.mcap) or the folder of a session")
    takes = parts_of(path, "take", "mcap")
    if not takes:
        raise RecordingError(f"{path}: has no {TAKE}: it was recorded without poses; make them with duocap replay {path} --video")
    if len(takes) > 1:
        log.warning(
            "%s: the reconstruction was started again; this is the first of %d takes, %s", path, len(takes), takes[0].name
        )
    return takes[0]


def write_session(folder: Path, info: SessionInfo) -> None:
    """Write session.toml, whole or not at all. Raises FileFormatError."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "duocap": versions()["duocap"],
        "session": info.session,
        "when": info.when,
        "when_ns": info.when_ns,
        "subject": info.subject,
        "markers": list(info.markers),
        "budget_ns": info.budget_ns,
        "versions": versions(),
        "cameras": {side: asdict(camera) for side, camera in zip(CAMERAS, info.cameras, strict=True)},
    }
    if info.database is not None:
        document["database"] = asdict(info.database)
    if info.end:
        document["end"] = dict(info.end)
    atomic_write(folder / SESSION, tomli_w.dumps(document))


def read_session(folder: Path) -> SessionInfo:
    """Read session.toml. Raises RecordingError: none there, damaged, or of a newer version."""
    file = folder / SESSION
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        words = reason(error) if isinstance(error, OSError | UnicodeDecodeError) else str(error)
        raise RecordingError(f"{file}: cannot be read ({words}); give the folder of a session that duocap recorded") from error
    if document.get("format") != FORMAT:
        raise RecordingError(
            f"{file}: format {str(document.get('format'))[:20]} of another duocap, this one reads {FORMAT}; update duocap"
        )
    try:
        left, right = (_checked(SessionCamera(**document["cameras"][side])) for side in CAMERAS)
        database = _checked(SessionDatabase(**document["database"])) if "database" in document else None
        return SessionInfo(
            session=str(document["session"]),
            when=str(document["when"]),
            when_ns=int(document["when_ns"]),
            cameras=(left, right),
            subject=str(document["subject"]),
            markers=tuple(str(name) for name in document["markers"]),
            budget_ns=int(document["budget_ns"]),
            database=database,
            end=dict(document.get("end", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{file}: is damaged ({error!r}); give the folder of a session that duocap recorded") from error


def _checked(part: Part) -> Part:
    """Give a part of session.toml whose values are of the kinds they should be. Raises TypeError."""
    for name, kind in get_type_hints(type(part)).items():
        value = getattr(part, name)
        plain = dict if get_origin(kind) is dict else (int, float) if kind is float else kind
        if not isinstance(value, plain) or isinstance(value, bool) or (isinstance(value, float) and not 0.0 <= value < math.inf):
            raise TypeError(f"{name} = {value!r:.40}")
    return part
