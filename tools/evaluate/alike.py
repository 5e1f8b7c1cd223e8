"""Motions of a database that are like given ones, by their content: files are renamed and cut, poses are not.

Two motions are alike where poses a quarter of a second apart have neighbours as far apart, all nearer than LIKE_DEG, for
LIKE_S. Takes of one person are farther apart: two walks of one CMU subject differ by 3 to 5 degrees at the least.
"""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from config.arrays import Floats, Singles
from config.files import mark_used, remove_least_used
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import local_from_charted
from database.graph.build import make_graph_deriver
from database.store import PoseDatabase, open_database, write_database

logger = logging.getLogger(__name__)
LIKE_DEG, LIKE_S, STEP_S = 2.0, 1.0, 0.25
SLACK_FRAMES = 2  # by which neighbours may be off their distance in time
N_CACHED = 2


def without_like(path: Path, given: Sequence[Clip], cache: Path) -> Path:
    """Return a database without the clips that are like given ones: itself, or a copy in the cache. Raises DatabaseError."""
    database = open_database(path)
    alike = {k: clip.name for clip in given for k in clips_like(database, clip)}
    if not alike:
        return path
    for k, name in sorted(alike.items()):
        logger.warning("%s is like %s and left out of the database", database.clip_names[k], name)
    key = hashlib.blake2b(f"{path.name} {path.stat().st_size} {sorted(alike)}".encode(), digest_size=8).hexdigest()
    out = cache / f"without-{key}.db"
    if out.is_file():
        mark_used(out)
        return out
    kept = [k for k in range(database.n_clips) if k not in alike]
    captured = (database.clip(k) for k in kept if not database.generated[k])
    generated = (database.clip(k) for k in kept if database.generated[k])
    cache.mkdir(parents=True, exist_ok=True)
    write_database(out, captured, generated, database.notes, derive=make_graph_deriver(None))
    remove_least_used(cache, "without-*.db", N_CACHED)
    return out


def clips_like(database: PoseDatabase, clip: Clip) -> list[int]:
    """Return the numbers of a database's captured clips that are like a clip somewhere."""
    step = max(round(STEP_S * database.fps), 1)
    asked = directions(resample_clip(clip, database.fps).rotvec[::step])
    found = []
    for k in np.flatnonzero(~database.generated):
        span = slice(int(database.clip_start[k]), int(database.clip_start[k + 1]))
        if _alike(asked, directions(database.rotvec[span]), step):
            found.append(int(k))
    return found


def directions(rotvec: Floats | Singles) -> Floats:
    """Return the rotations of all joints but the root relative to their parents, scaled so that distances are RMS angles [rad].

    (N, J, 3) [rad] -> (N, 9 (J - 1)). The Frobenius distance of two rotations by a small angle is sqrt(2) of it.
    """
    local = local_from_charted(np.asarray(rotvec, np.float64))[:, 1:].astype(np.float32)
    return np.asarray(local.reshape(len(local), -1) / np.sqrt(2.0 * local.shape[1]))


def _alike(asked: Floats, poses: Floats, step: int) -> bool:
    """Return whether successive asked poses, (Q, D), are near poses (N, D) as far apart in time for long enough."""
    near = (asked**2).sum(1)[:, None] + (poses**2).sum(1)[None] - 2.0 * asked @ poses.T < np.radians(LIKE_DEG) ** 2
    if not near.any():
        return False
    wide = near.copy()
    for shift in range(1, SLACK_FRAMES + 1):
        wide[:, shift:] |= near[:, :-shift]
        wide[:, :-shift] |= near[:, shift:]
    run = wide[0].astype(np.int64)
    longest = int(run.max())
    for row in wide[1:]:
        before = np.zeros_like(run)
        before[step:] = run[:-step] if step < len(run) else 0
        run = np.where(row, before + 1, 0)
        longest = max(longest, int(run.max()))
    return longest >= min(round(LIKE_S / STEP_S) + 1, len(asked))
