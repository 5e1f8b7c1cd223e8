"""A motion clip: one performer's poses at a steady rate, in the project's own skeleton and charts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from config.joints import N_JOINTS
from database.kinematics import charted
from database.rotations import Floats
from database.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Clip:
    """Poses of one skeleton, frame after frame.

    name: the file stem (`14_02`) or the built-in motion's name; fps: frames a second, > 0;
    rotvec: charted rotation vectors (see `database.skeleton`), row 0 the root's orientation, (N, J, 3) [rad];
    root_m: position of the hips, (N, 3) [m], world with Y up.
    """

    name: str
    skeleton: Skeleton
    fps: float
    rotvec: Floats
    root_m: Floats

    def __post_init__(self) -> None:
        assert self.fps > 0
        assert self.rotvec.shape == (len(self.root_m), N_JOINTS, 3) and self.rotvec.dtype == np.float64
        assert self.root_m.shape == (len(self.root_m), 3) and self.root_m.dtype == np.float64
        for array in (self.rotvec, self.root_m):
            assert array.flags.c_contiguous
            array.setflags(write=False)

    @property
    def n_frames(self) -> int:
        """Number of poses."""
        return len(self.root_m)

    @property
    def seconds(self) -> float:
        """Time from the first pose to one period after the last."""
        return self.n_frames / self.fps


def clip_from_local(name: str, skeleton: Skeleton, fps: float, local: Floats, root_m: Floats) -> Clip:
    """Make a clip from rotations relative to the parent, (N, J, 3, 3), and hip positions, (N, 3) [m]."""
    return Clip(name, skeleton, fps, np.ascontiguousarray(charted(local)), np.array(root_m, np.float64, order="C"))


def clip_slice(clip: Clip, start: int, stop: int, name: str | None = None) -> Clip:
    """Give frames start..stop-1 (0-based, as Python slices) as a clip of their own."""
    return replace(
        clip,
        name=clip.name if name is None else name,
        rotvec=np.ascontiguousarray(clip.rotvec[start:stop]),
        root_m=np.ascontiguousarray(clip.root_m[start:stop]),
    )


def without_frames(clip: Clip, ranges: Iterable[tuple[int, int]]) -> list[Clip]:
    """Cut the 0-based half-open `ranges` out; what is left comes as pieces, `14_02` and `14_02+3000` (first frame)."""
    kept = np.ones(clip.n_frames, bool)
    for start, stop in ranges:
        kept[max(start, 0) : max(stop, 0)] = False
    pieces: list[Clip] = []
    for start, stop in runs(kept):
        pieces.append(clip_slice(clip, start, stop, clip.name if start == 0 else f"{clip.name}+{start}"))
    return pieces


def runs(flags: Sequence[bool] | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Give the half-open ranges over which `flags` is true."""
    edges = np.diff(np.concatenate([[0], np.asarray(flags, np.int8), [0]]))
    return [(int(a), int(b)) for a, b in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)]
