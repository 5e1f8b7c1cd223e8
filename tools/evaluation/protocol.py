"""The leave-one-out protocol on the CMU motions: which clips are asked for, and what the database must not hold."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs

from config.errors import DatabaseError
from config.files import keep_last_used, mark_used
from database.asf_amc import DEFAULT_FPS
from database.build import build_database
from database.cleaning import clean
from database.clips import Clip, clip_slice
from database.read import read_clip
from database.store import SCHEMA, PoseDatabase, open_database
from tools.progress import progress_bar

logger = logging.getLogger(__name__)
KEPT = 2  # databases of a kind in the cache, the last used


@dataclass(frozen=True, slots=True)
class ProtocolClip:
    """A query: file stem, behaviour, first source frame asked for (0-based; the frames before stay in or are of no use)."""

    stem: str
    behaviour: str
    start: int = 0


# The clips measured unless others are named, then the rest of the protocol.
MAIN = (
    ProtocolClip("07_08", "walking"),
    ProtocolClip("16_15", "walking"),
    ProtocolClip("35_14", "walking"),
    ProtocolClip("09_09", "running"),
    ProtocolClip("16_45", "running"),
    ProtocolClip("14_02", "boxing", 3000),
    ProtocolClip("09_12", "transitions"),
)
OTHERS = (
    ProtocolClip("16_05", "jumping"),
    ProtocolClip("49_02", "hopping", 1700),
    ProtocolClip("02_05", "boxing"),
    ProtocolClip("05_18", "dancing"),
    ProtocolClip("06_10", "basketball"),
    ProtocolClip("01_08", "climbing"),
    ProtocolClip("02_08", "sword"),
    ProtocolClip("135_02", "martial arts"),
)
UNKNOWN_SUBJECTS = ("32", "38", "43")
UNKNOWN_CLIPS = ("32_01", "32_02", "38_01", "38_02", "43_01")
UNKNOWN = "unseen subjects"
END_TO_END = (*MAIN, *OTHERS[:2])
# Of 14_02 frames 1 to 2800 stay in; the 200 before the query are a gap, so that no neighbour is a moment away. 49_02 is the only
# clip with hops: 5 s of them on the left leg and 1 s on the right stay in, 1.4 s more on the right are asked for.
LEAVE_OUT = (
    *(clip.stem for clip in (*MAIN, *OTHERS) if clip.start == 0),
    "14_02:2801-",
    "49_02:1601-",
    *(f"{subject}_*" for subject in UNKNOWN_SUBJECTS),
)


def protocol_clip(stem: str) -> ProtocolClip:
    """Give a query by its stem; any clip of a subject left out as a whole is one too.

    Raises DatabaseError: the database would hold the clip.
    """
    for clip in (*MAIN, *OTHERS):
        if clip.stem == stem:
            return clip
    if stem.partition("_")[0] in UNKNOWN_SUBJECTS:
        return ProtocolClip(stem, UNKNOWN)
    known = ", ".join(clip.stem for clip in (*MAIN, *OTHERS))
    raise DatabaseError(f"{stem} is no clip of the protocol, the database may hold it; take {known} or one of {UNKNOWN_SUBJECTS}")


def synthesis_clips() -> tuple[ProtocolClip, ...]:
    """Give all queries: the clips by behaviour, then the subjects that the database does not hold at all."""
    return (*sorted((*MAIN, *OTHERS), key=_place), *(protocol_clip(stem) for stem in UNKNOWN_CLIPS))


def _place(clip: ProtocolClip) -> int:
    """Give where a behaviour comes in a table: the paper's two first."""
    order = ("boxing", "walking")
    behaviours = list(dict.fromkeys((*order, *(other.behaviour for other in (*MAIN, *OTHERS)))))
    return behaviours.index(clip.behaviour)


def cmu_folder(motion: Path) -> Path:
    """Give the folder of the CMU subjects below an unpacked motion folder. Raises DatabaseError: none."""
    for folder in (motion / "cmu" / "subjects", motion / "subjects", motion):
        if any(folder.glob("*/*.asf")):
            return folder
    raise DatabaseError(f"{motion}: no CMU motions; expected cmu/subjects/NN/NN.asf and NN_TT.amc below it")


def query_file(clip: ProtocolClip, motion: Path) -> Path:
    """Give where a query is to be found. Raises DatabaseError: no CMU motions there."""
    return cmu_folder(motion) / clip.stem.partition("_")[0] / f"{clip.stem}.amc"


def query(clip: ProtocolClip, motion: Path) -> Clip:
    """Read a query, mended as the database's clips are, cut to the frames asked for. Raises FileFormatError, DatabaseError."""
    whole, _ = clean(read_clip(query_file(clip, motion), fps=DEFAULT_FPS))
    return clip_slice(whole, clip.start, whole.n_frames)


def build_protocol_database(motion: Path, out: Path) -> None:
    """Build the database of all CMU motions but the protocol's queries. Raises DuocapError."""
    with progress_bar("database") as progress:
        build_database([cmu_folder(motion)], out, leave_out=LEAVE_OUT, progress=lambda done, total, _: progress(done, total))


def protocol_database(motion: Path, database: Path | None = None) -> Path:
    """Give the database to measure with: the one named, or one built from the motions and kept in the user's cache.

    Raises DatabaseError: none to be had, or it holds a query.
    """
    if database is not None:
        askable(open_database(database), (), MAIN)
        return database
    folder = cmu_folder(motion)
    listing = "".join(f"{file.relative_to(folder)} {file.stat().st_size} " for file in sorted(folder.glob("*/*.a[ms][cf]")))
    key = hashlib.blake2b(f"{SCHEMA} {LEAVE_OUT} {listing}".encode(), digest_size=8).hexdigest()
    path = Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / f"protocol-{key}.db"
    if path.is_file():
        mark_used(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    build_protocol_database(motion, path)
    keep_last_used(path.parent, "protocol-*.db", KEPT)
    return path


def holds(database: PoseDatabase, clip: ProtocolClip) -> bool:
    """Tell whether a database holds frames of a query, by the names and lengths of its clips."""
    for name, n_poses in zip(database.clip_names, np.diff(database.clip_start), strict=True):
        stem, _, first = name.partition("+")
        if stem == clip.stem and float(first or 0) / DEFAULT_FPS + n_poses / database.fps > clip.start / DEFAULT_FPS:
            return True
    return False


def askable(database: PoseDatabase, stems: Sequence[str], default: Sequence[ProtocolClip]) -> list[ProtocolClip]:
    """Give the clips named, or those of `default` that the database does not hold, with a warning for the others.

    Raises DatabaseError: a clip is none of the protocol's; the database holds one that is named, or all, and knows the answers.
    """
    wanted = [protocol_clip(stem) for stem in stems] or list(default)
    held = [clip for clip in wanted if holds(database, clip)]
    if held and (stems or len(held) == len(wanted)):
        raise DatabaseError(
            f"{database.path}: it holds {held[0].stem}, a query of the protocol; leave it out, or let it be built from --motion"
        )
    for clip in held:
        logger.warning("%s holds %s, which is therefore not measured", database.path, clip.stem)
    return [clip for clip in wanted if clip not in held]
