"""The leave-one-out protocol on the CMU motions: which clips are queries, and what the database must not contain."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import platformdirs

from config.errors import DatabaseError
from config.files import mark_used, remove_least_used
from database.build import build_database
from database.clips import Clip, slice_clip
from database.files.asf_amc import AMC_FPS
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from database.store import SCHEMA, PoseDatabase, open_database
from database.thinning import MARK
from tools.database.installed import find_default_database
from tools.evaluate.clip_sets import STARTS, TEST, TUNING, left_out_of_sets, person, set_of
from tools.evaluate.similar_motions import without_clips, without_like
from tools.evaluate.user_clips import C3D, is_file_name, read_given
from tools.progress import open_progress_bar

logger = logging.getLogger(__name__)
N_CACHED = 2  # databases of a kind kept in the user's cache, the last used


@dataclass(frozen=True, slots=True)
class ProtocolClip:
    """A query: file stem, behaviour, and first frame of the file that is part of it (0-based).

    Attributes:
        file: file of the user's own clip, with the skeleton of an AMC; None for a clip of the motions' folder.
        without_person: whether the database must hold no take of the clip's person.
    """

    stem: str
    behaviour: str
    start: int = 0
    file: Path | None = None
    skeleton: Path | None = None
    without_person: bool = False


# Most commands measure MAIN unless clips are named; OTHERS complete the protocol.
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
GIVEN = "given"
END_TO_END = (*MAIN, *OTHERS[:2])
# Of 14_02 frames 1 to 2800 stay in the database; the 200 before the query are left out, so that no neighbour is a fraction of a
# second away. 49_02 is the only clip with hops: 5 s on the left leg and 1 s on the right stay in; the query is 1.4 s on the
# right.
LEAVE_OUT = (
    *(clip.stem for clip in (*MAIN, *OTHERS) if clip.start == 0),
    "14_02:2801-",
    "49_02:1601-",
    *(f"{subject}_*" for subject in UNKNOWN_SUBJECTS),
)


def protocol_clip(stem: str) -> ProtocolClip:
    """Return a query by its file stem; any clip of a subject that is left out as a whole is one.

    Raises DatabaseError: the clip is no query, the protocol's database contains it.
    """
    for clip in (*MAIN, *OTHERS):
        if clip.stem == stem:
            return clip
    if stem.partition("_")[0] in UNKNOWN_SUBJECTS:
        return ProtocolClip(stem, UNKNOWN)
    if set_of(stem) is not None:
        return set_clip(stem)
    known = ", ".join(clip.stem for clip in (*MAIN, *OTHERS))
    raise DatabaseError(f"{stem} is no clip of the protocol, the database may hold it; take {known} or one of {UNKNOWN_SUBJECTS}")


def is_markers(clip: ProtocolClip) -> bool:
    """Return whether a clip is a file of markers."""
    return clip.file is not None and clip.file.suffix.lower() == C3D


def named_clip(name: str, skeleton: Path | None = None) -> ProtocolClip:
    """Return a clip by its name or its file; skeleton: skeleton of .amc files. Raises DatabaseError: a name of no clip."""
    if not is_file_name(name):
        return protocol_clip(name)
    file = Path(name)
    return ProtocolClip(file.stem, GIVEN, 0, file, skeleton if file.suffix.lower() == ".amc" else None)


def set_clip(stem: str) -> ProtocolClip:
    """Return a clip of the tuning or the test set."""
    return ProtocolClip(stem, (TUNING | TEST)[stem], STARTS.get(stem, 0), without_person=True)


def synthesis_clips() -> tuple[ProtocolClip, ...]:
    """Return all queries: the clips by behaviour, then those of the subjects that are left out as a whole."""
    return (*sorted((*MAIN, *OTHERS), key=_table_order), *(protocol_clip(stem) for stem in UNKNOWN_CLIPS))


def _table_order(clip: ProtocolClip) -> int:
    """Return the rank of a behaviour in a table: the paper's two come first."""
    order = ("boxing", "walking")
    behaviours = list(dict.fromkeys((*order, *(other.behaviour for other in (*MAIN, *OTHERS)))))
    return behaviours.index(clip.behaviour)


def cmu_folder(motion: Path | None) -> Path:
    """Return the folder of the CMU subjects in a folder of unpacked motions. Raises DatabaseError: there is none."""
    if motion is None:
        raise DatabaseError("the CMU motions are needed; give the folder that they are unpacked in by --motion")
    for folder in (motion / "cmu" / "subjects", motion / "subjects", motion):
        if any(folder.glob("*/*.asf")):
            return folder
    raise DatabaseError(f"{motion}: no CMU motions; expected cmu/subjects/NN/NN.asf and NN_TT.amc below it")


def hdm_folder(motion: Path) -> Path:
    """Return the folder of the HDM05 people in a folder of unpacked motions; it may be missing."""
    return motion / "hdm05" / "subjects"


def query_path(clip: ProtocolClip, motion: Path | None) -> Path:
    """Return the path of a query's motion file. Raises DatabaseError: no CMU motions in the folder, or no folder."""
    if clip.file is not None:
        return clip.file
    if motion is not None and clip.stem.startswith("HDM_"):
        return hdm_folder(motion) / clip.stem.split("_")[1] / f"{clip.stem}.amc"
    return cmu_folder(motion) / clip.stem.partition("_")[0] / f"{clip.stem}.amc"


def read_take(which: str | ProtocolClip, motion: Path | None) -> Clip:
    """Read a whole motion file, cleaned as the database's clips are. Raises FileFormatError, DatabaseError."""
    clip = ProtocolClip(which, "") if isinstance(which, str) else which
    if clip.file is not None:
        return read_given(clip.file, clip.skeleton)
    return clean_clip(read_clip(query_path(clip, motion)))[0]


def read_query(clip: ProtocolClip, motion: Path | None) -> Clip:
    """Read the frames of a query. Raises FileFormatError, DatabaseError."""
    whole = read_take(clip, motion)
    return slice_clip(whole, clip.start, whole.n_frames)


def build_protocol_database(motion: Path, out: Path, leave_out: Sequence[str] = LEAVE_OUT) -> None:
    """Build the database of all CMU motions but the queries; for the sets of clips of HDM05's, too. Raises DuocapError."""
    more = [hdm_folder(motion)] if leave_out is not LEAVE_OUT and hdm_folder(motion).is_dir() else []
    with open_progress_bar("database") as progress:
        sources = [cmu_folder(motion), *more]
        build_database(sources, out, leave_out=leave_out, progress=lambda done, total, _: progress(done, total))


def protocol_database(motion: Path | None, database: Path | None = None, clips: Sequence[ProtocolClip] = ()) -> Path:
    """Return the path of the database to measure with.

    Args:
        motion: folder of the CMU motions; one database is built from them and kept in the user's cache.
        database: one that is given instead; without both it is the default of all commands.
        clips: clips to be measured; for those of a set the database is that of the sets, which has no motions like those of given
            files.

    Raises DatabaseError: there are no motions, or the given database contains all queries.
    """
    of_sets = any(clip.without_person for clip in clips)
    if database is not None:
        if not clips:
            measurable_clips(open_database(database), (), MAIN)
        path = database
    elif motion is not None:
        path = _built(motion, left_out_of_sets() if of_sets else LEAVE_OUT)
    else:
        path = find_default_database(logger.warning)
    given = [read_take(clip, motion) for clip in clips if clip.file is not None]
    return without_like(path, given, _cache_folder()) if given else path


def _cache_folder() -> Path:
    """Return the user's cache folder."""
    return Path(platformdirs.user_cache_dir("duocap", appauthor=False))


def _built(motion: Path, leave_out: Sequence[str]) -> Path:
    """Return the path of the cached database of the motions without some, built if there is none. Raises DuocapError."""
    folder, of_sets = cmu_folder(motion), leave_out is not LEAVE_OUT
    files = [*folder.glob("*/*.a[ms][cf]"), *(hdm_folder(motion).glob("*/*.a[ms][cf]") if of_sets else ())]
    listing = "".join(f"{file.name if of_sets else file.relative_to(folder)} {file.stat().st_size} " for file in sorted(files))
    key = hashlib.blake2b(f"{SCHEMA} {leave_out} {listing}".encode(), digest_size=8).hexdigest()
    kind = "sets" if of_sets else "protocol"
    path = _cache_folder() / f"{kind}-{key}.db"
    if path.is_file():
        mark_used(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    build_protocol_database(motion, path, *([leave_out] if of_sets else []))
    remove_least_used(path.parent, f"{kind}-*.db", N_CACHED)
    return path


@lru_cache(maxsize=2)
def open_once(path: Path) -> PoseDatabase:
    """Open a database, once in each process that measures clips with it, beside one without some clips."""
    return open_database(path)


def open_for_clip(path: Path, clip: ProtocolClip) -> PoseDatabase:
    """Open the database to measure a clip with, without its person's takes where the clip is of a set.

    Constants chosen with other takes of the same person in the database do not hold for people whom nobody has seen
    (docs/decisions/0053), as those of the test clips are.

    Args:
        path: path of the database.
        clip: clip to be measured.
    """
    database = open_once(path)
    if not clip.without_person:
        return database
    names = [name.rpartition("/")[2] for name in database.clip_names]
    own = {k for k, name in enumerate(names) if not database.generated[k] and person(name) == person(clip.stem)}
    return open_once(without_clips(path, own, _cache_folder())) if own else database


def contains(database: PoseDatabase, clip: ProtocolClip) -> bool:
    """Return whether a database contains frames of a query, by the names and lengths of its clips."""
    if clip.file is not None:
        return False  # judged by content
    for name, n_poses in zip(database.clip_names, np.diff(database.clip_start), strict=True):
        cut, _, pose = name.partition(MARK)
        stem, _, first = cut.partition("+")
        seconds = float(first or 0) / AMC_FPS + (float(pose or 0) + n_poses) / database.fps
        if stem == clip.stem and seconds > clip.start / AMC_FPS:
            return True
    return False


def measurable_clips(
    database: PoseDatabase, asked: Sequence[ProtocolClip], default: Sequence[ProtocolClip]
) -> list[ProtocolClip]:
    """Return the clips that are asked for, or those of `default` that the database does not contain, warning of the others.

    Args:
        database: to measure with.
        asked: clips, none for those of `default`.
        default: clips that may be left out.

    Raises DatabaseError: the database contains one that is asked for, or all of `default`.
    """
    wanted = list(asked or default)
    known = [clip for clip in wanted if contains(database, clip)]
    if known and (asked or len(known) == len(wanted)):
        raise DatabaseError(
            f"{database.path}: it holds {known[0].stem}, a query of the protocol; leave it out, or let it be built from --motion"
        )
    for clip in known:
        logger.warning("%s holds %s, which is therefore not measured", database.path, clip.stem)
    return [clip for clip in wanted if clip not in known]
