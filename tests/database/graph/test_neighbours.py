"""A stored graph that does not fit is refused; the summary of a graph."""

from dataclasses import replace

import numpy as np
import pytest

from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.graph.neighbours import BALL, NEIGHBOUR, RULE, START, Graph, arrays_from_graph, find_graph, summarise_graph
from database.store import PoseDatabase

# 0 -> 1 -> 2, 3 -> 4, 5 by itself.
GRAPH = Graph(np.array([0, 1, 2, 2, 3, 3, 3]), np.array([1, 2, 4], np.int32), np.array([1, 9, 2, 0, 3, 0], np.int32), 1.0, 1, 0)
POSES, ROOTS, NONE = np.zeros((6, N_JOINTS, 3), np.float32), np.zeros((6, 3), np.float32), np.zeros(1, np.int64)
BARE = PoseDatabase(None, 60.0, POSES, ROOTS, np.array([0, 6]), ("a",), NONE, (), np.zeros(1, bool))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (START, np.arange(6)),
        (START, np.zeros(7)),
        (START, np.array([0, 2, 1, 2, 3, 3, 3])),
        (NEIGHBOUR, np.zeros(2, np.int32)),
        (NEIGHBOUR, np.array([1, 6, 4], np.int32)),
        (NEIGHBOUR, np.array([1, -1, 4], np.int32)),
        (BALL, np.zeros(5, np.int32)),
        (RULE, np.zeros(2)),
        (RULE, None),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(name: str, array: np.ndarray | None) -> None:
    good = dict(arrays_from_graph(GRAPH))
    assert find_graph(BARE) is None
    stored = find_graph(replace(BARE, extra=good))
    assert stored is not None and stored.of(1).tolist() == [2]
    spoilt = {key: value for key, value in {**good, name: array}.items() if value is not None}
    with pytest.raises(DatabaseError, match="does not fit its 6 poses"):
        find_graph(replace(BARE, extra=spoilt))


def test_summary_by_hand() -> None:
    summary = summarise_graph(GRAPH)
    assert (summary.degree_mean, summary.ball_mean, summary.ball_median, summary.ball_max) == (0.5, 2.5, 1.5, 9)
    assert (summary.components, summary.largest, summary.isolated) == (3, 0.5, 2)
    assert summary.line() == (
        "degree 0.5; 2 poses in reach on average, median 2, largest 9; 3 parts, the largest 50 %, 2 isolated poses"
    )
