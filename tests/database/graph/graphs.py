"""Random motions for neighbour graphs, and graphs compared."""

from itertools import pairwise

import numpy as np

from config.arrays import Ints, Singles
from database.graph.neighbours import Graph, arrays_from_graph


def motion(lengths: list[int], seed: int, step: float = 0.25, joints: int = 4) -> tuple[Singles, Ints]:
    """Return random walks from a few common poses, with some poses repeated; the root rotates wildly."""
    rng = np.random.default_rng(seed)
    starts = rng.normal(0.0, 0.4, (2, joints, 3))
    clips = []
    for n in lengths:
        steps = rng.normal(0.0, step, (n, joints, 3)) * rng.integers(0, 2, (n, 1, 1))
        clips.append(starts[rng.integers(2)] + np.cumsum(steps, axis=0))
    rotvec = np.clip(np.concatenate(clips), -3.0, 3.0)
    rotvec[:, 0] = rng.normal(0.0, 1.0, (len(rotvec), 3))
    return rotvec.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def adjacent(clip_start: Ints) -> list[set[int]]:
    """Return the poses before and after each in its clip."""
    clips = pairwise(clip_start.tolist())
    return [{m for m in (n - 1, n + 1) if first <= m < stop} for first, stop in clips for n in range(first, stop)]


def rows(graph: Graph) -> list[list[int]]:
    """Return the neighbours of every pose."""
    return [graph.of(n).tolist() for n in range(graph.n_poses)]


def assert_same(one: Graph | None, other: Graph | None) -> None:
    """Compare all that two graphs hold."""
    assert one is not None and other is not None
    for name, array in arrays_from_graph(one).items():
        np.testing.assert_array_equal(array, arrays_from_graph(other)[name])
