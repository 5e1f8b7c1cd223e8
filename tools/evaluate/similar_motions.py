"""Motions of a database that are like given ones, by their content: files are renamed and cut, poses are not.

A body that is fitted to markers is turned by 15 degrees and more at some joints from the body of the same take's AMC, so what is
compared are places of joints, and of these only how they move: for WINDOW_S, poses a quarter of a second apart, less the mean
place of each joint, both turned about the vertical as fits best. Places include the way through the room. For the C3D of a
boxing take and its own AMC 15 to 29 mm are left (RMS over joints and poses), 0.09 to 0.18 of how the joints move beside the hips;
for the nearest of any two other takes, walks of one person, 43 mm and 0.26. Bodies that stand still are like nothing.
"""

import hashlib
import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.arrays import Ints, Singles
from config.files import mark_used, remove_least_used
from config.joints import JOINT_INDEX
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.graph.build import make_graph_deriver
from database.store import PoseDatabase, open_database, write_database

logger = logging.getLogger(__name__)
Complexes = NDArray[np.complex64]
WINDOW_S, LEAST_S, STEP_S = 2.0, 1.0, 0.25  # length that is compared; of shorter motions, at least
LIKE_M, LIKE_SHARE = 0.025, 0.15  # largest difference, and as a share of the movement beside the hips
MOVES_M = 0.02  # least movement beside the hips of a window that is compared
HEIGHT_M = 1.75  # to which bodies are scaled
COMPARED = (
    *("hips", "upperChest", "head", "leftLowerArm", "rightLowerArm", "leftHand", "rightHand"),
    *("leftLowerLeg", "rightLowerLeg", "leftFoot", "rightFoot"),
)
JOINTS = [JOINT_INDEX[name] for name in COMPARED]  # the hips first
BLOCK = 64  # windows compared at a time
N_CACHED = 12  # copies kept in the user's cache: one a person of the tuning clips, and a few


def without_like(path: Path, given: Sequence[Clip], cache: Path) -> Path:
    """Return a database without the clips that are like given ones: itself, or a copy in the cache. Raises DatabaseError."""
    database = open_database(path)
    alike = {k: clip.name for clip in given for k in clips_like(database, clip)}
    if not alike:
        return path
    for k, name in sorted(alike.items()):
        logger.warning("%s is like %s and left out of the database", database.clip_names[k], name)
    return without_clips(path, set(alike), cache)


def without_clips(path: Path, left_out: Set[int], cache: Path) -> Path:
    """Return a copy in the cache of a database without some of its clips, by number. Raises DatabaseError.

    Args:
        path: the database.
        left_out: numbers of the clips that the copy has not.
        cache: folder of copies; of those made earlier the last used are kept.
    """
    database = open_database(path)
    key = hashlib.blake2b(f"{path.name} {path.stat().st_size} {sorted(left_out)}".encode(), digest_size=8).hexdigest()
    out = cache / f"without-{key}.db"
    if out.is_file():
        mark_used(out)
        return out
    kept = [k for k in range(database.n_clips) if k not in left_out]
    captured = (database.clip(k) for k in kept if not database.generated[k])
    generated = (database.clip(k) for k in kept if database.generated[k])
    cache.mkdir(parents=True, exist_ok=True)
    write_database(out, captured, generated, database.notes, derive=make_graph_deriver(None))
    remove_least_used(cache, "without-*.db", N_CACHED)
    return out


def clips_like(database: PoseDatabase, clip: Clip) -> list[int]:
    """Return the numbers of a database's captured clips that are like a clip somewhere."""
    step = max(round(STEP_S * database.fps), 1)
    asked = place_joints(resample_clip(clip, database.fps))[::step]
    captured = np.flatnonzero(~database.generated)
    return [int(k) for k in captured if _is_alike(asked, place_joints(database.clip(int(k))), step)]


def place_joints(clip: Clip) -> Singles:
    """Return the places of the compared joints of a body scaled to HEIGHT_M, (N, J, 3) [m], about their mean."""
    joint_m = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1][:, JOINTS]
    return np.asarray((joint_m - joint_m.mean(axis=(0, 1))) * (HEIGHT_M / clip.skeleton.height_m), np.float32)


@dataclass(frozen=True, slots=True)
class MovementWindows:
    """Windows of K poses each: mean places (W, J) of the joints, level ones as x + i z, and movement^2 about them [m^2]."""

    level_m: Complexes
    height_m: Singles
    movement2: Singles


def _make_windows(place_m: Singles, rows: Ints) -> MovementWindows:
    """Return the windows of some rows, (W, K), of places, (N, J, 3) [m]."""
    windows = place_m[rows]
    mean = windows.mean(axis=1)
    movement2 = ((windows - mean[:, None]) ** 2).sum(axis=(1, 2, 3))
    return MovementWindows(mean[..., 0] + 1j * mean[..., 2], mean[..., 1], movement2)


def _is_alike(asked_m: Singles, place_m: Singles, step: int) -> bool:
    """Return whether some window of asked poses, (Q, J, 3) [m], moves as one of poses (N, J, 3), `step` of which lie between."""
    count = min(round(WINDOW_S / STEP_S) + 1, len(asked_m), 1 + (len(place_m) - 1) // step)
    if count < min(round(LEAST_S / STEP_S) + 1, len(asked_m)) or count < 2:
        return False
    starts = np.arange(len(place_m) - (count - 1) * step)
    theirs = _make_windows(place_m, starts[:, None] + step * np.arange(count))
    blocks = range(0, len(asked_m) - count + 1, BLOCK)
    return any(_compare(asked_m[first : first + BLOCK + count - 1], place_m, theirs, count, step) for first in blocks)


def _compare(asked_m: Singles, place_m: Singles, theirs: MovementWindows, count: int, step: int) -> bool:
    """Return whether one of the windows of some asked poses is like one of theirs.

    With a, b movements about the means, level ones complex, |a - e^(i turn) b|^2 is least |a|^2 + |b|^2 - 2 |sum conj(a) b|.
    """
    n, m, number = len(asked_m) - count + 1, len(theirs.movement2), count * len(JOINTS)
    rows = np.arange(n)[:, None] + np.arange(count)
    ours = _make_windows(asked_m, rows)
    beside = _make_windows(asked_m - asked_m[:, :1], rows).movement2
    a, b = (m_[..., 0] + 1j * m_[..., 2] for m_ in (asked_m, place_m))
    level, upright = a.conj() @ b.T, asked_m[..., 1] @ place_m[..., 1].T
    turned = sum(level[k : k + n, k * step : k * step + m] for k in range(count)) - count * (
        ours.level_m.conj() @ theirs.level_m.T
    )
    risen = sum(upright[k : k + n, k * step : k * step + m] for k in range(count)) - count * (ours.height_m @ theirs.height_m.T)
    left2 = ours.movement2[:, None] + theirs.movement2 - 2.0 * (np.abs(turned) + risen)
    limit2 = np.where(beside > number * MOVES_M**2, np.minimum(number * LIKE_M**2, LIKE_SHARE**2 * beside), 0.0)
    return bool((left2 < limit2[:, None]).any())
