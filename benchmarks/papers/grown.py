"""Databases of any size from the CMU motions: parts of them, or with mirrored motions added, up to the paper's size."""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from config.errors import DatabaseError
from config.files import mark_used, remove_least_used
from database.build import build_database
from database.clips import Clip, slice_clip
from database.files.resample import mirror_clip
from database.store import SCHEMA, PoseDatabase, open_database, write_database
from tools.evaluate.protocol import LEAVE_OUT, N_CACHED, cmu_folder
from tools.progress import open_progress_bar

PAPER_POSES = 433_622  # Chai & Hodgins 2005, section 5
PAPER_FPS = 120.0


@dataclass(frozen=True, slots=True)
class DatabaseSubset:
    """Some clips of a database, for examples and graph; fields as in `PoseDatabase`."""

    rotvec: NDArray[np.float32]
    root_m: NDArray[np.float32]
    fps: float
    clip_start: NDArray[np.int64]


def grown_database(motion: Path) -> Path:
    """Return a database of exactly PAPER_POSES poses at 120 Hz without the protocol's queries, built once in the user's cache.

    It holds motions in their order, then their mirror images; the last is cut. Raises DatabaseError: too few motions.
    """
    folder = cmu_folder(motion)
    key = hashlib.blake2b(f"{SCHEMA} {LEAVE_OUT} {PAPER_POSES} {folder.resolve()}".encode(), digest_size=8).hexdigest()
    path = Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / f"grown-{key}.db"
    if path.is_file():
        mark_used(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="grown-", dir=path.parent) as temporary:
        plain = Path(temporary) / "plain.db"
        with open_progress_bar("motions at 120 Hz") as progress:
            build_database([folder], plain, PAPER_FPS, LEAVE_OUT, lambda done, total, _: progress(done, total))
        database = open_database(plain)
        write_database(path, _up_to(PAPER_POSES, database))
        del database  # Windows removes no file that is mapped
    remove_least_used(path.parent, "grown-*.db", N_CACHED)
    return path


def _up_to(n_poses: int, database: PoseDatabase) -> Iterator[Clip]:
    """Yield clips, then mirrored ones, until there are `n_poses` poses."""
    if 2 * database.n_poses < n_poses:
        raise DatabaseError(f"{2 * database.n_poses} poses with all motions mirrored, expected {n_poses}; unpack all CMU motions")
    left = n_poses
    for mirror in (False, True):
        for index in range(database.n_clips):
            if left == 0:
                return
            clip = database.clip(index)
            clip = slice_clip(mirror_clip(clip) if mirror else clip, 0, min(left, clip.n_frames))
            left -= clip.n_frames
            yield clip


def pick_clips(database: PoseDatabase, clips: NDArray[np.int64], n_poses: int | None = None) -> DatabaseSubset:
    """Return some clips of a database.

    Args:
        database: all clips.
        clips: their numbers, (C,).
        n_poses: poses at most, None: all of the clips; the last clip is cut.
    """
    spans, left = list[slice](), database.n_poses if n_poses is None else n_poses
    for clip in clips:
        first = int(database.clip_start[clip])
        spans.append(slice(first, min(int(database.clip_start[clip + 1]), first + left)))
        left -= spans[-1].stop - first
        if left == 0:
            break
    start = np.concatenate([[0], np.cumsum([span.stop - span.start for span in spans])]).astype(np.int64)
    rotvec, root_m = (np.concatenate([array[span] for span in spans]) for array in (database.rotvec, database.root_m))
    return DatabaseSubset(rotvec, root_m, database.fps, start)


def cut_database(database: PoseDatabase, n_poses: int) -> DatabaseSubset:
    """Return random clips with exactly `n_poses` poses in all; the last clip is cut."""
    if n_poses >= database.n_poses:
        return DatabaseSubset(database.rotvec, database.root_m, database.fps, database.clip_start)
    return pick_clips(database, np.random.default_rng(0).permutation(database.n_clips), n_poses)
