"""The neighbour graph as a value, as arrays of a database file, and its summary (Chai & Hodgins 2005, eq. 4)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.arrays import Ints
from config.errors import DatabaseError
from database.store import PoseDatabase

START, NEIGHBOUR, BALL, RULE = "graph_start", "graph_neighbour", "graph_ball", "graph_rule"
NAMES = (START, NEIGHBOUR, BALL, RULE)
EPS_RAD = math.radians(3.0)


@dataclass(frozen=True, slots=True)
class Graph:
    """Neighbours of every pose; row n is `neighbour[start[n]:start[n + 1]]`.

    start: first entry of each row and E, (N + 1,); neighbour: poses, ascending within a row, without the pose itself, (E,). Edges
    have a direction: each row is a sample of its own ball, so n may list m without m listing n. ball: number of poses within the
    limit, of which the row is a sample, (N,); radius_rad: that limit, an L1 distance; degree, seed: size of the samples and seed
    of their choice; camera_fps, eps_rad: f_c and eps of eq. 4.
    """

    start: Ints
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
        """Return the neighbours of one pose."""
        return self.neighbour[self.start[pose] : self.start[pose + 1]]


def find_graph(database: PoseDatabase) -> Graph | None:
    """Return the graph stored with a database, memory-mapped, None if it was built without one.

    Of a database of several files the graphs are put side by side: no edge leads from one file to another, and the rule is that
    of the first. None if one of them has no graph. Raises DatabaseError: the arrays cannot be a graph over the poses.
    """
    if database.parts:
        return _concatenate_graphs([find_graph(part) for part in database.parts])
    extra, n = database.extra, database.n_poses
    stored = [name for name in NAMES if name in extra]
    if not stored:
        return None
    if len(stored) < len(NAMES) or not _is_graph(extra, n):
        raise DatabaseError(f"{database.path}: its neighbour graph does not fit its {n} poses; renew it: `duocap database graph`")
    radius_rad, degree, seed, camera_fps, eps_rad = extra[RULE].tolist()
    return Graph(extra[START], extra[NEIGHBOUR], extra[BALL], radius_rad, int(degree), int(seed), camera_fps, eps_rad)


def _concatenate_graphs(graphs: Sequence[Graph | None]) -> Graph | None:
    """Return the graphs of successive poses as one."""
    whole = [graph for graph in graphs if graph is not None]
    if len(whole) < len(graphs):
        return None
    first_pose = np.cumsum([0, *(graph.n_poses for graph in whole)])
    first_edge = np.cumsum([0, *(len(graph.neighbour) for graph in whole)])
    start = [graph.start[:-1] + first for graph, first in zip(whole, first_edge, strict=False)]
    neighbour = [graph.neighbour + np.int32(first) for graph, first in zip(whole, first_pose, strict=False)]
    return replace(
        whole[0],
        start=np.concatenate([*start, first_edge[-1:]]).astype(np.int64),
        neighbour=np.concatenate(neighbour),
        ball=np.concatenate([graph.ball for graph in whole]),
    )


def arrays_from_graph(graph: Graph) -> Mapping[str, NDArray[Any]]:
    """Return a graph as the named arrays a database stores."""
    rule = np.array([graph.radius_rad, graph.degree, graph.seed, graph.camera_fps, graph.eps_rad])
    return {START: graph.start, NEIGHBOUR: graph.neighbour, BALL: graph.ball, RULE: rule}


def _is_graph(extra: Mapping[str, NDArray[Any]], n_poses: int) -> bool:
    """Return whether the arrays are rows of poses: types, shapes, ordered offsets, indices in range."""
    start, neighbour, ball, rule = (extra[name] for name in NAMES)
    types = [array.dtype for array in (start, neighbour, ball, rule)]
    shapes = [array.shape for array in (start, ball, rule)]
    if types != [np.int64, np.int32, np.int32, np.float64] or shapes != [(n_poses + 1,), (n_poses,), (5,)]:
        return False
    if neighbour.shape != (int(start[-1]),) or start[0] != 0 or bool((np.diff(start) < 0).any()):
        return False
    return len(neighbour) == 0 or bool(neighbour.min() >= 0 and neighbour.max() < n_poses)


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """Figures of a graph.

    degree_mean: neighbours of a pose; ball_mean, ball_median, ball_max: poses within the limit, before sampling; components:
    weakly connected components; largest: share of the poses in the largest one; isolated: poses with none within the limit, whose
    only neighbours are the previous and next pose of the clip.
    """

    degree_mean: float
    ball_mean: float
    ball_median: float
    ball_max: int
    components: int
    largest: float
    isolated: int

    def line(self) -> str:
        """Return the figures as a line for the user."""
        balls = f"{self.ball_mean:.0f} poses in reach on average, median {self.ball_median:.0f}, largest {self.ball_max}"
        parts = f"{self.components} parts, the largest {100 * self.largest:.0f} %, {self.isolated} isolated poses"
        return f"degree {self.degree_mean:.1f}; {balls}; {parts}"


def summarise_graph(graph: Graph) -> GraphSummary:
    """Return the figures of a graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = graph.n_poses
    edges = csr_array((np.ones(len(graph.neighbour), np.int8), graph.neighbour, graph.start), shape=(n, n))
    components, part = connected_components(edges, directed=True, connection="weak")
    return GraphSummary(
        degree_mean=len(graph.neighbour) / n,
        ball_mean=float(graph.ball.mean()),
        ball_median=float(np.median(graph.ball)),
        ball_max=int(graph.ball.max()),
        components=int(components),
        largest=float(np.bincount(part).max() / n),
        isolated=int((graph.ball == 0).sum()),
    )
