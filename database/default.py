"""The default database: built-in motions, made at first use and kept in the user's cache."""

import getpass
import hashlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import platformdirs

from config.errors import DatabaseError
from config.files import mark_used, remove_least_used
from database.builtin.catalog import make_database_bodies, make_database_clips
from database.clips import Clip
from database.graph.build import make_graph_deriver
from database.store import SCHEMA, PoseDatabase, Progress, open_database, write_database
from database.tpose import compute_median_skeleton, make_tpose_clips

logger = logging.getLogger(__name__)
FPS: Final = 60.0
MAX_KEPT: Final = 2  # databases of this version and others, the last used ones


def find_default_database_path() -> Path:
    """Return the file of the default database, in the user's cache folder, or in a temporary one if that cannot be written to."""
    name = f"builtin-{_compute_recipe_hash()}.db"
    cache = Path(platformdirs.user_cache_dir("duocap", appauthor=False))
    if (cache / name).is_file() or _is_writable(cache):
        return cache / name
    return Path(tempfile.gettempdir()) / f"duocap-{_find_user_name()}" / name


def open_default_database(progress: Progress | None = None) -> PoseDatabase:
    """Open the default database, built first if it is missing or damaged (some seconds).

    progress: called with clips done, 0 and the clip's name. Processes that start at once may each build it; a file takes its name
    when it is complete. Raises DatabaseError: neither the cache nor the temporary folder can be written to.
    """
    path = find_default_database_path()
    if path.is_file():
        try:
            database = open_database(path)
        except DatabaseError as error:
            logger.warning("%s; it is made again", error)
        else:
            mark_used(path)
            return database
    logger.info("making the database of built-in motions, once: %s", path)
    try:
        clips, t_poses = (
            _report_clips(make_database_clips(FPS), progress),
            make_tpose_clips(compute_median_skeleton(make_database_bodies()), FPS),
        )
        write_database(path, clips, t_poses, ["built-in motions, made by rule"], derive=make_graph_deriver())
    except DatabaseError:
        # Windows does not replace a file that another process has just made and opened, which will do as well.
        if not path.is_file():
            raise
    remove_least_used(path.parent, "builtin-*.db", MAX_KEPT)
    return open_database(path)


def _report_clips(clips: Iterator[Clip], progress: Progress | None) -> Iterator[Clip]:
    """Return clips one by one and report each."""
    for done, clip in enumerate(clips, start=1):
        yield clip
        if progress is not None:
            progress(done, 0, clip.name)


def _compute_recipe_hash() -> str:
    """Return a digest of what determines the database: the code that makes it, and the schema of the file."""
    digest = hashlib.blake2b(f"{SCHEMA} {FPS}".encode(), digest_size=8)
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def _is_writable(folder: Path) -> bool:
    """Return whether files can be made in a folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _find_user_name() -> str:
    """Return the user's name: users of one machine do not share a temporary folder."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "user"
