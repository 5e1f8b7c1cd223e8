"""`duocap database build`, `add`, `graph` and `info` as a user calls them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from database.graph.neighbours import graph_of
from database.store import open_database
from tests.support.files.motion import random_values, write_amc
from tools.commands.database import repeated

ROOT = Path(__file__).resolve().parents[3]


def duocap(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools.launch import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "database", *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_a_list_after_leave_out_is_spelt_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    words = ["src", "--leave-out", "07_08", "32_*", "14_02:3001-", "more", "--out", "a.db", "x"]
    split = ["src", "--leave-out", "07_08", "--leave-out", "32_*", "--leave-out", "14_02:3001-", "more", "--out", "a.db", "x"]
    assert repeated(words) == split
    assert repeated(split) == split
    assert repeated(["--leave-out"]) == ["--leave-out"]


def test_build_and_info(tmp_path: Path) -> None:
    for k, n in enumerate((9, 7, 5), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    done = duocap("build", "77", "--out", "a.db", "--leave-out", "77_02", "77_01:5-", "--fps", "120", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out: 77_02" in done.stdout and "left out: 77_01:5-" in done.stdout
    info = duocap("info", "a.db", cwd=tmp_path)
    assert info.returncode == 0, info.stderr
    lines = dict(line.split(maxsplit=1) for line in info.stdout.splitlines() if not line.startswith("note"))
    assert lines["clips"].startswith("2 captured, ")
    assert "at 120 Hz" in lines["poses"] and lines["checksum"] == "ok" and lines["graph"].startswith("degree 1")
    assert lines["skeletons"].startswith("2, ")

    data = bytearray((tmp_path / "a.db").read_bytes())
    data[200] ^= 4
    (tmp_path / "a.db").write_bytes(data)
    broken = duocap("info", "a.db", cwd=tmp_path)
    assert broken.returncode == 1 and "rotvec differ" in broken.stderr


def test_add_and_graph(tmp_path: Path) -> None:
    for k, n in enumerate((9, 7), start=1):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), n), f"77_0{k}")
    assert duocap("build", "77/77_01.amc", "--out", "a.db", "--no-graph", cwd=tmp_path).returncode == 0
    assert graph_of(open_database(tmp_path / "a.db")) is None
    made = duocap("graph", "a.db", "--degree", "5", cwd=tmp_path)
    assert made.returncode == 0 and made.stdout.startswith("neighbour graph: degree ")
    n_poses = open_database(tmp_path / "a.db").n_poses
    added = duocap("add", "a.db", "77", cwd=tmp_path)
    assert added.returncode == 0 and "77_01: in the database already" in added.stdout
    database = open_database(tmp_path / "a.db")
    graph = graph_of(database)
    assert database.n_poses == n_poses + 4 and graph is not None and (graph.n_poses, graph.degree) == (n_poses + 4, 5)


def test_faulty_input_is_one_line_and_status_1(tmp_path: Path) -> None:
    path = write_amc(tmp_path / "77", random_values(np.random.default_rng(1), 3))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("\nrfemur ", "\nrfemur nan ", 1), encoding="utf-8")
    line = text[: text.index("\nrfemur ") + 1].count("\n") + 1
    done = duocap("build", tmp_path, "--out", tmp_path / "a.db")
    assert done.returncode == 1
    assert f"77_01.amc, line {line}: " in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "a.db").exists()
