"""Upright poses under centres that cover them all, for a search on two levels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


@kernel
def _square(
    poses: NDArray[np.float32], local: NDArray[np.float32], weight: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write the weighted squared distances of rows (N, F) to one, (F,)."""
    for n in range(poses.shape[0]):
        total = np.float32(0.0)
        for i in range(poses.shape[1]):
            e = poses[n, i] - local[i]
            total += weight[i] * e * e
        out[n] = total


@dataclass(frozen=True, slots=True)
class PoseIndex:
    """Poses upright at the origin, (N, M, 3) [m]: gravity along -Y, facing +Z; those of the list of centre c are
    member[start[c]:start[c + 1]]; centers: (C, M, 3)."""

    poses: Floats
    centers: Floats
    start: Ints
    member: Ints

    def arrays(self) -> tuple[Floats, Floats, Ints, Ints]:
        """Give what the kernels take."""
        return self.poses, self.centers, self.start, self.member


def pose_index(poses: Floats, n_centers: int, seed: int = 0) -> PoseIndex:
    """Cover poses (N, M, 3) by centres and list the poses nearest to each.

    Half of the centres are each the pose farthest from those before it (Gonzalez 1985), so that nothing is far from all; the
    others are drawn at random, so that lists are short where poses are dense.
    """
    flat = poses.reshape(len(poses), -1).astype(np.float32)
    drawn = np.random.default_rng(seed).permutation(len(flat))[: n_centers // 2]
    distance = np.full(len(flat), np.inf, np.float32)
    owner = np.zeros(len(flat), np.int64)
    chosen: list[int] = []
    for c in range(min(n_centers, len(flat))):
        following = int(np.argmax(distance)) if c >= len(drawn) else int(drawn[c])
        if distance[following] <= 1e-6:
            continue
        d = np.einsum("ij,ij->i", flat - flat[following], flat - flat[following])
        nearer = d < distance
        owner[nearer], distance[nearer] = len(chosen), d[nearer]
        chosen.append(following)
    member = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[member], np.arange(len(chosen) + 1))
    return PoseIndex(np.ascontiguousarray(poses), np.ascontiguousarray(poses[chosen]), start.astype(np.int64), member)


def squared_distances(poses: Singles, local: Floats, choice: Ints) -> Singles:
    """Give the squared distance of labelled markers (M, 3), at the origin, to all poses (N, M, 3), (N,) [m^2]."""
    weight = np.repeat(choice >= 0, 3).astype(np.float32)
    out = np.empty(len(poses), np.float32)
    _square(poses.reshape(len(poses), -1), local.ravel().astype(np.float32), weight, out)
    return out
