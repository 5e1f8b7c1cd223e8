"""Building and adding: what is left out, duplicates, bad files, progress, several processes."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError, DuocapError, FileFormatError
from database.build import ALL_FRAMES, PARALLEL_FROM, add_to_database, build_database, find_left_out_ranges, parse_leave_out
from database.files.read import read_clip
from database.graph.build import build_graph
from database.graph.neighbours import arrays_from_graph, find_graph
from database.store import PoseDatabase, open_database
from tests.support.files.motion import random_values, write_amc


@pytest.mark.parametrize(
    ("text", "stem", "start", "stop"),
    [
        ("14_31", "14_31", 0, ALL_FRAMES),
        ("32_*", "32_*", 0, ALL_FRAMES),
        ("14_02:3001-", "14_02", 3000, ALL_FRAMES),
        ("14_02:-100", "14_02", 0, 100),
        ("14_02:10-20", "14_02", 9, 20),
        ("14_02:7", "14_02", 6, 7),
    ],
)
def test_rules(text: str, stem: str, start: int, stop: int) -> None:
    rule = parse_leave_out(text)
    assert (rule.stem, rule.start, rule.stop) == (stem, start, stop)


def test_rules_go_by_whole_names_and_what_is_no_rule_is_refused() -> None:
    for text in ("", ":3-", "14_02:", "14_02:-", "14_02:x-", "14_02:0-5", "14_02:9-3", "14_02:1-2-3"):
        with pytest.raises(DatabaseError, match="--leave-out"):
            parse_leave_out(text)
    rules = [parse_leave_out(text) for text in ("14_0", "3*_01", "14_02:5-")]
    assert find_left_out_ranges(rules, ["14_02"]) == [(4, ALL_FRAMES)]
    assert find_left_out_ranges(rules, ["32_01", "38_01"]) == [(0, ALL_FRAMES)]
    assert find_left_out_ranges(rules, ["9_9"]) == []


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder of two subjects: 77_01 of 9 frames, 77_02 of 6, its copy 77_03 with other line ends, and 78_01 of 5."""
    folder = tmp_path / "motions"
    write_amc(folder / "77", random_values(np.random.default_rng(1), 9), "77_01")
    second = write_amc(folder / "77", random_values(np.random.default_rng(2), 6), "77_02")
    (folder / "77" / "77_03.amc").write_bytes(b"# a copy\r\n" + second.read_bytes().replace(b"\n", b"\r\n"))
    write_amc(folder / "78", random_values(np.random.default_rng(3), 5), "78_01")
    return folder


def captured(database: PoseDatabase) -> dict[str, int]:
    """Return the frames of each clip that was not generated."""
    n = np.diff(database.clip_start)
    return {name: int(n[k]) for k, name in enumerate(database.clip_names) if not database.generated[k]}


def built(sources: Path, out: Path, **options: object) -> PoseDatabase:
    """Build at the files' own rate, without a graph, and open."""
    build_database([sources], out, 120.0, **{"graph": False, **options})  # type: ignore[arg-type]
    return open_database(out)


def test_all_clips_once_with_t_poses_beside(sources: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    build_database([sources], tmp_path / "a.db", 20.0, progress=lambda *news: seen.append(news))
    database = open_database(tmp_path / "a.db")
    assert captured(database) == {"77_01": 2, "77_02": 1, "78_01": 1}
    assert database.generated.sum() > 10
    assert any("77_02, 77_03" in note for note in database.notes)
    assert seen[:3] == [(1, 3, "77_01"), (2, 3, "77_02"), (3, 3, "78_01")]
    assert seen[-1] == (database.n_poses, database.n_poses, "neighbours")
    assert database.skeletons[int(database.clip_skeleton[-1])].name == "median"
    np.testing.assert_allclose(database.clip(2).root_m, read_clip(sources / "78" / "78_01.amc").root_m[:1], atol=1e-6)


def test_frames_and_clips_are_left_out_under_every_name(sources: Path, tmp_path: Path) -> None:
    database = built(sources, tmp_path / "a.db", leave_out=["77_01:3-5", "77_03", "79_*"])
    assert captured(database) == {"77_01": 2, "77_01+5": 4, "78_01": 5}
    assert any("79_*: no such clip" in note for note in database.notes)


def test_nothing_left_is_an_error_and_no_file(sources: Path, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no motion files"):
        built(sources, tmp_path / "a.db", leave_out=["7*"])
    with pytest.raises(DatabaseError, match="no such file or folder"):
        built(sources / "none", tmp_path / "a.db")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatabaseError, match="no motion files in this folder"):
        built(tmp_path / "empty", tmp_path / "a.db")
    with pytest.raises(DatabaseError, match="frames a second"):
        build_database([sources], tmp_path / "a.db", 0.0)
    assert not (tmp_path / "a.db").exists()


def test_a_bad_file_stops_the_build_or_is_skipped(sources: Path, tmp_path: Path) -> None:
    bad = sources / "77" / "77_01.amc"
    bad.write_text(bad.read_text(encoding="utf-8").replace("\nlfemur ", "\nlfemur nan ", 1), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"77_01\.amc, line \d+"):
        built(sources, tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()
    database = built(sources, tmp_path / "a.db", skip_bad=True)
    assert captured(database) == {"77_02": 6, "78_01": 5}
    assert any("77_01.amc, line" in note for note in database.notes)


def test_single_files_and_skeletons_among_them_at_other_rates(sources: Path, tmp_path: Path) -> None:
    files = sorted((sources / "77").iterdir()) + sorted((sources / "78").iterdir())
    build_database(files, tmp_path / "a.db", 50.0, graph=False)
    assert captured(open_database(tmp_path / "a.db")) == {"77_01": 4, "77_02": 3, "78_01": 2}


def test_motions_are_added_as_they_are_built(tmp_path: Path) -> None:
    for k, n in enumerate((40, 30, 20), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    files = [tmp_path / "77" / f"77_0{k}.amc" for k in (1, 2, 3)]
    build_database(files[:1], tmp_path / "a.db", 15.0)
    build_database(files, tmp_path / "all.db", 15.0, leave_out=["77_03:-4"], graph=False)
    n_clips = open_database(tmp_path / "a.db").n_clips
    (tmp_path / "77" / "77_04.amc").write_text(files[1].read_text("utf-8").replace("\n2\n", "\n# the same\n2\n"), "utf-8")
    report = add_to_database(tmp_path / "a.db", [tmp_path / "77"], leave_out=["77_03:-4"])
    assert sum("77_01: in the database already" in note or "77_04: in the" in note for note in report.notes) == 2
    database, whole = open_database(tmp_path / "a.db"), open_database(tmp_path / "all.db")
    assert find_graph(whole) is None
    assert database.clip_names[n_clips:] == whole.clip_names[1:3] == ("77_02", "77_03+4")
    for k, name in enumerate(database.clip_names[n_clips:], start=n_clips):
        np.testing.assert_array_equal(database.clip(k).rotvec, whole.clip(whole.clip_names.index(name)).rotvec)
    expected = arrays_from_graph(build_graph(database.rotvec, database.clip_start, fps=15.0))
    assert all(np.array_equal(database.extra[name], array) for name, array in expected.items())
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(DatabaseError, match="nothing to add"):
        add_to_database(tmp_path / "a.db", files[:2])
    with pytest.raises(DatabaseError, match="no such file"):
        add_to_database(tmp_path / "a.db", [tmp_path / "78"])
    assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.slow
def test_processes_give_the_same_file_and_pass_errors_on(sources: Path, tmp_path: Path) -> None:
    for k in range(PARALLEL_FROM):
        write_amc(sources / "77", random_values(np.random.default_rng(100 + k), 4), f"77_{k + 10}")
    build_database([sources], tmp_path / "one.db", 60.0, processes=1)
    build_database([sources], tmp_path / "two.db", 60.0, processes=2)
    assert (tmp_path / "one.db").read_bytes() == (tmp_path / "two.db").read_bytes()
    (sources / "77" / "77_15.amc").write_text("nonsense", encoding="utf-8")
    with pytest.raises(DuocapError, match=r"77_15\.amc, line 1"):
        build_database([sources], tmp_path / "three.db", 60.0, processes=2)
    assert not (tmp_path / "three.db").exists()
