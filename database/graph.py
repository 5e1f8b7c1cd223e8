"""The neighbour graph: which poses of a database are alike (Chai & Hodgins 2005, eq. 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError
from database.store import PoseDatabase

START, NEIGHBOUR, BALL, RULE = "graph_start", "graph_neighbour", "graph_ball", "graph_rule"


@dataclass(frozen=True, slots=True)
class Graph:
    """Neighbours of every pose, by rows; row n is `neighbour[start[n]:start[n + 1]]`.

    start: (N + 1,) int64, first entry of each pose's row and E; neighbour: (E,) int32, poses, ascending within a row, never the
    pose itself. Edges have a direction: each row is a sample of its own ball, so n may list m without m listing n.
    ball: (N,) int32, how many poses are within the limit, of which the row is a sample; radius_rad: that limit, an L1 distance;
    degree, seed: size of the samples and what made them.
    """

    start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    ball: NDArray[np.int32]
    radius_rad: float
    degree: int
    seed: int

    @property
    def n_poses(self) -> int:
        """Number of poses N."""
        return len(self.start) - 1

    def of(self, pose: int) -> NDArray[np.int32]:
        """Give the neighbours of one pose."""
        return self.neighbour[self.start[pose] : self.start[pose + 1]]


def graph_of(database: PoseDatabase) -> Graph | None:
    """Give the graph stored with a database, memory-mapped, or None if it was built without one.

    Raises DatabaseError if the arrays cannot be a graph over the database's poses.
    """
    extra = database.extra
    if not any(name in extra for name in (START, NEIGHBOUR, BALL, RULE)):
        return None
    n = database.n_poses
    whole = all(name in extra for name in (START, NEIGHBOUR, BALL, RULE)) and _is_graph(extra[START], extra[NEIGHBOUR], n)
    if not whole or extra[BALL].shape != (n,) or extra[BALL].dtype != np.int32 or extra[RULE].shape != (3,):
        raise DatabaseError(
            f"{database.path}: its neighbour graph does not fit its {n} poses; make it anew with `duocap database graph FILE`"
        )
    radius_rad, degree, seed = extra[RULE].tolist()
    return Graph(extra[START], extra[NEIGHBOUR], extra[BALL], float(radius_rad), int(degree), int(seed))


def graph_arrays(graph: Graph) -> Mapping[str, NDArray[Any]]:
    """Give a graph as the named arrays a database stores."""
    rule = np.array([graph.radius_rad, graph.degree, graph.seed], np.float64)
    return {START: graph.start, NEIGHBOUR: graph.neighbour, BALL: graph.ball, RULE: rule}


def _is_graph(start: NDArray[Any], neighbour: NDArray[Any], n_poses: int) -> bool:
    """Tell whether the arrays are rows of poses: types, shapes, ordered offsets, indices in range."""
    if start.dtype != np.int64 or neighbour.dtype != np.int32 or start.shape != (n_poses + 1,) or neighbour.ndim != 1:
        return False
    if start[0] != 0 or start[-1] != len(neighbour) or bool((np.diff(start) < 0).any()):
        return False
    return len(neighbour) == 0 or bool(neighbour.min() >= 0 and neighbour.max() < n_poses)
