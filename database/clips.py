"""Clips: one performer's poses at a constant rate, in the project's own skeleton and charts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import charted_from_local
from database.geometry.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Clip:
    """Poses of one skeleton, frame after frame.

    name: the file stem (`14_02`) or the built-in motion's name; fps: frames a second, > 0;
    rotvec: charted rotation vectors (see `database.geometry.skeleton`), row 0 the root's orientation, (N, J, 3) [rad];
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
    """Return a clip of rotations relative to the parents and positions of the hips.

    Args:
        name: of the clip.
        skeleton: of the performer.
        fps: frames a second.
        local: rotations relative to the parents, (N, J, 3, 3).
        root_m: positions of the hips, (N, 3).
    """
    return Clip(name, skeleton, fps, np.ascontiguousarray(charted_from_local(local)), np.array(root_m, np.float64, order="C"))


def slice_clip(clip: Clip, start: int, stop: int, name: str | None = None) -> Clip:
    """Return some poses as a clip.

    Args:
        clip: the clip.
        start, stop: the first, and the one after the last, from 0.
        name: of the new clip; None: that of the old one.
    """
    return replace(
        clip,
        name=clip.name if name is None else name,
        rotvec=np.ascontiguousarray(clip.rotvec[start:stop]),
        root_m=np.ascontiguousarray(clip.root_m[start:stop]),
    )


def remove_frames(clip: Clip, ranges: Iterable[tuple[int, int]]) -> list[Clip]:
    """Return a clip without the 0-based half-open `ranges`, in pieces named `14_02` and `14_02+3000` (first frame)."""
    kept = np.ones(clip.n_frames, bool)
    for start, stop in ranges:
        kept[max(start, 0) : max(stop, 0)] = False
    return [slice_clip(clip, start, stop, clip.name if start == 0 else f"{clip.name}+{start}") for start, stop in find_runs(kept)]


def find_runs(flags: Bools) -> list[tuple[int, int]]:
    """Return the half-open ranges over which `flags` is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
