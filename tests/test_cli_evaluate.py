"""`duocap evaluate` on a part of the real motions."""

import json
from pathlib import Path

import pytest

from config.errors import DatabaseError
from config.settings import Settings
from database.build import build_database
from tools.cli import run
from tools.evaluation.protocol import cmu_folder
from tools.evaluation.rendered import Options, evaluate_end_to_end
from tools.evaluation.synthesis import SynthesisOptions, evaluate_synthesis


@pytest.fixture(scope="module")
def walks(motion_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of other walks of the subject that is asked for."""
    folder = cmu_folder(motion_dir) / "07"
    files = sorted(folder.glob("07_0[1-5].amc"))
    if not files or not (folder / "07_08.amc").is_file():
        pytest.skip(f"no walks in {folder}")
    path = tmp_path_factory.mktemp("walks") / "walks.db"
    build_database(files, path, processes=1)
    return path


@pytest.mark.parametrize(
    "command", ["synthesis", "search", "dimensionality", "end-to-end", "filtering", "feet", "acquisition", "missing", "labels"]
)
def test_every_command_has_help_and_needs_the_motions(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["evaluate", command, "--help"])
    assert ended.value.code == 0
    assert "--motion" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        run(["evaluate", command])
    assert ended.value.code == 2


def test_no_motions(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no CMU motions"):
        run(["evaluate", "synthesis", "--motion", str(tmp_path)])


@pytest.mark.slow
def test_synthesis_in_two_processes_is_that_in_one(motion_dir: Path, walks: Path, tmp_path: Path) -> None:
    found = []
    for processes in (1, 2):
        options = SynthesisOptions(
            motion_dir, walks, ("07_08", "16_15"), 0.7, methods=("NN", "ours"), variants=("exact", "missing"), processes=processes
        )
        runs = evaluate_synthesis(options, Settings(), tmp_path / "a.json", None)
        assert [(run.clip, run.variant, run.method) for run in runs][:4] == [
            ("07_08", "exact", "NN"),
            ("07_08", "exact", "ours"),
            ("07_08", "missing", "NN"),
            ("07_08", "missing", "ours"),
        ]
        assert len(runs) == 8 and all(len(run.asf_deg) == 41 for run in runs)
        found.append({(run.clip, run.variant, run.method): run.means["position_mm"] for run in runs})
    assert found[0] == found[1]
    assert found[0]["07_08", "exact", "ours"] < found[0]["07_08", "exact", "NN"] < 60.0
    written = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert written[1]["position_mm"] == found[1]["07_08", "exact", "ours"] and len(written[1]["by_frame"]["asf_deg"]) == 41


@pytest.mark.slow
@pytest.mark.parametrize("cameras", [1, 2])
def test_end_to_end(motion_dir: Path, walks: Path, cameras: int, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options("all_around", 0.5, cameras=cameras)
    (result,) = evaluate_end_to_end(motion_dir, walks, Settings(), options, clips=("07_08",), processes=1)
    assert result.score.tracked == 1.0 and result.score.frames >= 30
    assert result.score.position_mm[0] < (200.0 if cameras == 1 else 50.0)  # along one line of sight depth is a guess
    assert result.asf_deg[0] < 8.0
    assert "07_08" in capsys.readouterr().out


@pytest.mark.slow
def test_feet(motion_dir: Path, walks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--motion", str(motion_dir), "--database", str(walks), "--clip", "07_08", "--json", str(tmp_path / "a.json")]
    with pytest.raises(SystemExit) as ended:
        run(["evaluate", "feet", *given, "--seconds", "1.5"])
    assert ended.value.code in (0, None)
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[2:]] == ["07_08", "mean", "07_08", "mean"]
    seen, _, hidden, _ = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (seen["sight"], hidden["sight"], seen["frames"]) == ("seen", "hidden", 90)
    assert seen["after"]["slide_mm"] < seen["before"]["slide_mm"]


@pytest.mark.slow
def test_acquisition(motion_dir: Path, walks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--motion", str(motion_dir), "--database", str(walks), "--clip", "07_08", "--json", str(tmp_path / "a.json")]
    with pytest.raises(SystemExit) as ended:
        run(["evaluate", "acquisition", *given, "--markers", "boxing", "--trials", "3", "--quick"])
    assert ended.value.code in (0, None)
    assert len(capsys.readouterr().out.splitlines()) == 4
    plain, *others = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert len(others) == 2 and plain["case"] == "no past, 0 missing, 0 false"
    # Each of the three is found within a second, all nine markers named rightly, the pose as good as in tracking.
    assert all(0 < t["frames"] <= 60 and t["wrong"] == 0 and t["labelled"] == 1.0 for t in plain["trials"])
    assert all(t["error_mm"] < 60.0 for t in plain["trials"])


@pytest.mark.parametrize("command", ["feet", "acquisition"])
def test_a_clip_the_database_may_hold_is_refused(command: str, motion_dir: Path, walks: Path) -> None:
    with pytest.raises(DatabaseError, match="no clip of the protocol"):
        run(["evaluate", command, "--motion", str(motion_dir), "--database", str(walks), "--clip", "07_77"])
