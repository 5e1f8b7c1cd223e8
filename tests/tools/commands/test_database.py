"""`duocap database build`, `add`, `graph` and `info` as a user calls them."""

from pathlib import Path

import numpy as np
import pytest

from database.graph.neighbours import find_graph
from database.store import open_database
from tests.support.commands import Result, duocap
from tests.support.files.motion import random_values, write_amc
from tools.commands.database import repeated


def database(capsys: pytest.CaptureFixture[str], *words: object) -> Result:
    """Run `duocap database`."""
    return duocap(capsys, "database", *words)


def test_a_list_after_leave_out_is_spelt_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    words = ["src", "--leave-out", "07_08", "32_*", "14_02:3001-", "more", "--out", "a.db", "x"]
    split = ["src", "--leave-out", "07_08", "--leave-out", "32_*", "--leave-out", "14_02:3001-", "more", "--out", "a.db", "x"]
    assert repeated(words) == split
    assert repeated(split) == split
    assert repeated(["--leave-out"]) == ["--leave-out"]


def test_build_and_info(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for k, n in enumerate((9, 7, 5), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    done = database(capsys, "build", "77", "--out", "a.db", "--leave-out", "77_02", "77_01:5-", "--fps", "120")
    assert done.status == 0, done.err
    assert "left out: 77_02" in done.out and "left out: 77_01:5-" in done.out
    info = database(capsys, "info", "a.db")
    assert info.status == 0, info.err
    lines = dict(line.split(maxsplit=1) for line in info.out.splitlines() if not line.startswith("note"))
    assert lines["clips"].startswith("2 captured, ")
    assert "at 120 Hz" in lines["poses"] and lines["checksum"] == "ok" and lines["graph"].startswith("degree 1")
    assert lines["skeletons"].startswith("2, ")

    data = bytearray((tmp_path / "a.db").read_bytes())
    data[200] ^= 4
    (tmp_path / "a.db").write_bytes(data)
    broken = database(capsys, "info", "a.db")
    assert broken.status == 1 and "rotvec differ" in broken.err


def test_add_and_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for k, n in enumerate((9, 7), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    assert database(capsys, "build", "77/77_01.amc", "--out", "a.db", "--no-graph").status == 0
    assert find_graph(open_database(tmp_path / "a.db")) is None
    made = database(capsys, "graph", "a.db", "--degree", "5")
    assert made.status == 0 and made.out.startswith("neighbour graph: degree ")
    n_poses = open_database(tmp_path / "a.db").n_poses
    added = database(capsys, "add", "a.db", "77")
    assert added.status == 0 and "77_01: in the database already" in added.out
    made_db = open_database(tmp_path / "a.db")
    graph = find_graph(made_db)
    assert made_db.n_poses == n_poses + 4 and graph is not None and (graph.n_poses, graph.degree) == (n_poses + 4, 5)


def test_files_mirror_images_and_thinning_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUOCAP_DATABASES", str(tmp_path / "mine"))
    for k, n in enumerate((9, 7, 5), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    options = ("--thin", "0.5deg", "--parts", "2", "--mirrored")
    made = database(capsys, "build", "77", "--out", "mine/a.db", *options)
    assert made.status == 0, made.err
    assert "searched in their mirror images, too" in made.out and "thinned to 0.5 degrees" in made.out
    told = "3 files, mirrored, thinned to 0.5 degrees"
    assert told in database(capsys, "list").out and told in database(capsys, "use", "a").out
    assert database(capsys, "build", "77/77_03.amc", "--out", "mine/b.db").status == 0
    assert database(capsys, "join", "mine/c.db", "mine/a.db", "mine/b.db").status == 0
    listed = {line[2:].partition(":")[0]: line.partition(" (")[0] for line in database(capsys, "list").out.splitlines()}
    assert listed["a"].startswith("* ") and "files" not in listed["b"] and "thinned" not in listed["b"]
    assert "4 files, thinned to 0.5 degrees, some files not" in listed["c"]
    for name, thinned, mirrored, files in (("a", "to 0.5 degrees", "searched in", 3), ("b", "no", "no", 1)):
        info = dict(line.split(maxsplit=1) for line in database(capsys, "info", f"mine/{name}.db").out.splitlines())
        assert info["thinned"] == thinned and info["mirrored"].startswith(mirrored) and info["files"].count(",") == files - 1
    assert database(capsys, "remove", "a").status == 0 and not (tmp_path / "mine" / "a.parts").exists()
    gone = database(capsys, "list")
    assert gone.status == 0 and "part-001.db" in gone.out.partition("c: ")[2]  # what c was joined of, told in its line


def test_faulty_input_is_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_amc(tmp_path / "77", random_values(np.random.default_rng(1), 3))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("\nrfemur ", "\nrfemur nan ", 1), encoding="utf-8")
    line = text[: text.index("\nrfemur ") + 1].count("\n") + 1
    done = database(capsys, "build", tmp_path, "--out", tmp_path / "a.db")
    assert done.status == 1
    assert f"77_01.amc, line {line}: " in done.err and len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "a.db").exists()
