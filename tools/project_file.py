"""The project of a folder: `project.toml`, what is known of one set-up, so that no command has to be told it again.

A line of it is the default of every option that is declared with `InProject` (tools/commands/declaration.py); what is given on
the command line wins. `duocap start` writes it; a person may as well.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from config.errors import FileFormatError

PROJECT, FORMAT = "project.toml", 1
SESSION_FILE = "session.toml"  # what makes a folder a session; its module takes a while to import, and every command looks here
HEAD = "# What duocap knows of this folder: every command in it takes what is here where nothing else is given.\n\n"
MARK = "duocap"  # the first key, which tells it from the project.toml of another program; its value is the format


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """What a project knows; empty: not yet. Files are relative to its folder.

    Attributes:
        folder: where it lies; not in the file.
        cameras: sources in the order of the rig.
        rig, subject: the calibrations, or where they are to be written.
        markers: what is worn: a preset or a markers.toml.
        board: the pattern of the calibration.
        database: of motions; empty: the default one.
        takes: folder of the recordings.
        background: time in which the empty room is learned at the start [s]; 0: not.
        vmc: who is sent VMC beside the stream.
        formats: of `duocap export`.
    """

    folder: Path = field(default_factory=Path)
    cameras: tuple[str, ...] = ()
    rig: str = "rig.toml"
    subject: str = "subject.toml"
    markers: str = ""
    board: str = ""
    database: str = ""
    takes: str = "takes"
    background: float = 0.0
    vmc: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("bvh",)

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.folder / PROJECT

    @property
    def has_rig(self) -> bool:
        """Whether the cameras were calibrated."""
        return (self.folder / self.rig).is_file()

    @property
    def has_subject(self) -> bool:
        """Whether the performer was calibrated."""
        return (self.folder / self.subject).is_file()

    def list_takes(self) -> list[Path]:
        """Return the recordings, sessions and files, the newest first: those in `takes`, and those beside project.toml."""
        paths = {*self.folder.glob("*"), *(self.folder / self.takes).glob("*")}
        found = [path for path in paths if path.suffix == ".mcap" or (path / SESSION_FILE).is_file()]
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)

    def list_defaults(self) -> dict[str, Any]:
        """Return the values that options take, by the keys of `InProject`; what is not known yet is absent."""
        takes, whole = self.list_takes(), self.has_rig and self.has_subject
        known = {
            "cameras": list(self.cameras),
            "rig": self.rig if self.has_rig else "",
            "subject": self.subject if self.has_subject else "",
            "rig of poses": self.rig if whole else "",
            "subject of poses": self.subject if whole else "",
            "new rig": self.rig,
            "new subject": self.subject,
            "markers": self.markers,
            "board": self.board,
            "database": self.database,
            "background": self.background,
            "vmc": list(self.vmc),
            "take": str(takes[0]) if takes else "",
            "takes": [str(takes[0])] if takes else [],
            "all takes": [self.takes] if (self.folder / self.takes).is_dir() else [],
            "formats": list(self.formats),
        }
        return {key: value for key, value in known.items() if value}


def read_project_file(folder: Path) -> ProjectFile | None:
    """Return the project of a folder, None where it has none. Raises FileFormatError: it is not as it should be."""
    from config.files import read_toml

    file = folder / PROJECT
    if not file.is_file():
        return None
    table = read_toml(file, what="the project", advice="correct it, or have it written anew by duocap start")
    if MARK not in table:
        return None  # of another program
    if table.pop(MARK) != FORMAT:
        raise FileFormatError(f"{file}: is of another version of duocap; expected {MARK} = {FORMAT}; use that version")
    return replace(ProjectFile(folder), **_check_values(file, table))


def write_project_file(project: ProjectFile) -> None:
    """Write project.toml. Raises FileFormatError: it cannot be written."""
    import tomli_w

    from config.files import write_atomically

    table = {name: value for name, value in asdict(project).items() if name != "folder" and value}
    write_atomically(project.file, HEAD + tomli_w.dumps({MARK: FORMAT, **table}))


def _check_values(file: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table with their types. Raises FileFormatError: an unknown key, or a value of another type."""
    wanted = {one.name: type(getattr(ProjectFile(), one.name)) for one in fields(ProjectFile) if one.name != "folder"}
    words = {str: "a text", float: "a number of seconds", tuple: "a list of texts"}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in wanted:
            raise FileFormatError(f"{file}: unknown key {key!r}; expected {', '.join(wanted)}; correct it")
        kind = wanted[key]
        good = {
            str: isinstance(value, str),
            float: isinstance(value, int | float) and not isinstance(value, bool) and value >= 0.0,
            tuple: isinstance(value, list) and all(isinstance(one, str) for one in value),
        }[kind]
        if not good:
            raise FileFormatError(f"{file}: {key} = {value!r} was found, {words[kind]} expected; correct it")
        values[key] = kind(value)
    return values
