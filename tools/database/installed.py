"""The user's databases: in which folder they are, and which of them is the default of all commands.

They lie in `databases` in the user's data folder, or in the folder that the environment variable DUOCAP_DATABASES names.
"""

import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import platformdirs
import tomli_w

from config.errors import DatabaseError, describe_reason
from config.files import write_atomically
from config.words import format_count
from database.default import find_default_database_path, open_default_database
from database.parts import FOLDER
from database.store import PoseDatabase, Progress, open_database

FOLDER_VARIABLE: Final = "DUOCAP_DATABASES"
BUILTIN: Final = "builtin"
SUFFIX: Final = ".db"
RECORD: Final = "record.json"  # in the folder of a collection, beside its archives
LOCK: Final = ".lock"  # likewise: held by the command that works on it
ADVICE: Final = "built-in motions only, and accuracy depends on real ones: `duocap database get cmu-locomotion`, or `get --list`"


def find_databases_folder() -> Path:
    """Return the folder of the user's databases, which need not exist."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_data_dir("duocap", appauthor=False)) / "databases"


def find_databases() -> list[Path]:
    """Return the databases of the user's folder, by name."""
    return sorted(find_databases_folder().glob(f"*{SUFFIX}"))


def find_database(name: str) -> Path:
    """Return a database of the user's folder by its name, or a file. Raises DatabaseError: neither, or not a database."""
    own = find_databases_folder() / f"{name}{SUFFIX}"
    path = own if own.is_file() else Path(name).absolute()
    if not path.exists():
        known = ", ".join([BUILTIN, *(file.stem for file in find_databases())])
        raise DatabaseError(f"{name}: no such database; expected a file, or one of {known}, or get one: duocap database get")
    open_database(path)
    return path


def find_chosen_database() -> Path | None:
    """Return the database that was chosen as the default of all commands, None for the built-in one. Raises DatabaseError."""
    file = _find_choice_file()
    try:
        path = Path(tomllib.loads(file.read_text("utf-8"))["database"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatabaseError(
            f"{file}: cannot be read ({describe_reason(error)}); choose again: duocap database use NAME"
        ) from error
    if not path.is_file():
        raise DatabaseError(f"{path}: the default database is not there any more; choose another: duocap database use {BUILTIN}")
    return path


def choose_database(path: Path | None) -> None:
    """Make a database the default of all commands, None: the built-in one. Raises DatabaseError."""
    file = _find_choice_file()
    try:
        if path is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
            f"{file}: cannot be changed ({describe_reason(error)}); name another folder in {FOLDER_VARIABLE}"
        ) from error
    write_atomically(file, tomli_w.dumps({"database": str(path.absolute())}))


def is_chosen(path: Path) -> bool:
    """Return whether a file is the default of all commands; a choice that cannot be read is none."""
    try:
        return find_chosen_database() == path.absolute()
    except DatabaseError:
        return False


def find_default_database(tell: Callable[[str], None] | None = None, progress: Progress | None = None) -> Path:
    """Return the file of the default database; the built-in one is made if it is missing, and its gaps are reported.

    Raises DatabaseError: the chosen one is gone, or the built-in one cannot be made.
    """
    chosen = find_chosen_database()
    if chosen is not None:
        return chosen
    if tell is not None:
        tell(ADVICE)
    open_default_database(progress)
    return find_default_database_path()


def open_default(tell: Callable[[str], None] | None = None) -> PoseDatabase:
    """Open the default database. Raises DatabaseError, as `find_default_database`."""
    return open_database(find_default_database(tell))


def remove_database(name: str) -> list[str]:
    """Remove a database of the user's folder and the archives it was made of; return lines that say what was removed.

    The checksums of the archives stay, so that a later download that differs is noticed. Raises DatabaseError: there is none.
    """
    path, folder = find_databases_folder() / f"{name}{SUFFIX}", find_databases_folder() / name
    archives = [entry for entry in folder.iterdir() if entry.name not in (RECORD, LOCK)] if folder.is_dir() else []
    parts = path.with_suffix(FOLDER)
    if Path(name).name != name or not (path.is_file() or archives):
        known = ", ".join(file.stem for file in find_databases()) or "none"
        raise DatabaseError(f"{name}: no such database; there are: {known} (in {find_databases_folder()})")
    was_chosen, lines = is_chosen(path), []
    try:
        if was_chosen:
            choose_database(None)
        if path.is_file():
            own = [path, *parts.glob("*.db")]
            lines.append(f"removed {path} ({sum(file.stat().st_size for file in own) / 1e6:.1f} MB)")
            path.unlink()
        if parts.is_dir():
            shutil.rmtree(parts)
        n_bytes = 0
        for entry in archives:
            n_bytes += entry.stat().st_size
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if archives:
            lines.append(f"removed {format_count(len(archives), 'file')} it was made of ({n_bytes / 1e6:.1f} MB, {folder})")
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be removed ({describe_reason(error)}); is a run using it?") from error
    return [*lines, "the built-in motions are the default again"] if was_chosen else lines


def _find_choice_file() -> Path:
    """Return the file that names the default."""
    return find_databases_folder() / "default.toml"
