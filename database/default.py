"""The database that comes with duocap: built-in motions, made at first use and kept in the user's cache."""

import getpass
import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import platformdirs

from config.errors import DatabaseError
from config.files import keep_last_used, mark_used
from database.builtin.repertoire import database_bodies, database_clips
from database.clips import Clip
from database.graph_store import graph_deriver
from database.store import SCHEMA, PoseDatabase, open_database, write_database
from database.tpose import median_skeleton, tpose_clips

logger = logging.getLogger(__name__)
FPS: Final = 60.0
KEPT: Final = 2  # of the databases made by this version and others, the last used
Progress = Callable[[int, int, str], None]  # clips done, clips in all (0: unknown), what was done last


def default_database_path() -> Path:
    """Give where the default database is kept: the user's cache folder, or a temporary one where that cannot be written to."""
    name = f"builtin-{_recipe_hash()}.db"
    cache = Path(platformdirs.user_cache_dir("duocap", appauthor=False))
    if (cache / name).is_file() or _writable(cache):
        return cache / name
    return Path(tempfile.gettempdir()) / f"duocap-{_user()}" / name


def default_database(progress: Progress | None = None) -> PoseDatabase:
    """Open the default database, built first if it is not there or damaged (some seconds).

    Processes that start at once may build it twice; each writes a file of its own that takes the name when complete, so
    none sees half of one. Raises DatabaseError: neither the cache nor the temporary folder can be written to.
    """
    path = default_database_path()
    if path.is_file():
        try:
            database = open_database(path)
        except DatabaseError as error:
            logger.warning("%s; it is made anew", error)
        else:
            mark_used(path)
            return database
    logger.info("making the database of built-in motions, once: %s", path)
    try:
        clips, note = _reported(database_clips(FPS), progress), "built-in motions, made by rule"
        write_database(path, clips, _t_poses(), [note], derive=graph_deriver())
    except DatabaseError:
        # Windows does not replace a file another process has just made and opened; that one is as good.
        if not path.is_file():
            raise
    keep_last_used(path.parent, "builtin-*.db", KEPT)
    return open_database(path)


def _t_poses() -> Iterator[Clip]:
    """Give the T-poses every database has, for the bodies of this one."""
    yield from tpose_clips(median_skeleton(database_bodies()), FPS)


def _reported(clips: Iterator[Clip], progress: Progress | None) -> Iterator[Clip]:
    """Pass clips on and tell how many there were."""
    for done, clip in enumerate(clips, start=1):
        yield clip
        if progress is not None:
            progress(done, 0, clip.name)


def _recipe_hash() -> str:
    """Give a name for what the database would hold: the code that makes it and the file's schema."""
    digest = hashlib.blake2b(f"{SCHEMA} {FPS}".encode(), digest_size=8)
    folder = Path(__file__).parent
    for path in (*sorted(folder.glob("*.py")), *sorted((folder / "builtin").glob("*.py"))):
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def _writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, made itself if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _user() -> str:
    """Name the user, so that users of one machine do not share a temporary folder."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"
