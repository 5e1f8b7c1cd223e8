"""All CMU and HDM05 motions with their mirror images, more than the paper's database, and parts of such a database."""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from config.files import mark_used, remove_least_used
from database.build import build_database
from database.files.resample import mirror_clip
from database.store import SCHEMA, PoseDatabase, open_database, write_database
from tools.evaluate.protocol import LEAVE_OUT, N_CACHED, cmu_folder, hdm_folder
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
    """Return a database of all motions at 120 Hz and then their mirror images, built once in the user's cache.

    It lacks the protocol's queries. Raises DatabaseError: there are no motions.
    """
    folders = [folder for folder in (cmu_folder(motion), hdm_folder(motion)) if folder.is_dir()]
    key = hashlib.blake2b(f"{SCHEMA} {LEAVE_OUT} {[str(f.resolve()) for f in folders]}".encode(), digest_size=8).hexdigest()
    path = Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / f"grown-{key}.db"
    if path.is_file():
        mark_used(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="grown-", dir=path.parent) as temporary:
        plain = Path(temporary) / "plain.db"
        with open_progress_bar("motions at 120 Hz") as progress:
            build_database(folders, plain, PAPER_FPS, LEAVE_OUT, lambda done, total, _: progress(done, total), graph=False)
        database = open_database(plain)
        clips = range(database.n_clips)
        write_database(path, (f(database.clip(index)) for f in (lambda clip: clip, mirror_clip) for index in clips))
        del database  # Windows removes no file that is mapped
    remove_least_used(path.parent, "grown-*.db", N_CACHED)
    return path


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


def cut_database(database: PoseDatabase, n_poses: int, seed: int = 0) -> DatabaseSubset:
    """Return random clips with exactly `n_poses` poses in all; the last clip is cut.

    Args:
        database: all clips.
        n_poses: poses; all clips where there are no more.
        seed: of the draw.
    """
    if n_poses >= database.n_poses:
        return DatabaseSubset(database.rotvec, database.root_m, database.fps, database.clip_start)
    return pick_clips(database, np.random.default_rng(seed).permutation(database.n_clips), n_poses)
