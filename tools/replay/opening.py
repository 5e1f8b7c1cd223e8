"""Open a recorded session with what it ran with: settings, rig, subject, database, and the style it began with."""

from dataclasses import dataclass, replace
from pathlib import Path

from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.subject.subject import Subject, read_subject
from config.errors import DuocapError
from config.loading import load_settings
from config.settings import Settings
from database.default import find_default_database_path
from database.store import PoseDatabase, open_database
from stream.recording.session import RIG, SETTINGS, STYLE, SUBJECT, SessionInfo, read_session
from tools.arguments import open_database_or_default
from tools.run.record import identify_database


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that is opened: its description, its files and settings, its takes.

    Attributes:
        database: the very one it ran with.
        style: file of the style it began with, if any.
    """

    folder: Path
    info: SessionInfo
    settings: Settings
    rig: Rig
    subject: Subject
    database: PoseDatabase
    style: Path | None = None


def open_session(
    folder: Path,
    own: Settings,
    database: Path | None = None,
    rig: Path | None = None,
    subject: Path | None = None,
    style: Path | None = None,
) -> OpenedSession:
    """Open a session with its own files and settings.

    Args:
        folder: folder of the session.
        own: the settings of this call; values given in them replace the session's.
        database: present place of the database, if it was moved.
        rig, subject, style: files in place of the session's own, or for a session that was recorded without.
    Raises: RecordingError: no session; DuocapError: another database, rig or subject missing.
    """
    info = read_session(folder)
    rig, subject = (_find_session_file(folder, given, name) for given, name in ((rig, RIG), (subject, SUBJECT)))
    return OpenedSession(
        folder,
        info,
        merge_session_settings(load_settings(folder / SETTINGS), own),
        read_rig(rig, n_views=len(info.cameras)),
        read_subject(subject),
        _open_session_database(info, database),
        style or (folder / STYLE if (folder / STYLE).exists() else None),
    )


def merge_session_settings(session: Settings, own: Settings) -> Settings:
    """Return a session's settings with those of this call that were given; where to stream and view is this call's own."""
    for key in own.given:
        section, _, name = key.partition(".")
        if name and hasattr(getattr(own, section, None), name):
            part = replace(getattr(session, section), **{name: getattr(getattr(own, section), name)})
            session = replace(session, **{section: part})
    predict_ms = own.stream.predict_ms if "stream.predict_ms" in own.given else session.stream.predict_ms
    return replace(session, stream=replace(own.stream, predict_ms=predict_ms), viewer=own.viewer, given=own.given)


def _find_session_file(folder: Path, given: Path | None, name: str) -> Path:
    """Return the file that was named, or the session's own. Raises DuocapError: neither is there."""
    if given is None and not (folder / name).exists():
        option = "--" + name.removesuffix(".toml")
        raise DuocapError(f"{folder}: was recorded without {name}; give one with {option} FILE")
    return given or folder / name


def _open_session_database(info: SessionInfo, given: Path | None) -> PoseDatabase:
    """Open the database of a session: the one that is named, the file it ran with, or the built-in one, if it is the same."""
    if info.database is None:
        return open_database_or_default(given)
    wanted = (info.database.poses, info.database.checksum)
    places = [given] if given is not None else [Path(info.database.file), find_default_database_path()]
    for place in places:
        if place.exists():
            mark = identify_database(place)
            if (mark.poses, mark.checksum) == wanted:
                return open_database(place)
    raise DuocapError(
        f"{places[0]}: is not the database the session ran with ({wanted[0]} poses, checksum {wanted[1]}), and another gives "
        "other poses; name the right one with --database FILE"
    )
