"""`duocap evaluate`: what every command asks for and refuses, and some of them on a part of the real motions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from database.build import build_database
from tests.support.clusters import ROOT
from tests.support.commands import duocap
from tools.commands.evaluate.group import MOVED
from tools.evaluate.protocol import cmu_folder

COMMANDS = ("synthesis", "end-to-end", "missing", "labels")


@pytest.fixture(scope="module")
def walks(motion_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of other walks of the performer of the queries."""
    folder = cmu_folder(motion_dir) / "07"
    files = sorted(folder.glob("07_0[1-5].amc"))
    if not files or not (folder / "07_08.amc").is_file():
        pytest.skip(f"no walks in {folder}")
    path = tmp_path_factory.mktemp("walks") / "walks.db"
    build_database(files, path, processes=1)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_needs_motions_or_a_clip(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = duocap(capsys, "evaluate", command, "--help")
    assert asked.status == 0 and "--motion" in asked.out
    result = duocap(capsys, "evaluate", command)
    assert result.status == 1 and "no clip is named; give a motion by --clip FILE" in result.last
    result = duocap(capsys, "evaluate", command, "--clip", "07_08")
    assert result.status == 1 and "clip 07_08 is no file" in result.last


@pytest.mark.parametrize("command", MOVED)
def test_a_command_that_moved_says_where_it_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = duocap(capsys, "evaluate", command, "--motion", "x", "--clip", "07_08", "--quick")
    assert result.status == 2 and result.err.count("\n") == 1
    assert f"python -m benchmarks.papers {MOVED[command]} --motion DIR" in result.err
    assert f"  {command} " not in duocap(capsys, "evaluate", "--help").out


def test_a_folder_without_motions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = duocap(capsys, "evaluate", "synthesis", "--motion", tmp_path)
    assert result.status != 0 and "no CMU motions" in result.last


def run(capsys: pytest.CaptureFixture[str], command: str, motion: Path, walks: Path, file: Path, *words: object) -> list[str]:
    """Run a command on one clip; return the lines it prints."""
    given = ("--motion", motion, "--database", walks, "--clip", "07_08", "--json", file)
    result = duocap(capsys, "evaluate", command, *given, *words)
    assert result.status == 0, result.err
    return result.out.splitlines()


@pytest.mark.slow
def test_synthesis_in_two_processes_equals_that_in_one(motion_dir: Path, walks: Path, tmp_path: Path) -> None:
    words = ["--clip", "07_08", "--clip", "16_15", "--seconds", "0.7"]
    for name in ("NN", "ours"):
        words += ["--method", name]
    for name in ("exact", "missing"):
        words += ["--variant", name]
    found = []
    words += ["--motion", str(motion_dir), "--database", str(walks), "--json", str(tmp_path / "a.json")]
    for processes in ("1", "2"):  # not in this one, whose kernels may be compiled for arrays of another layout: other sums
        command = [sys.executable, "-m", "tools.launch", "evaluate", "synthesis", *words, "--processes", processes]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        runs = json.loads((tmp_path / "a.json").read_text("utf-8"))
        cells = [(each["clip"], each["variant"], each["method"]) for each in runs]
        assert cells[:2] == [("07_08", "exact", "NN"), ("07_08", "exact", "ours")] and len(set(cells)) == 8
        assert all(len(each["by_frame"]["asf_deg"]) == 41 for each in runs)
        found.append(dict(zip(cells, [each["position_mm"] for each in runs], strict=True)))
    assert found[0] == found[1]
    assert found[0]["07_08", "exact", "ours"] < found[0]["07_08", "exact", "NN"] < 60.0


@pytest.mark.slow
@pytest.mark.parametrize("cameras", [1, 2])
def test_end_to_end(motion_dir: Path, walks: Path, tmp_path: Path, cameras: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--markers", "all_around", "--seconds", 0.5, "--cameras", cameras, "--processes", 1)
    lines = run(capsys, "end-to-end", motion_dir, walks, tmp_path / "a.json", *words)
    (result,) = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert result["score"]["tracked"] == 1.0 and result["score"]["frames"] >= 30
    assert result["score"]["position_mm"][0] < (200.0 if cameras == 1 else 50.0)  # along one ray depth is uncertain
    assert result["asf_deg"][0] < 8.0
    assert any(line.startswith("07_08") for line in lines)
