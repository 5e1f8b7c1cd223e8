"""The folder of a recorded session: its files, and session.toml, which describes them.

session.toml     what ran, when, with which cameras and database; written at the start, completed at the end
settings.toml    every setting as it was      rig.toml, subject.toml    as the run used them
left.mkv, left.csv, right.mkv, third.mkv...    pictures and their time stamps; left.2.mkv and so on after a restart of the camera
begin.style      the style that the run began with, if it was given one
take.mcap        what was published and what it was computed from; take.2.mcap after a restart of the reconstruction
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import tomli_w

from capture.process.control import Details
from capture.recording.session import SESSION
from config.errors import describe_reason
from config.files import write_atomically
from config.settings import CAMERA_NAMES
from stream.protocol.report import list_versions
from stream.recording.recorder import RecordingError

FORMAT = 1
JOURNAL = 2  # 1: pairs of two cameras, and one camera alone by the time of the clock
SETTINGS, RIG, SUBJECT, STYLE = "settings.toml", "rig.toml", "subject.toml", "begin.style"
DETECTIONS = "detections.mcap"  # of a session without poses


@dataclass(frozen=True, slots=True)
class SessionCamera:
    """One camera in session.toml.

    Attributes:
        source: source as the user named it.
        name: name of the device, empty if it has none.
        stamp: kind of its time stamps.
        details: details of the device's settings.
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
    """The database of the run. checksum: of its poses."""

    file: str
    poses: int
    checksum: int


Table = TypeVar("Table", SessionCamera, SessionDatabase)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The content of session.toml.

    Attributes:
        session: name of the run in its messages.
        when: wall-clock time with its zone when the stamps' clock was at when_ns.
        subject: name, empty without one.
        markers: names.
        budget_ns: largest skew of a pair at the start.
        end: figures of a session that ended normally, empty otherwise.
        journal: the version of how poses follow from the journal.
    """

    session: str
    when: str
    when_ns: int
    cameras: tuple[SessionCamera, ...]
    subject: str = ""
    markers: tuple[str, ...] = ()
    budget_ns: int = 0
    database: SessionDatabase | None = None
    journal: int = JOURNAL
    end: Mapping[str, int | float | str] = field(default_factory=dict)


def write_session(folder: Path, info: SessionInfo) -> None:
    """Write session.toml atomically. Raises FileFormatError."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "duocap": list_versions()["duocap"],
        "versions": list_versions(),
        **asdict(info),
        "cameras": {side: asdict(camera) for side, camera in zip(CAMERA_NAMES, info.cameras, strict=False)},
    }
    known = {key: value for key, value in document.items() if value or key not in ("database", "end")}
    write_atomically(folder / SESSION, tomli_w.dumps(known))


def read_session(folder: Path) -> SessionInfo:
    """Read session.toml. Raises RecordingError: missing, damaged, or of another version."""
    file = folder / SESSION
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = describe_reason(error) if isinstance(error, OSError | UnicodeDecodeError) else str(error)
        raise RecordingError(f"{file}: cannot be read ({why}); give the folder of a session that duocap recorded") from error
    if document.get("format") != FORMAT:
        raise RecordingError(
            f"{file}: format {str(document.get('format'))[:20]} of another duocap, this one reads {FORMAT}; update duocap"
        )
    try:
        names = CAMERA_NAMES[: len(document["cameras"])]
        cameras = tuple(_check_session_table(SessionCamera(**document["cameras"][name])) for name in names)
        database = _check_session_table(SessionDatabase(**document["database"])) if "database" in document else None
        return SessionInfo(
            session=str(document["session"]),
            when=str(document["when"]),
            when_ns=int(document["when_ns"]),
            cameras=cameras,
            subject=str(document["subject"]),
            markers=tuple(str(name) for name in document["markers"]),
            budget_ns=int(document["budget_ns"]),
            database=database,
            journal=int(document.get("journal", 1)),
            end=dict(document.get("end", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{file}: is damaged ({error!r}); give the folder of a session that duocap recorded") from error


def _check_session_table(table: Table) -> Table:
    """Return a table of session.toml if its values have the declared types. Raises TypeError."""
    for name, kind in get_type_hints(type(table)).items():
        value = getattr(table, name)
        plain = dict if get_origin(kind) is dict else (int, float) if kind is float else kind
        if not isinstance(value, plain) or isinstance(value, bool) or (isinstance(value, float) and not 0.0 <= value < math.inf):
            raise TypeError(f"{name} = {value!r:.40}")
    return table
