"""The neighbour graph of a database file: made while it is written, or afterwards."""

from functools import partial
from pathlib import Path

import numpy as np

from database.graph import Graph, graph_arrays, graph_of
from database.graph_build import DEGREE, Progress, build_graph, extended
from database.store import Derive, add_arrays, open_database


def graph_deriver(progress: Progress | None = None) -> Derive:
    """Give what makes the graph while a database is written."""
    return lambda rotvec, clip_start, fps: graph_arrays(build_graph(rotvec, clip_start, fps=fps, progress=progress))


def graph_extender(path: str | Path, progress: Progress | None = None) -> Derive | None:
    """Give what takes the clips added to a database into its graph, or None if it has no graph.

    The graph is copied, so that the file can be replaced. Raises DatabaseError for a graph that does not fit.
    """
    stored = graph_of(open_database(path))
    if stored is None:
        return None
    rule = (stored.radius_rad, stored.degree, stored.seed, stored.camera_fps, stored.eps_rad)
    graph = Graph(np.array(stored.start), np.array(stored.neighbour), np.array(stored.ball), *rule)
    del stored
    return lambda rotvec, clip_start, fps: graph_arrays(extended(graph, rotvec, clip_start, fps=fps, progress=progress))


def store_graph(
    path: str | Path, camera_fps: float = 60.0, degree: int = DEGREE, seed: int = 0, progress: Progress | None = None
) -> Graph:
    """Build the graph of a database that has none, or another, and store it with it, atomically. Raises DatabaseError."""
    database = open_database(path)
    anew = partial(build_graph, database.rotvec, database.clip_start, fps=database.fps, camera_fps=camera_fps)
    graph = anew(degree=degree, seed=seed, progress=progress)
    # Windows does not replace a file that is still mapped.
    del database, anew
    add_arrays(path, graph_arrays(graph))
    return graph
