"""The pose database: all clips' poses end to end, in one memory-mapped file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError
from config.joints import JOINTS, N_JOINTS
from database.clips import Clip
from database.container import Container, ContainerWriter, open_container, rewrite_with
from database.skeleton import REFERENCE, Skeleton

# What the arrays mean; raised when a joint, the rest pose or the charts change.
SCHEMA = 1
Groups = Iterable[tuple[bool, Iterable[Clip]]]  # made here rather than captured, and the clips
# From rotvec (N, J, 3), clip_start (C + 1,) and frames a second to more named arrays.
Derive = Callable[[NDArray[np.float32], NDArray[np.int64], float], Mapping[str, NDArray[Any]]]
OWN_ARRAYS = ("rotvec", "root_m", "clip_start", "clip_skeleton", "generated", "skeleton_offsets_m", "skeleton_tails_m")


@dataclass(frozen=True, slots=True)
class PoseDatabase:
    """Poses q_n of all clips, read-only and memory-mapped.

    fps: of all clips; rotvec: charted rotation vectors, row 0 the root's orientation, (N, J, 3) float32 [rad]; root_m: (N, 3)
    float32 [m]; clip_start: first pose of each clip and N, (C + 1,); clip_names: C; clip_skeleton: index into `skeletons`, (C,);
    generated: clips made here rather than captured, (C,) bool; notes: what was done while building; extra: arrays of later
    stages by name.
    """

    path: Path | None
    fps: float
    rotvec: NDArray[np.float32]
    root_m: NDArray[np.float32]
    clip_start: NDArray[np.int64]
    clip_names: tuple[str, ...]
    clip_skeleton: NDArray[np.int64]
    skeletons: tuple[Skeleton, ...]
    generated: NDArray[np.bool_]
    notes: tuple[str, ...] = ()
    extra: Mapping[str, NDArray[Any]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def n_poses(self) -> int:
        """Number of poses N."""
        return len(self.root_m)

    @property
    def n_clips(self) -> int:
        """Number of clips C."""
        return len(self.clip_names)

    def clip_of(self, pose: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Give the clip of poses."""
        return np.asarray(np.searchsorted(self.clip_start, pose, side="right") - 1)

    def skeleton_of(self, pose: int) -> Skeleton:
        """Give the skeleton that made a pose."""
        return self.skeletons[int(self.clip_skeleton[int(self.clip_of(pose))])]

    def clip(self, index: int) -> Clip:
        """Copy one clip out."""
        span = slice(int(self.clip_start[index]), int(self.clip_start[index + 1]))
        skeleton = self.skeletons[int(self.clip_skeleton[index])]
        rotvec, root_m = self.rotvec[span].astype(np.float64), self.root_m[span].astype(np.float64)
        return Clip(self.clip_names[index], skeleton, self.fps, rotvec, root_m)


def write_database(
    path: str | Path,
    clips: Iterable[Clip],
    generated: Iterable[Clip] = (),
    notes: Iterable[str] = (),
    extra: Mapping[str, NDArray[Any]] | None = None,
    derive: Derive | None = None,
) -> None:
    """Write clips, all at one rate, to a database; they are taken one by one, so a generator keeps memory small.

    `generated` and `notes` are asked for after the last clip. Equal skeletons are stored once. `derive` gives more arrays once
    all poses are there. Raises DatabaseError for no clips, mixed rates, NaN or a place that cannot be written to; nothing is
    left half-written.
    """
    _write(Path(path), ((False, clips), (True, generated)), notes, derive, extra or {})


def append_clips(path: str | Path, clips: Iterable[Clip], notes: Iterable[str] = (), derive: Derive | None = None) -> None:
    """Add clips at the end of a database, atomically, after all it holds; close what reads it first (Windows insists).

    Stays: poses, skeletons and notes. Arrays of later stages belong to the old poses and go; `derive` may give new ones.
    Raises DatabaseError as `open_database` and `write_database`; the file is then as it was.
    """
    before = open_database(path).notes

    def all_notes() -> Iterator[str]:
        yield from before
        yield from notes

    _write(Path(path), _old_and_new(Path(path), clips), all_notes(), derive, {})


def _old_and_new(path: Path, clips: Iterable[Clip]) -> Iterator[tuple[bool, Iterable[Clip]]]:
    """Give a database's clips one by one, then the others."""
    old = open_database(path)
    for k in range(old.n_clips):
        yield bool(old.generated[k]), [old.clip(k)]
    # Windows does not replace a file that is still mapped.
    del old
    yield False, clips


def _write(file: Path, groups: Groups, notes: Iterable[str], derive: Derive | None, extra: Mapping[str, NDArray[Any]]) -> None:
    """Write a database; what it is asked for is said at `write_database`."""
    with ContainerWriter(file) as writer:
        index = _Index()
        writer.stream("rotvec", np.dtype(np.float32), (N_JOINTS, 3), _pose_blocks(file, index, groups))
        if index.n_poses == 0:
            raise DatabaseError(f"{file}: no poses to store; expected at least one clip, check the sources and what is left out")
        for name, array in index.arrays().items():
            writer.add(name, array)
        derived = derive(writer.read_back("rotvec"), np.array(index.starts, np.int64), index.fps) if derive else {}
        for name, array in {**extra, **derived}.items():
            writer.add(name, array)
        writer.fields = {"schema": SCHEMA, "joints": JOINTS, "reference": REFERENCE.round(9).tolist(), "fps": index.fps}
        writer.fields |= {"clip_names": index.names, "skeleton_names": [s.name for s in index.skeletons], "notes": list(notes)}


class _Index:
    """What is remembered of the clips while their poses go to the file."""

    def __init__(self) -> None:
        self.fps = 0.0
        self.names: list[str] = []
        self.starts: list[int] = [0]
        self.root_m: list[NDArray[np.float32]] = []
        self.clip_skeleton: list[int] = []
        self.generated: list[bool] = []
        self.skeletons: list[Skeleton] = []
        self._known: dict[bytes, int] = {}

    @property
    def n_poses(self) -> int:
        return self.starts[-1]

    def add(self, clip: Clip, generated: bool) -> None:
        """Remember one clip."""
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything but the rotations."""
        return {
            "root_m": np.concatenate(self.root_m),
            "clip_start": np.array(self.starts, np.int64),
            "clip_skeleton": np.array(self.clip_skeleton, np.int64),
            "generated": np.array(self.generated, np.uint8),
            "skeleton_offsets_m": np.array([s.offsets_m for s in self.skeletons]),
            "skeleton_tails_m": np.array([s.tails_m for s in self.skeletons]),
        }


def _pose_blocks(file: Path, index: _Index, groups: Groups) -> Iterator[NDArray[np.float32]]:
    """Give the clips' rotations one after the other and remember the rest."""
    for made_here, clips in groups:
        for clip in clips:
            if clip.n_frames == 0:
                continue
            if index.n_poses and clip.fps != index.fps:
                raise DatabaseError(f"{file}: clip {clip.name} is at {clip.fps:g} Hz, expected {index.fps:g}; resample it")
            if not (np.isfinite(clip.rotvec).all() and np.isfinite(clip.root_m).all()):
                raise DatabaseError(f"{file}: clip {clip.name} holds NaN or infinity; repair it or leave it out")
            index.add(clip, made_here)
            yield clip.rotvec.astype(np.float32)


def open_database(path: str | Path) -> PoseDatabase:
    """Open a database for reading; any number of processes may do so at once.

    Raises DatabaseError if it is missing, empty, foreign, truncated, damaged or of another version.
    """
    container = open_container(Path(path))
    fields, arrays = container.fields, container.arrays
    if fields.get("schema") != SCHEMA or tuple(fields.get("joints", ())) != JOINTS:
        raise DatabaseError(f"{path}: schema {fields.get('schema')}, expected {SCHEMA}; build it again from its motion files")
    if not np.allclose(np.array(fields["reference"]), REFERENCE, atol=1e-6):
        raise DatabaseError(f"{path}: made with other joint charts than this program's; build it again from its motion files")
    missing = [name for name in OWN_ARRAYS if name not in arrays]
    if missing or not _consistent(fields, arrays):
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


def _consistent(fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bool:
    """Tell whether shapes and indices fit together."""
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


def damaged_arrays(path: str | Path) -> list[str]:
    """Read a whole database and give the names of arrays that differ from their checksums; empty when all is well."""
    container: Container = open_container(Path(path))
    return container.damaged()


def add_arrays(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store more named arrays in a database, atomically; they come back as `extra`."""
    rewrite_with(Path(path), {}, arrays)
