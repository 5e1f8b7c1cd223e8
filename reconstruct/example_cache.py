"""Examples and lists kept in the user's cache, so that a subject's second start is quicker than the first.

One file a pair of database and subject, named by what its content depends on: the poses (by their checksum in the database file),
bone lengths, marker joints and offsets, and how lists are made. It is mapped, not read; a damaged or foreign one is made anew.
"""

import hashlib
import logging
from pathlib import Path
from typing import Any, Final

import numpy as np
import platformdirs
from numpy.typing import NDArray

from calibration.subject import Subject
from config.errors import DatabaseError
from config.files import keep_last_used, mark_used
from database.container import ContainerWriter, open_container
from database.skeleton import REFERENCE
from database.store import PoseDatabase
from reconstruct.examples import Examples, PoseTable, examples_for, examples_from
from reconstruct.lists import ITERATIONS, LISTS_PER_ROOT, SAMPLES_PER_LIST, Lists, build_lists

logger = logging.getLogger(__name__)
VERSION: Final = 1  # of what the arrays mean and how they are computed; raised with a change of either
KEPT: Final = 4  # files, the last used
SUFFIX: Final = ".examples"
SEED: Final = 0
NAMES: Final = ("marker_m", "center_m", "start", "row", "list_marker_m")


def cache_folder() -> Path:
    """Give where the files are kept."""
    return Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / "examples"


def examples_and_lists(subject: Subject, table: PoseTable, folder: Path | None = None) -> tuple[Examples, Lists]:
    """Give the features of a database's poses and their lists for one subject, from the cache where they are in it.

    folder: of the cache, by default `cache_folder()`. A table that lies in no file is not cached. A cache that cannot be written
    to costs time only. Raises DatabaseError: no poses.
    """
    path = None
    if isinstance(table, PoseDatabase) and table.path is not None and table.n_poses:
        path = (cache_folder() if folder is None else folder) / (_key(subject, table) + SUFFIX)
        known = _read(path, table)
        if known is not None:
            return known
    examples = examples_for(subject, table)
    lists = build_lists(examples.marker_m, seed=SEED)
    if path is not None:
        _write(path, examples, lists)
    return examples, lists


def _key(subject: Subject, database: PoseDatabase) -> str:
    """Give a name for what the features depend on. Raises DatabaseError: the database file is gone."""
    assert database.path is not None
    poses = open_container(database.path).checksums["rotvec"]
    recipe = f"{VERSION} {database.rotvec.shape} {poses} {SEED} {LISTS_PER_ROOT} {SAMPLES_PER_LIST} {ITERATIONS}"
    digest = hashlib.blake2b(recipe.encode(), digest_size=12)
    for part in (REFERENCE, subject.skeleton.offsets_m, subject.joint, subject.offset_m):
        digest.update(np.ascontiguousarray(part, "<f8").tobytes() + b"/")
    return digest.hexdigest()


def _read(path: Path, database: PoseDatabase) -> tuple[Examples, Lists] | None:
    """Map a file of the cache; None where it is not there or not whole."""
    if not path.is_file():
        return None
    try:
        container = open_container(path)
        if container.damaged() or tuple(container.arrays) != NAMES:
            raise DatabaseError(f"{path}: damaged")
    except (DatabaseError, ValueError, KeyError) as error:
        logger.info("%s; the examples are computed anew", error)
        return None
    mark_used(path)
    arrays = container.arrays
    lists = Lists(arrays["center_m"], arrays["start"], arrays["row"], arrays["list_marker_m"])
    return examples_from(database, arrays["marker_m"]), lists


def _write(path: Path, examples: Examples, lists: Lists) -> None:
    """Keep a pair and remove what was not used for longest."""
    try:
        with ContainerWriter(path) as writer:
            arrays: tuple[NDArray[Any], ...] = (examples.marker_m, *lists.arrays)
            for name, array in zip(NAMES, arrays, strict=True):
                writer.add(name, array)
    except DatabaseError as error:
        logger.info("the examples are not kept: %s", error)
        return
    keep_last_used(path.parent, f"*{SUFFIX}", KEPT)
