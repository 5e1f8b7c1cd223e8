"""The neighbour graph extended by clips, its limit, and stored in a database's file."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import database.graph.build as graph_build
from config.arrays import Ints, Singles
from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.clips import Clip
from database.geometry.skeleton import Skeleton
from database.graph.build import (
    JOINT_ANGLES,
    build_graph,
    compute_limit_rad,
    extend_graph,
    make_graph_deriver,
    make_graph_extender,
)
from database.graph.neighbours import Graph, find_graph
from database.store import append_clips, open_database, write_database
from tests.database.graph.graphs import adjacent, assert_same, motion, rows

BODY = Skeleton("body", np.arange(N_JOINTS * 3.0).reshape(N_JOINTS, 3), np.ones((N_JOINTS, 3)))


def clip(name: str, n: int, seed: int, fps: float = 60.0) -> Clip:
    """Return a slow random walk."""
    rng = np.random.default_rng(seed)
    return Clip(name, BODY, fps, np.cumsum(rng.normal(0.0, 0.01, (n, N_JOINTS, 3)), axis=0), rng.normal(size=(n, 3)))


@settings(max_examples=15)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(0, 99), st.data())
def test_extended_is_the_same_as_built_at_once(lengths: list[int], seed: int, data: st.DataObject) -> None:
    rotvec, clip_start = motion(lengths, seed)
    cut = data.draw(st.integers(1, len(lengths) - 1))
    old_n, eps_rad = int(clip_start[cut]), math.radians(data.draw(st.sampled_from([1.0, 6.0])))
    whole = build_graph(rotvec, clip_start, fps=60.0, eps_rad=eps_rad, degree=3, seed=5)
    old = build_graph(rotvec[:old_n], clip_start[: cut + 1], fps=60.0, eps_rad=eps_rad, degree=3, seed=5)
    assert_same(extend_graph(old, rotvec, clip_start, fps=60.0), whole)


def test_old_poses_are_not_compared_again() -> None:
    # What the stored graph has of old poses is trusted: a row emptied on purpose stays without old partners.
    rotvec, clip_start = motion([9, 8, 7], 3, step=0.01)
    old = build_graph(rotvec[:17], clip_start[:3], fps=60.0, degree=40)
    none = Graph(np.zeros(18, np.int64), np.zeros(0, np.int32), np.zeros(17, np.int32), old.radius_rad, 40, 0)
    grown = extend_graph(none, rotvec, clip_start, fps=60.0)
    near = adjacent(clip_start)
    assert all(set(row) - near[n] <= set(range(17, 24)) for n, row in enumerate(rows(grown)[:17]))
    assert grown.ball[:17].max() <= 7 and rows(grown)[17:] == rows(build_graph(rotvec, clip_start, fps=60.0, degree=40))[17:]
    with pytest.raises(DatabaseError, match="pose 5, in the middle of a clip"):
        extend_graph(build_graph(rotvec[:5], np.array([0, 5]), fps=60.0), rotvec, clip_start, fps=60.0)


def test_limit_is_the_speed_of_the_motion_for_a_frame_of_the_camera() -> None:
    # 2000 steps of 0.1 rad in each of 6 coordinates: 0.6 rad at 120 Hz, 1.2 rad in a frame of 60 Hz, 1.49 degrees a joint angle.
    rotvec, clip_start = np.zeros((2001, 3, 3), np.float32), np.array([0, 2001])
    rotvec[1::2, 1:] = 0.1

    def degrees(poses: Singles, clip_start: Ints, fps: float = 120.0, eps_rad: float = 0.0) -> float:
        return math.degrees(compute_limit_rad(poses, clip_start, fps, 60.0, eps_rad)) / JOINT_ANGLES

    assert degrees(rotvec, clip_start) == pytest.approx(1.5) and degrees(rotvec, clip_start, 60.0) == pytest.approx(0.75)
    assert degrees(rotvec, clip_start, eps_rad=math.radians(3.0)) == pytest.approx(3.0)
    # One frame that jumps away and back, and the jump from clip to clip, do not count; four such jumps do.
    jumping = rotvec.copy()
    jumping[1000, 1:] = 2.0
    assert degrees(jumping, clip_start) == pytest.approx(1.5)
    apart = rotvec + np.where(np.arange(2001) < 700, 0.0, 2.0)[:, None, None].astype(np.float32)
    assert degrees(apart, np.array([0, 700, 2001])) == pytest.approx(1.5)
    jumping[[200, 400, 600, 800], 1:] = 2.0
    assert degrees(jumping, clip_start) > math.degrees(2 * 6 * 1.8) / JOINT_ANGLES - 0.25


def test_the_graph_in_the_file_is_that_of_its_poses_also_when_clips_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write_database(path, [clip("a", 30, 1), clip("b", 20, 2)], [clip("t", 5, 3)], ["note"], derive=make_graph_deriver())
    first = open_database(path)
    graph = find_graph(first)
    assert_same(graph, build_graph(first.rotvec, first.clip_start, fps=60.0))
    assert graph is not None and not graph.neighbour.flags.writeable and graph.n_poses == 55
    more = [clip("c", 12, 4), clip("d", 9, 5)]
    del first, graph
    append_clips(path, more, ["later"], make_graph_extender(path))
    database = open_database(path)
    assert database.clip_names == ("a", "b", "t", "c", "d") and database.notes == ("note", "later")
    assert database.generated.tolist() == [False, False, True, False, False] and len(database.skeletons) == 1
    np.testing.assert_array_equal(database.clip(0).rotvec, clip("a", 30, 1).rotvec.astype(np.float32))
    np.testing.assert_array_equal(database.clip(4).root_m, more[1].root_m.astype(np.float32))
    assert_same(find_graph(database), build_graph(database.rotvec, database.clip_start, fps=60.0))
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="at 30 Hz, expected 60"):
        append_clips(path, [clip("c", 12, 4), clip("d", 9, 5, fps=30.0)], [], make_graph_extender(path))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_database_without_graph_has_none_until_one_is_stored(tmp_path: Path) -> None:
    write_database(tmp_path / "old.db", [clip("a", 30, 1)])
    assert find_graph(open_database(tmp_path / "old.db")) is None and make_graph_extender(tmp_path / "old.db") is None
    graph_build.store_graph(tmp_path / "old.db", camera_fps=30.0, degree=3, seed=7)
    database = open_database(tmp_path / "old.db")
    stored = find_graph(database)
    assert_same(stored, build_graph(database.rotvec, database.clip_start, fps=60.0, camera_fps=30.0, degree=3, seed=7))
    assert stored is not None and (stored.degree, stored.seed, stored.camera_fps) == (3, 7, 30.0)
