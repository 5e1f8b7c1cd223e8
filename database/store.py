"""The pose database: all clips' poses end to end, in one memory-mapped file, or in several that are used as one.

A database of several files is a file without arrays that names them, its parts, each a database by itself. It may say that its
poses are to be searched in their mirror images, too; these are computed where they are needed and stored nowhere.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from config.arrays import Bools, Ints, Singles
from config.errors import DatabaseError
from config.joints import JOINTS, N_JOINTS
from database.clips import Clip
from database.container import Array, open_container, write_container
from database.geometry.skeleton import REFERENCE, Skeleton

SCHEMA = 1  # of the arrays; raised when a joint, the rest pose or the charts change
SCHEMA_OF_PARTS = 2  # of a file that names its parts
Progress = Callable[[int, int, str], None]  # done, in all (0: unknown), name of what was done last
Groups = Iterable[tuple[bool, Iterable[Clip]]]  # whether the clips were generated, and the clips
# From rotvec (N, J, 3), clip_start (C + 1,) and frames a second to more named arrays.
Derive = Callable[[Singles, Ints, float], Mapping[str, Array]]
OWN_ARRAYS = ("rotvec", "root_m", "clip_start", "clip_skeleton", "generated", "skeleton_offsets_m", "skeleton_tails_m")


@dataclass(frozen=True, slots=True)
class PoseDatabase:
    """Poses q_n of all clips, read-only; memory-mapped, but for those of several files, which are copied into one array.

    fps: of all clips; rotvec: charted rotation vectors, row 0 the root's orientation, (N, J, 3) [rad]; root_m: positions of the
    hips, (N, 3) [m]; clip_start: first pose of each clip and N, (C + 1,); clip_names: C; clip_skeleton: index into `skeletons`,
    (C,); generated: clips made by rule rather than captured, (C,); notes: what was done while building; extra: further arrays by
    name, such as the neighbour graph; parts: its files, where there are several; mirrored: whether it is searched as if it held
    the mirror image of every pose, too.
    """

    path: Path | None
    fps: float
    rotvec: Singles
    root_m: Singles
    clip_start: Ints
    clip_names: tuple[str, ...]
    clip_skeleton: Ints
    skeletons: tuple[Skeleton, ...]
    generated: Bools
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Array] = field(default_factory=lambda: MappingProxyType({}))
    parts: tuple["PoseDatabase", ...] = ()
    mirrored: bool = False

    @property
    def n_poses(self) -> int:
        """Number of poses N."""
        return len(self.root_m)

    @property
    def n_clips(self) -> int:
        """Number of clips C."""
        return len(self.clip_names)

    def clip(self, index: int) -> Clip:
        """Return a copy of one clip."""
        span = slice(int(self.clip_start[index]), int(self.clip_start[index + 1]))
        skeleton = self.skeletons[int(self.clip_skeleton[index])]
        rotvec, root_m = self.rotvec[span].astype(np.float64), self.root_m[span].astype(np.float64)
        return Clip(self.clip_names[index], skeleton, self.fps, rotvec, root_m)


def write_database(
    path: str | Path,
    clips: Iterable[Clip],
    generated: Iterable[Clip] = (),
    notes: Iterable[str] = (),
    derive: Derive | None = None,
    more: Callable[[], Mapping[str, Any]] = dict,
) -> None:
    """Write clips, all at one rate, to a database.

    Clips are consumed one by one, so a generator keeps memory small. Equal skeletons are stored once.

    Args:
        path: the file to write.
        clips: the clips, one by one.
        generated: clips that were made by rule; consumed after the last clip.
        notes: what was done, for the user; consumed after the last clip.
        derive: computes more arrays from all poses.
        more: returns plain values to be kept with the file (`read_fields`); called after the last clip.
    Raises: DatabaseError: no clips, mixed rates, NaN, or the file cannot be written; an old file is then unchanged.
    """
    _write_clips(Path(path), ((False, clips), (True, generated)), notes, derive, more)


def append_clips(path: str | Path, clips: Iterable[Clip], notes: Iterable[str] = (), derive: Derive | None = None) -> None:
    """Add clips at the end of a database, atomically; on Windows nothing may have it open meanwhile.

    Further arrays are removed, since they belong to the old poses.

    Args:
        path: the database.
        clips: the clips, one by one.
        notes: what was done, for the user.
        derive: computes more arrays from all poses.
    Raises: DatabaseError: as `open_database` and `write_database`; the file is then unchanged.
    """
    if is_of_parts(path):
        raise DatabaseError(f"{path}: is a database of several files; add another file to it instead of growing one")
    before = open_database(path).notes

    def all_notes() -> Iterator[str]:
        yield from before
        yield from notes

    _write_clips(Path(path), _chain_clips(Path(path), clips), all_notes(), derive)


def _chain_clips(path: Path, clips: Iterable[Clip]) -> Iterator[tuple[bool, Iterable[Clip]]]:
    """Return the clips of a database one by one, then the new ones."""
    old = open_database(path)
    for k in range(old.n_clips):
        yield bool(old.generated[k]), [old.clip(k)]
    # Windows does not replace a file that is still mapped.
    del old
    yield False, clips


def _write_clips(
    file: Path,
    groups: Groups,
    notes: Iterable[str],
    derive: Derive | None,
    more: Callable[[], Mapping[str, Any]] = dict,
) -> None:
    """Write a database; see `write_database`."""
    with write_container(file) as writer:
        index = _ClipIndex()
        writer.stream("rotvec", np.dtype(np.float32), (N_JOINTS, 3), _yield_pose_blocks(file, index, groups))
        if index.n_poses == 0:
            raise DatabaseError(f"{file}: no poses to store; expected at least one clip, check the sources and what is left out")
        for name, array in index.arrays().items():
            writer.add(name, array)
        if derive is not None:
            derived = derive(writer.read_back("rotvec"), np.array(index.starts, np.int64), index.fps)
            for name, array in derived.items():
                writer.add(name, array)
            del derived
        writer.fields = {"schema": SCHEMA, "joints": JOINTS, "reference": REFERENCE.round(9).tolist(), "fps": index.fps}
        writer.fields |= {"clip_names": index.names, "skeleton_names": [s.name for s in index.skeletons], "notes": list(notes)}
        writer.fields |= more()


class _ClipIndex:
    """Everything about the clips but their rotations, which are streamed to the file."""

    def __init__(self) -> None:
        self.fps = 0.0
        self.names: list[str] = []
        self.starts: list[int] = [0]
        self.root_m: list[Singles] = []
        self.clip_skeleton: list[int] = []
        self.generated: list[bool] = []
        self.skeletons: list[Skeleton] = []
        self._known: dict[bytes, int] = {}

    @property
    def n_poses(self) -> int:
        return self.starts[-1]

    def add(self, clip: Clip, generated: bool) -> None:
        """Add one clip."""
        key = clip.skeleton.offsets_m.round(6).tobytes() + clip.skeleton.tails_m.round(6).tobytes()
        if key not in self._known:
            self._known[key] = len(self.skeletons)
            self.skeletons.append(clip.skeleton)
        self.fps = clip.fps
        self.names.append(clip.name)
        self.starts.append(self.starts[-1] + clip.n_frames)
        self.root_m.append(clip.root_m.astype(np.float32))
        self.clip_skeleton.append(self._known[key])
        self.generated.append(generated)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays but the rotations."""
        return {
            "root_m": np.concatenate(self.root_m),
            "clip_start": np.array(self.starts, np.int64),
            "clip_skeleton": np.array(self.clip_skeleton, np.int64),
            "generated": np.array(self.generated, np.uint8),
            "skeleton_offsets_m": np.array([s.offsets_m for s in self.skeletons]),
            "skeleton_tails_m": np.array([s.tails_m for s in self.skeletons]),
        }


def _yield_pose_blocks(file: Path, index: _ClipIndex, groups: Groups) -> Iterator[Singles]:
    """Return the rotations of one clip after the other and add the rest to `index`."""
    for generated, clips in groups:
        for clip in clips:
            if clip.n_frames == 0:
                continue
            if index.n_poses and clip.fps != index.fps:
                raise DatabaseError(f"{file}: clip {clip.name} is at {clip.fps:g} Hz, expected {index.fps:g}; resample it")
            if not (np.isfinite(clip.rotvec).all() and np.isfinite(clip.root_m).all()):
                raise DatabaseError(f"{file}: clip {clip.name} holds NaN or infinity; repair it or leave it out")
            index.add(clip, generated)
            yield clip.rotvec.astype(np.float32)


def open_database(path: str | Path) -> PoseDatabase:
    """Open a database for reading; any number of processes may have it open.

    Raises DatabaseError: it, or one of its parts, is missing, empty, no database, truncated, damaged or of another version.
    """
    container = open_container(Path(path))
    if container.fields.get("schema") == SCHEMA_OF_PARTS:
        return _open_parts(Path(path), container.fields)
    return _open_file(path, container.fields, container.arrays)


def _open_file(path: str | Path, fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> PoseDatabase:
    """Return the database of one file."""
    if fields.get("schema") != SCHEMA or tuple(fields.get("joints", ())) != JOINTS:
        raise DatabaseError(f"{path}: schema {fields.get('schema')}, expected {SCHEMA}; build it again from its motion files")
    if not np.allclose(np.array(fields["reference"]), REFERENCE, atol=1e-6):
        raise DatabaseError(f"{path}: made with other joint charts than this program's; build it again from its motion files")
    missing = [name for name in OWN_ARRAYS if name not in arrays]
    if missing or not _is_consistent(fields, arrays):
        raise DatabaseError(f"{path}: {missing[0] if missing else 'its arrays'} cannot be right; copy or build it again")
    named = zip(fields["skeleton_names"], arrays["skeleton_offsets_m"], arrays["skeleton_tails_m"], strict=True)
    return PoseDatabase(
        path=Path(path),
        fps=float(fields["fps"]),
        rotvec=arrays["rotvec"],
        root_m=arrays["root_m"],
        clip_start=arrays["clip_start"],
        clip_names=tuple(fields["clip_names"]),
        clip_skeleton=arrays["clip_skeleton"],
        skeletons=tuple(Skeleton(name, np.array(offsets), np.array(tails)) for name, offsets, tails in named),
        generated=arrays["generated"].astype(bool),
        notes=tuple(fields["notes"]),
        extra=MappingProxyType({name: array for name, array in arrays.items() if name not in OWN_ARRAYS}),
    )


def is_of_parts(path: str | Path) -> bool:
    """Return whether a database is one of several files. Raises DatabaseError, as `open_database`."""
    return read_fields(path).get("schema") == SCHEMA_OF_PARTS


def read_fields(path: str | Path) -> Mapping[str, Any]:
    """Return the plain values of a database's file. Raises DatabaseError, as `open_database`."""
    return open_container(Path(path)).fields


def write_parts(path: str | Path, parts: Sequence[Path], mirrored: bool = False, notes: Iterable[str] = ()) -> None:
    """Make a database of several files, or change which they are, atomically; the files stay where and as they are.

    They are named relative to `path`, so that all can be moved together.

    Args:
        path: the file to write.
        parts: the files.
        mirrored: it is searched in the mirror images of its poses, too.
        notes: what was done, for the user.
    Raises: DatabaseError: no parts, of different rates, one that is itself of several files, or the file cannot be written.
    """
    file, entries, rates = Path(path), [], dict[float, Path]()
    for part in parts:
        if is_of_parts(part):
            raise DatabaseError(f"{part}: is itself of several files; name these")
        database = open_database(part)
        rates.setdefault(database.fps, part)
        name = os.path.relpath(part.absolute(), file.absolute().parent)
        entries.append({"file": Path(name).as_posix(), "poses": database.n_poses, "crc32": compute_poses_checksum(part)})
    if len(rates) != 1:
        came = ", ".join(f"{part} at {fps:g} Hz" for fps, part in rates.items()) or "none"
        raise DatabaseError(f"{file}: expected parts, all at one rate, came {came}; build them again at one rate")
    with write_container(file) as writer:
        writer.fields = {"schema": SCHEMA_OF_PARTS, "parts": entries, "mirrored": mirrored, "notes": list(notes)}


def list_database_files(path: str | Path) -> list[Path]:
    """Return the files a database consists of, in order: its parts, or itself. Raises DatabaseError, as `open_database`."""
    fields = read_fields(path)
    if fields.get("schema") != SCHEMA_OF_PARTS:
        return [Path(path)]
    return [Path(path).parent / entry["file"] for entry in _read_part_entries(Path(path), fields)]


def _read_part_entries(path: Path, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of each part; a hostile file may say anything. Raises DatabaseError."""
    entries, kinds = fields.get("parts"), {"file": str, "poses": int, "crc32": int}
    whole = isinstance(entries, list) and all(
        isinstance(entry, dict) and all(isinstance(entry.get(name), kind) for name, kind in kinds.items()) for entry in entries
    )
    if not entries or not whole or not isinstance(fields.get("mirrored"), bool) or not isinstance(fields.get("notes"), list):
        raise DatabaseError(f"{path}: its list of files cannot be right; join them again: duocap database join")
    return list(entries)


def _open_parts(path: Path, fields: Mapping[str, Any]) -> PoseDatabase:
    """Return the database of several files; their poses are copied into one array."""
    parts: list[PoseDatabase] = []
    for entry in _read_part_entries(path, fields):
        part = path.parent / entry["file"]
        database = open_database(part)
        if database.parts or (database.n_poses, compute_poses_checksum(part)) != (entry["poses"], entry["crc32"]):
            raise DatabaseError(f"{part}: is not the file that {path.name} was made with; join again: duocap database join")
        parts.append(database)
    before = np.cumsum([0, *(part.n_poses for part in parts)])
    bodies = np.cumsum([0, *(len(part.skeletons) for part in parts)])
    starts = [part.clip_start[:-1] + first for part, first in zip(parts, before, strict=False)]
    rotvec, root_m = np.concatenate([part.rotvec for part in parts]), np.concatenate([part.root_m for part in parts])
    for array in (rotvec, root_m):
        array.setflags(write=False)
    return PoseDatabase(
        path=path,
        fps=parts[0].fps,
        rotvec=rotvec,
        root_m=root_m,
        clip_start=np.concatenate([*starts, before[-1:]]).astype(np.int64),
        clip_names=tuple(name for part in parts for name in part.clip_names),
        clip_skeleton=np.concatenate([part.clip_skeleton + k for part, k in zip(parts, bodies, strict=False)]),
        skeletons=tuple(skeleton for part in parts for skeleton in part.skeletons),
        generated=np.concatenate([part.generated for part in parts]),
        notes=tuple(str(note) for note in fields["notes"]),
        parts=tuple(parts),
        mirrored=fields["mirrored"],
    )


def compute_poses_checksum(path: str | Path) -> int:
    """Return a checksum of a database's poses and of whether they are mirrored. Raises DatabaseError."""
    container = open_container(Path(path))
    if container.fields.get("schema") != SCHEMA_OF_PARTS:
        return container.checksums["rotvec"]
    entries = _read_part_entries(Path(path), container.fields)
    told = [container.fields["mirrored"], *([entry["poses"], entry["crc32"]] for entry in entries)]
    return zlib.crc32(json.dumps(told).encode())


def _is_consistent(fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> bool:
    """Return whether shapes and indices fit together."""
    n, c, s = len(arrays["rotvec"]), len(fields["clip_names"]), len(fields["skeleton_names"])
    start, skeleton = arrays["clip_start"], arrays["clip_skeleton"]
    shapes = {
        "rotvec": (n, N_JOINTS, 3),
        "root_m": (n, 3),
        "clip_start": (c + 1,),
        "clip_skeleton": (c,),
        "generated": (c,),
        "skeleton_offsets_m": (s, N_JOINTS, 3),
        "skeleton_tails_m": (s, N_JOINTS, 3),
    }
    if n == 0 or any(arrays[name].shape != shape for name, shape in shapes.items()):
        return False
    ordered = start[0] == 0 and start[-1] == n and bool((np.diff(start) > 0).all())
    return ordered and bool(((skeleton >= 0) & (skeleton < s)).all())


def find_damaged_arrays(path: str | Path) -> list[str]:
    """Read a whole database and return the names of arrays that differ from their checksums."""
    files = list_database_files(path)
    if len(files) == 1 and files[0] == Path(path):
        return open_container(Path(path)).damaged()
    return [f"{file.name}: {name}" for file in files for name in open_container(file).damaged()]
