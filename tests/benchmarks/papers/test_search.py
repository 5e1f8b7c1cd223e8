"""Measures of the search, by hand; parts of a database; the queries an estimator without errors would put."""

from dataclasses import replace

import numpy as np

from benchmarks.papers.grown import cut_database
from benchmarks.papers.search import Found, compute_ratio, count_lost_frames, make_queries, time_search
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import SolveSettings
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_local_markers
from database.graph.neighbours import Graph
from database.store import PoseDatabase
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from tests.support.people import person, table_of, walk, worn_markers
from tools.evaluate.queries import MotionQuery

LINE = np.arange(40, dtype=np.float32)[:, None].repeat(3, axis=1)
EXAMPLES = Examples(np.zeros((40, 6), np.float32), LINE, np.zeros(40, np.int32), 60.0)


def at(position: float) -> Query:
    """Return the query for the poses around a position on the line."""
    return Query(np.full((1, 3), position), np.ones(1), None, np.zeros(0))


def test_distance_ratio_by_hand() -> None:
    """Distances 3 and 5 found where 2 and 2 are nearest: twice as far."""
    rows = np.array([0, 1])
    found, exact = (rows, np.array([9.0, 25.0], np.float32)), (rows, np.array([4.0, 4.0], np.float32))
    assert abs(compute_ratio(found, exact) - 2.0) < 1e-6
    assert compute_ratio((rows, np.zeros(2, np.float32)), (rows, np.zeros(2, np.float32))) == 1.0


def test_exhaustive_search_is_never_lost() -> None:
    search, queries = PoseSearch(EXAMPLES, None, None), [at(k / 2) for k in range(60)]
    timed = time_search(search, queries, 3)
    assert (timed.examined == 40).all() and (timed.us > 0).all()
    assert count_lost_frames(search, queries, timed.found, 3).tolist() == [0.0, 0.0]


class Slow(PoseSearch):
    """A search that gives the nearest three frames late."""

    def __init__(self) -> None:
        super().__init__(EXAMPLES, None, None)
        self.asked: list[Query] = []

    def nearest(self, query: Query, count: int) -> Found:
        self.asked.append(query)
        rows, _ = find_nearest_examples(EXAMPLES, self.asked[max(len(self.asked) - 4, 0)], count)
        return rows, compute_distances(EXAMPLES, query)[rows]


def test_frames_lost_by_hand() -> None:
    """Three frames after the jump to a still pose the late search shows it."""
    queries = [at(3.0)] * 10 + [at(30.0)] * 10
    steady = [find_nearest_examples(EXAMPLES, query, 3) for query in queries]
    lost = count_lost_frames(Slow(), queries, steady, 3)
    assert lost.tolist() == [3.0]


def test_a_part_has_exactly_as_many_poses() -> None:
    table = table_of([walk(build_person_skeleton(1.8), seed) for seed in range(4)])
    whole = len(table.rotvec)
    database = _database(table.rotvec, table.clip_start)
    for n in (1, 100, whole - 1, whole, whole + 5):
        part = cut_database(database, n)
        assert len(part.rotvec) == min(n, whole) == part.clip_start[-1] and part.clip_start[0] == 0
        assert (np.diff(part.clip_start) > 0).all()
    first = cut_database(database, 100).rotvec[:5]
    starts = [table.rotvec[start : start + 5] for start in table.clip_start[:-1]]
    assert any(np.array_equal(first, start) for start in starts)


def _database(rotvec: np.ndarray, clip_start: np.ndarray) -> PoseDatabase:
    """Return a database in memory."""
    n, c = len(rotvec), len(clip_start) - 1
    names, zeros = tuple(f"clip{k}" for k in range(c)), np.zeros(c, np.int64)
    return PoseDatabase(None, 60.0, rotvec, np.zeros((n, 3), np.float32), clip_start, names, zeros, (), zeros.astype(bool))


def test_queries_are_at_the_default_root_and_predict_well() -> None:
    subject = replace(person("boxing"), offset_m=read_marker_set("boxing").offset_m)
    clip = walk(subject.skeleton)
    marker_m, _ = worn_markers(subject, clip.rotvec, clip.root_m)
    visible = np.ones(marker_m.shape[:2], bool)
    visible[5, 2] = False
    motion = MotionQuery("walk", "walking", subject, clip.rotvec, clip.root_m, marker_m, visible, None, 0.004)  # type: ignore[arg-type]
    settings = SolveSettings()
    queries = make_queries(motion, settings)
    assert len(queries) == clip.n_frames - 2
    expected = compute_local_markers(subject.skeleton, clip.rotvec, subject.joint, subject.offset_m)
    for k in (2, 5, 40):
        query = queries[k - 2]
        np.testing.assert_allclose(query.marker_m, expected[k], atol=1e-9)
        assert query.pose is not None and query.pose.shape == (3 * (N_JOINTS - 1),)
        truth = clip.rotvec[k, 1:].ravel()
        assert np.abs(query.pose - truth).mean() < 0.5 * np.abs(clip.rotvec[k - 1, 1:].ravel() - truth).mean() + 1e-3
    assert queries[3].marker_weight[2] == 0.0
    np.testing.assert_allclose(queries[0].marker_weight, 1.0 / (0.004**2 + settings.query_marker_sigma_m**2))
    np.testing.assert_allclose(queries[0].pose_weight, settings.query_pose_sigma_rad**-2.0)


def test_a_graph_search_counts_what_it_examines() -> None:
    """Too few poses for a walk: all are tried, and counted."""
    graph = Graph(np.zeros(41, np.int64), np.zeros(0, np.int32), np.zeros(40, np.int32), 0.0, 16, 0)
    timed = time_search(PoseSearch(EXAMPLES, graph, None), [at(1.0), at(2.0)], 3)
    assert timed.examined.tolist() == [40.0, 40.0]
