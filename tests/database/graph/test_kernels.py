"""The rows of the neighbour graph against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Singles
from config.errors import DatabaseError
from database.graph.build import JOINT_ANGLES, UNIT_RAD, build_graph
from tests.database.graph.graphs import adjacent, assert_same, motion, rows
from tests.support.compiled import limit_examples

pytestmark = pytest.mark.kernels
LENGTHS = st.lists(st.integers(1, 14), min_size=1, max_size=4)


def balls(rotvec: Singles, radius_rad: float) -> list[set[int]]:
    """Return all other poses under the limit, by brute force on the rounded coordinates."""
    units = np.rint(rotvec[:, 1:].reshape(len(rotvec), -1).astype(np.float64) / UNIT_RAD).astype(np.int64)
    inside = np.abs(units[:, None] - units[None]).sum(axis=2) < round(radius_rad / UNIT_RAD)
    return [set(np.flatnonzero(row).tolist()) - {n} for n, row in enumerate(inside)]


@limit_examples(30)
@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=4),
    st.integers(0, 99),
    st.sampled_from([6.0, 60.0, 120.0]),
    st.integers(0, 5) | st.just(99),
)
def test_rows_are_samples_of_the_balls_and_the_adjacent_poses(lengths: list[int], seed: int, fps: float, degree: int) -> None:
    rotvec, clip_start = motion(lengths, seed)
    graph = build_graph(rotvec, clip_start, fps=fps, degree=degree)
    expected = balls(rotvec, graph.radius_rad)
    assert graph.ball.tolist() == [len(ball) for ball in expected]
    for row, ball, near in zip(rows(graph), expected, adjacent(clip_start), strict=True):
        assert near <= set(row) <= ball | near and row == sorted(set(row))
        assert len(row) == len(near) + min(degree, len(ball - near))


def test_extremes() -> None:
    same = build_graph(np.full((30, 4, 3), 0.3, np.float32), np.array([0, 20, 30]), fps=60.0, degree=4)
    assert same.ball.tolist() == [29] * 30 and {len(row) for row in rows(same)} == {5, 6}
    assert same.radius_rad == pytest.approx(math.radians(3.0 * JOINT_ANGLES), abs=1e-6)
    single = build_graph(np.zeros((1, 4, 3), np.float32), np.array([0, 1]), fps=60.0)
    assert single.start.tolist() == [0, 0] and len(single.neighbour) == 0 and single.ball.tolist() == [0]
    apart = np.zeros((4, 4, 3), np.float32)
    apart[:, 2] = [[0, 0, 0], [-3, -3, 3], [3, 3, 3], [3, -3, -3]]
    graph = build_graph(apart, np.array([0, 2, 4]), fps=60.0)
    assert graph.ball.tolist() == [0] * 4 and rows(graph) == [[1], [0], [3], [2]]
    for bad in (8.0, np.nan):
        apart[1, 2, 0] = bad
        with pytest.raises(DatabaseError, match="a part of"):
            build_graph(apart, np.array([0, 4]), fps=60.0)


def test_the_root_does_not_count() -> None:
    rotvec, clip_start = motion([12, 9], 8)
    other = rotvec * np.array([0.0, 1.0, 1.0, 1.0], np.float32)[:, None]
    assert_same(build_graph(rotvec, clip_start, fps=60.0), build_graph(other, clip_start, fps=60.0))


def test_every_partner_is_as_likely_and_the_seed_decides() -> None:
    rotvec, clip_start = np.zeros((41, 4, 3), np.float32), np.arange(42, dtype=np.int64)  # clips of one pose
    graphs = [build_graph(rotvec, clip_start, fps=60.0, degree=8, seed=seed) for seed in range(20)]
    assert_same(graphs[19], build_graph(rotvec, clip_start, fps=60.0, degree=8, seed=19))
    assert rows(graphs[19]) != rows(graphs[18])
    # Each is drawn with probability 8 / 40 in 40 rows of 20 graphs: 160 +- 11.
    drawn = sum(np.bincount(graph.neighbour, minlength=41) for graph in graphs)
    assert abs(drawn - 160).max() < 4.5 * math.sqrt(40 * 20 * 0.2 * 0.8)
    assert len({tuple(row) for row in rows(graphs[0])}) > 1


def test_many_spans_on_threads_and_progress() -> None:
    rotvec, clip_start = motion([260, 300], 2, step=0.05, joints=3)
    seen: list[tuple[int, int]] = []
    graph = build_graph(rotvec, clip_start, fps=6.0, progress=lambda done, total, _what: seen.append((done, total)))
    assert len(seen) > 16 and seen[-1] == (560, 560) and seen == sorted(seen)
    assert graph.ball.tolist() == [len(ball) for ball in balls(rotvec, graph.radius_rad)]
