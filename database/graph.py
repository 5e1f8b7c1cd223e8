"""The neighbour graph: which poses of a database are alike (Chai & Hodgins 2005, eq. 4)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError
from database.store import PoseDatabase

START, NEIGHBOUR, BALL, RULE = "graph_start", "graph_neighbour", "graph_ball", "graph_rule"
NAMES = (START, NEIGHBOUR, BALL, RULE)
EPS_RAD = math.radians(3.0)


@dataclass(frozen=True, slots=True)
class Graph:
    """Neighbours of every pose, by rows; row n is `neighbour[start[n]:start[n + 1]]`.

    start: (N + 1,) int64, first entry of each pose's row and E; neighbour: (E,) int32, poses, ascending within a row, never the
    pose itself. Edges have a direction: each row is a sample of its own ball, so n may list m without m listing n.
    ball: (N,) int32, how many poses are within the limit, of which the row is a sample; radius_rad: that limit, an L1 distance;
    degree, seed: size of the samples and what made them; camera_fps, eps_rad: f_c and eps of the limit.
    """

    start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    ball: NDArray[np.int32]
    radius_rad: float
    degree: int
    seed: int
    camera_fps: float = 60.0
    eps_rad: float = EPS_RAD

    def __post_init__(self) -> None:
        for array in (self.start, self.neighbour, self.ball):
            array.setflags(write=False)

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
    extra, n = database.extra, database.n_poses
    there = [name for name in NAMES if name in extra]
    if not there:
        return None
    if len(there) < len(NAMES) or not _is_graph(extra, n):
        raise DatabaseError(f"{database.path}: its neighbour graph does not fit its {n} poses; renew it: `duocap database graph`")
    radius_rad, degree, seed, camera_fps, eps_rad = extra[RULE].tolist()
    return Graph(extra[START], extra[NEIGHBOUR], extra[BALL], radius_rad, int(degree), int(seed), camera_fps, eps_rad)


def graph_arrays(graph: Graph) -> Mapping[str, NDArray[Any]]:
    """Give a graph as the named arrays a database stores."""
    rule = np.array([graph.radius_rad, graph.degree, graph.seed, graph.camera_fps, graph.eps_rad])
    return {START: graph.start, NEIGHBOUR: graph.neighbour, BALL: graph.ball, RULE: rule}


def _is_graph(extra: Mapping[str, NDArray[Any]], n_poses: int) -> bool:
    """Tell whether the arrays are rows of poses: types, shapes, ordered offsets, indices in range."""
    start, neighbour, ball, rule = (extra[name] for name in NAMES)
    types = [array.dtype for array in (start, neighbour, ball, rule)]
    shapes = [array.shape for array in (start, ball, rule)]
    if types != [np.int64, np.int32, np.int32, np.float64] or shapes != [(n_poses + 1,), (n_poses,), (5,)]:
        return False
    if neighbour.shape != (int(start[-1]),) or start[0] != 0 or bool((np.diff(start) < 0).any()):
        return False
    return len(neighbour) == 0 or bool(neighbour.min() >= 0 and neighbour.max() < n_poses)
