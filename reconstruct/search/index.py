"""The search index of one subject: examples, lists and graph; examples and lists are cached on disk.

The cache has one file for each pair of database and subject, named by what its content depends on: the poses (by their checksum
in the database file), bone lengths, marker joints and offsets, and how lists are built. It is memory-mapped; a damaged or foreign
file is written again.
"""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import platformdirs

from calibration.subject.subject import Subject
from config.errors import DatabaseError
from config.files import mark_used, remove_least_used
from database.container import open_container, write_container
from database.geometry.skeleton import REFERENCE
from database.graph.neighbours import Graph, find_graph
from database.store import PoseDatabase, compute_poses_checksum
from reconstruct.search.examples import CHUNK, Examples, PoseTable, build_examples, compute_examples, iterate_marker_blocks
from reconstruct.search.graph_search import PoseSearch
from reconstruct.search.kernels import Lists
from reconstruct.search.lists import build_lists, describe_lists_recipe, group_markers

logger = logging.getLogger(__name__)
VERSION: Final = 1  # of what the arrays mean and how they are computed; raised with a change of either
MAX_FILES: Final = 4  # the last used are kept
SUFFIX: Final = ".examples"
SEED: Final = 0
NAMES: Final = ("marker_m", "center_m", "start", "row", "list_marker_m")
GROUPS: Final = "group_m"  # only where lists are in groups


def find_cache_folder() -> Path:
    """Return the folder in which the examples of subjects are cached."""
    return Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / "examples"


def load_examples_and_lists(subject: Subject, table: PoseTable, folder: Path | None = None) -> tuple[Examples, Lists]:
    """Return the features of a database's poses and their lists for one subject, from the cache if possible.

    Only databases in a file are cached; a cache that cannot be written is no error.

    Args:
        subject: the performer.
        table: the known poses.
        folder: folder of the cache, by default `find_cache_folder()`.
    Raises DatabaseError: no poses.
    """
    path = None
    if isinstance(table, PoseDatabase) and table.path is not None and table.n_poses:
        path = (find_cache_folder() if folder is None else folder) / (_compute_cache_key(subject, table) + SUFFIX)
        known = _read_cache_file(path, table)
        if known is None and _write_cache_file(path, subject, table):
            known = _read_cache_file(path, table)
        if known is not None:
            return known
    examples = compute_examples(subject, table)
    return examples, build_lists(examples.marker_m, seed=SEED)


def _compute_cache_key(subject: Subject, database: PoseDatabase) -> str:
    """Return a hash of what the features depend on. Raises DatabaseError: the database file is gone."""
    assert database.path is not None
    poses = compute_poses_checksum(database.path)
    recipe = f"{VERSION} {database.rotvec.shape} {poses} {SEED} {describe_lists_recipe()}"
    digest = hashlib.blake2b(recipe.encode(), digest_size=12)
    for part in (REFERENCE, subject.skeleton.offsets_m, subject.joint, subject.offset_m):
        digest.update(np.ascontiguousarray(part, "<f8").tobytes() + b"/")
    return digest.hexdigest()


def _read_cache_file(path: Path, database: PoseDatabase) -> tuple[Examples, Lists] | None:
    """Read a file of the cache as a map; None where it is missing or damaged."""
    if not path.is_file():
        return None
    try:
        container = open_container(path)
        if container.damaged() or tuple(container.arrays) not in (NAMES, (*NAMES, GROUPS)):
            raise DatabaseError(f"{path}: damaged")
    except (DatabaseError, ValueError, KeyError) as error:
        logger.info("%s; the examples are computed again", error)
        return None
    mark_used(path)
    arrays = container.arrays
    group_m = arrays.get(GROUPS, arrays["center_m"][:0])
    lists = Lists(arrays["center_m"], arrays["start"], arrays["row"], arrays["list_marker_m"], group_m)
    return build_examples(database, arrays["marker_m"]), lists


def _write_cache_file(path: Path, subject: Subject, database: PoseDatabase) -> bool:
    """Write a file of the cache and remove the least recently used; return whether it could be written.

    What is computed goes to the file at once: it is the file that is mapped into memory, block by block.
    """
    try:
        with write_container(path) as writer:
            width = (3 * len(subject.markers),)
            writer.stream("marker_m", np.dtype(np.float32), width, iterate_marker_blocks(subject, database))
            marker_m = writer.read_back("marker_m")
            center_m, start, row, group_m = group_markers(marker_m, seed=SEED)
            writer.add("center_m", center_m)
            writer.add("start", start)
            writer.add("row", row)
            listed = (marker_m[row[first : first + CHUNK]] for first in range(0, len(row), CHUNK))
            writer.stream("list_marker_m", np.dtype(np.float32), width, listed)
            if len(group_m):
                writer.add(GROUPS, group_m)
            del marker_m, listed  # Windows does not replace a file that is still mapped
    except DatabaseError as error:
        logger.info("the examples are not cached: %s", error)
        return False
    remove_least_used(path.parent, f"*{SUFFIX}", MAX_FILES)
    return True


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """Examples, lists and the neighbour graph of one subject; graph: None where the database has none."""

    examples: Examples
    lists: Lists
    graph: Graph | None

    def search(self) -> PoseSearch:
        """Return a new search."""
        return PoseSearch(self.examples, self.graph, self.lists)


def load_search_index(subject: Subject, table: PoseTable) -> SearchIndex:
    """Return the index of a database for a subject. Raises DatabaseError: no poses, or the graph of another database."""
    examples, lists = load_examples_and_lists(subject, table)
    return SearchIndex(examples, lists, find_graph(table) if isinstance(table, PoseDatabase) else None)
