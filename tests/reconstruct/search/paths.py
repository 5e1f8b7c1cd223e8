"""Poses along smooth paths, their neighbour graph, and queries near them."""

import numpy as np

from database.graph.neighbours import Graph
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query

M, D = 3, 6


def path(n: int, seed: int, n_parts: int = 4) -> Examples:
    """Return poses along some smooth paths far from each other, markers a function of the pose."""
    rng = np.random.default_rng(seed)
    part = np.arange(n) * n_parts // n
    phase = np.linspace(0.0, 5.7 * n_parts, n)
    wave = np.stack([np.sin((k % 3 + 1) * phase + k) for k in range(D)], axis=1)
    pose = rng.normal(0.0, 1.5, (n_parts, D))[part] + 0.5 * wave
    marker = np.tanh(pose @ np.random.default_rng(9).normal(size=(D, 3 * M)) / 3.0)
    return Examples(pose.astype(np.float32), marker.astype(np.float32), part.astype(np.int32), 60.0)


def graph_from(rows: list[list[int]]) -> Graph:
    """Return a graph from its rows."""
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = np.array([n for row in rows for n in row], np.int32)
    return Graph(start, flat, np.diff(start).astype(np.int32), 0.0, 16, 0)


def ball_graph(examples: Examples, radius: float, degree: int, seed: int = 0) -> Graph:
    """Join poses by their L1 distance, the slow and obvious way, and those before and after in the clip."""
    rng, rows = np.random.default_rng(seed), []
    for n in range(len(examples)):
        ball = np.flatnonzero(np.abs(examples.pose - examples.pose[n]).sum(axis=1) < radius)
        kept = set(rng.permutation(ball)[:degree].tolist())
        kept |= {k for k in (n - 1, n + 1) if 0 <= k < len(examples) and examples.clip[k] == examples.clip[n]}
        rows.append(sorted(kept - {n}))
    return graph_from(rows)


def query_at(examples: Examples, n: int, seed: int = 0, noise: float = 0.02) -> Query:
    """Ask for a pose of the examples, with noise."""
    rng = np.random.default_rng(seed)
    marker = examples.marker_m[n].reshape(M, 3) + rng.normal(0.0, noise, (M, 3))
    return Query(marker, np.full(M, 900.0), examples.pose[n] + rng.normal(0.0, noise, D), np.full(D, 6.0))
