"""A neighbour graph in a few numbers."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from database.graph import Graph


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """What a graph is like.

    degree_mean: neighbours of a pose; ball_mean, ball_median, ball_max: poses under the limit, before the sample was drawn;
    components: parts that no edge joins, whatever its direction; largest: share of the poses in the largest part;
    alone: poses with none under the limit, which have only those beside them in their clip.
    """

    degree_mean: float
    ball_mean: float
    ball_median: float
    ball_max: int
    components: int
    largest: float
    alone: int

    def line(self) -> str:
        """Give it in words."""
        balls = f"{self.ball_mean:.0f} poses in reach on average, median {self.ball_median:.0f}, largest {self.ball_max}"
        parts = f"{self.components} parts, the largest {100 * self.largest:.0f} %, {self.alone} poses alike to none"
        return f"degree {self.degree_mean:.1f}; {balls}; {parts}"


def graph_summary(graph: Graph) -> GraphSummary:
    """Sum a graph up."""
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
        alone=int((graph.ball == 0).sum()),
    )
