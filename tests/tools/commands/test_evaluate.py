"""`duocap evaluate`: what every command asks for and refuses, and some of them on a part of the real motions."""

import json
from pathlib import Path

import numpy as np
import pytest

from database.build import build_database
from tests.support.commands import duocap
from tools.evaluate.protocol import cmu_folder

COMMANDS = (
    "synthesis",
    "search",
    "dimensionality",
    "end-to-end",
    "filtering",
    "feet",
    "acquisition",
    "posing",
    "missing",
    "labels",
)


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
def test_every_command_has_help_and_needs_the_motions(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = duocap(capsys, "evaluate", command, "--help")
    assert asked.status == 0 and "--motion" in asked.out
    assert duocap(capsys, "evaluate", command).status == 2


def test_a_folder_without_motions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = duocap(capsys, "evaluate", "synthesis", "--motion", tmp_path)
    assert result.status != 0 and "no CMU motions" in result.last


@pytest.mark.slow
@pytest.mark.parametrize("command", ["feet", "acquisition"])
def test_a_clip_that_is_no_query_is_refused(
    command: str, motion_dir: Path, walks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = duocap(capsys, "evaluate", command, "--motion", motion_dir, "--database", walks, "--clip", "07_77")
    assert result.status != 0 and "no clip of the protocol" in result.last


def run(capsys: pytest.CaptureFixture[str], command: str, motion: Path, walks: Path, file: Path, *words: object) -> list[str]:
    """Run a command on one clip; return the lines it prints."""
    given = ("--motion", motion, "--database", walks, "--clip", "07_08", "--json", file)
    result = duocap(capsys, "evaluate", command, *given, *words)
    assert result.status == 0, result.err
    return result.out.splitlines()


@pytest.mark.slow
def test_synthesis_in_two_processes_equals_that_in_one(
    motion_dir: Path, walks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--clip", "16_15", "--seconds", "0.7"]
    for name in ("NN", "ours"):
        words += ["--method", name]
    for name in ("exact", "missing"):
        words += ["--variant", name]
    found = []
    for processes in (1, 2):
        run(capsys, "synthesis", motion_dir, walks, tmp_path / "a.json", *words, "--processes", processes)
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


@pytest.mark.slow
def test_feet(motion_dir: Path, walks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = run(capsys, "feet", motion_dir, walks, tmp_path / "a.json", "--seconds", "1.5")
    assert [line.split()[0] for line in table[2:]] == ["07_08", "mean", "07_08", "mean"]
    seen, _, hidden, _ = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (seen["sight"], hidden["sight"], seen["frames"]) == ("seen", "hidden", 90)
    assert seen["after"]["slide_mm"] < seen["before"]["slide_mm"]


@pytest.mark.slow
def test_acquisition(motion_dir: Path, walks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "acquisition", motion_dir, walks, tmp_path / "a.json", "--markers", "boxing", "--trials", "3", "--quick")
    assert len(lines) == 4
    plain, *others = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert len(others) == 2 and plain["case"] == "no past, 0 missing, 0 false"
    # Found within a second, all nine markers labelled correctly, the pose as good as in tracking.
    assert all(0 < t["frames"] <= 60 and t["wrong"] == 0 and t["labelled"] == 1.0 for t in plain["trials"])
    assert np.max([t["error_mm"] for t in plain["trials"]]) < 60.0
