"""The graph in the database's file: stored, damaged, missing, and kept up to date when motions are added."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.add import add_to_database
from database.build import build_database
from database.clips import Clip
from database.graph import BALL, NAMES, NEIGHBOUR, RULE, START, Graph, graph_arrays, graph_of
from database.graph_build import build_graph
from database.graph_store import graph_deriver, graph_extender, store_graph
from database.graph_summary import graph_summary
from database.skeleton import Skeleton
from database.store import add_arrays, append_clips, open_database, write_database
from tests.motion_files import random_values, write_amc

BODY = Skeleton("body", np.arange(N_JOINTS * 3.0).reshape(N_JOINTS, 3), np.ones((N_JOINTS, 3)))


def clip(name: str, n: int, seed: int, fps: float = 60.0) -> Clip:
    """Give a slow walk about one place."""
    rng = np.random.default_rng(seed)
    rotvec = np.cumsum(rng.normal(0.0, 0.01, (n, N_JOINTS, 3)), axis=0)
    return Clip(name, BODY, fps, rotvec, rng.normal(size=(n, 3)))


def assert_same(one: Graph | None, other: Graph | None) -> None:
    """Compare all that two graphs hold."""
    assert one is not None and other is not None
    for name, array in graph_arrays(one).items():
        np.testing.assert_array_equal(array, graph_arrays(other)[name])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a database with a graph."""
    write_database(tmp_path / "a.db", [clip("a", 30, 1), clip("b", 20, 2)], [clip("t", 5, 3)], ["note"], derive=graph_deriver())
    return tmp_path / "a.db"


def test_the_graph_is_in_the_file_and_that_of_its_poses(path: Path) -> None:
    database = open_database(path)
    graph = graph_of(database)
    assert_same(graph, build_graph(database.rotvec, database.clip_start, fps=60.0))
    assert graph is not None and not graph.neighbour.flags.writeable and graph.n_poses == 55


def test_a_database_without_graph_has_none_until_one_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    write_database(path, [clip("a", 30, 1)])
    assert graph_of(open_database(path)) is None and graph_extender(path) is None
    stored = store_graph(path, camera_fps=30.0, degree=3, seed=7)
    assert_same(graph_of(open_database(path)), stored)
    assert (stored.degree, stored.seed, stored.camera_fps) == (3, 7, 30.0)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (START, np.arange(55)),
        (START, np.zeros(56)),
        (NEIGHBOUR, np.zeros(3, np.int32)),
        (NEIGHBOUR, "too high"),
        (NEIGHBOUR, "negative"),
        (START, "falling"),
        (BALL, np.zeros(54, np.int32)),
        (RULE, np.zeros(2)),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(path: Path, name: str, array: object) -> None:
    graph = graph_of(open_database(path))
    assert graph is not None
    if isinstance(array, str):
        broken = np.array(graph_arrays(graph)[name])
        broken[4] = {"too high": 55, "negative": -1, "falling": broken[3] - 1}[array]
        array = broken
    del graph
    add_arrays(path, {name: np.asarray(array)})
    with pytest.raises(DatabaseError, match="does not fit its 55 poses"):
        graph_of(open_database(path))
    store_graph(path)
    assert graph_of(open_database(path)) is not None


def test_appended_clips_come_last_and_into_the_graph(path: Path) -> None:
    more = [clip("c", 12, 4), clip("d", 9, 5)]
    append_clips(path, more, ["later"], graph_extender(path))
    database = open_database(path)
    assert database.clip_names == ("a", "b", "t", "c", "d") and database.notes == ("note", "later")
    assert database.generated.tolist() == [False, False, True, False, False]
    np.testing.assert_array_equal(database.clip(0).rotvec, clip("a", 30, 1).rotvec.astype(np.float32))
    np.testing.assert_array_equal(database.clip(4).root_m, more[1].root_m.astype(np.float32))
    assert len(database.skeletons) == 1
    assert_same(graph_of(database), build_graph(database.rotvec, database.clip_start, fps=60.0))


def test_a_failed_addition_leaves_the_file(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="at 30 Hz, expected 60"):
        append_clips(path, [clip("c", 12, 4), clip("d", 9, 5, fps=30.0)], [], graph_extender(path))
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_motions_are_added_as_they_are_built(tmp_path: Path) -> None:
    for k, n in enumerate((40, 30, 20), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    files = [tmp_path / "77" / f"77_0{k}.amc" for k in (1, 2, 3)]
    build_database(files[:1], tmp_path / "a.db")
    build_database(files, tmp_path / "all.db", leave_out=["77_03:-4"], graph=False)
    n_clips = open_database(tmp_path / "a.db").n_clips
    report = add_to_database(tmp_path / "a.db", [tmp_path / "77"], leave_out=["77_03:-4"])
    assert any("77_01: in the database already" in note for note in report.notes)
    database, whole = open_database(tmp_path / "a.db"), open_database(tmp_path / "all.db")
    assert graph_of(whole) is None
    assert database.clip_names[n_clips:] == whole.clip_names[1:3] == ("77_02", "77_03+4")
    for k, name in enumerate(database.clip_names[n_clips:], start=n_clips):
        np.testing.assert_array_equal(database.clip(k).rotvec, whole.clip(whole.clip_names.index(name)).rotvec)
    assert_same(graph_of(database), build_graph(database.rotvec, database.clip_start, fps=60.0))
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(DatabaseError, match="nothing to add"):
        add_to_database(tmp_path / "a.db", files[:2])
    with pytest.raises(DatabaseError, match="no such file"):
        add_to_database(tmp_path / "a.db", [tmp_path / "78"])
    assert (tmp_path / "a.db").read_bytes() == before


def test_summary_by_hand() -> None:
    # 0 -> 1 -> 2, 3 -> 4, 5 by itself.
    start, neighbour = np.array([0, 1, 2, 2, 3, 3, 3]), np.array([1, 2, 4], np.int32)
    summary = graph_summary(Graph(start, neighbour, np.array([1, 9, 2, 0, 3, 0], np.int32), 1.0, 1, 0))
    assert (summary.degree_mean, summary.ball_mean, summary.ball_median, summary.ball_max) == (0.5, 2.5, 1.5, 9)
    assert (summary.components, summary.largest, summary.alone) == (3, 0.5, 2)
    assert summary.line() == (
        "degree 0.5; 2 poses in reach on average, median 2, largest 9; 3 parts, the largest 50 %, 2 poses alike to none"
    )


def test_names_are_those_stored(path: Path) -> None:
    assert set(open_database(path).extra) == set(NAMES)
