"""`duocap evaluate --clip FILE` and `--clips`: anybody's motion as a query, and the sets of clips."""

import json
from pathlib import Path

import pytest

from database.builtin import build_person_skeleton
from database.clips import slice_clip
from database.store import open_database, write_database
from tests.support.commands import duocap
from tests.support.files.takes import write_clip
from tests.support.people import walk
from tests.tools.evaluate.walks import other_manner
from tools.commands.evaluate.clips import ClipPart, measure_clips
from tools.commands.evaluate.options import ClipOptions
from tools.evaluate.clip_sets import QUICK
from tools.evaluate.similar_motions import without_clips


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a BVH file of a walk, and a database of that walk and of one in another manner."""
    folder = tmp_path_factory.mktemp("clips")
    clip = walk(build_person_skeleton(1.78))
    write_clip(folder / "mine.bvh", clip)
    write_database(folder / "both.db", [clip, other_manner(clip)])
    return folder / "mine.bvh", folder / "both.db"


def test_a_file_is_measured_without_its_like(
    walked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.evaluate.protocol._cache_folder", lambda: tmp_path / "cache")
    file, database = walked
    words = ("--database", database, "--seconds", 0.5, "--variant", "exact", "--method", "NN", "--json", tmp_path / "a.json")
    result = duocap(capsys, "evaluate", "synthesis", "--clip", file, *words)
    assert result.status == 0, result.err
    (run,) = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (run["clip"], run["method"]) == ("mine", "NN")
    # Its own walk, with which the nearest example would be the truth, has been left out; the other manner bends a knee by 0.3.
    assert run["position_mm"] > 5.0


def test_a_file_alone_is_enough(
    walked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is measured with the database that is the default of all commands."""
    monkeypatch.setattr("tools.evaluate.protocol._cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr("tools.evaluate.protocol.find_default_database", lambda tell: walked[1])
    words = ("--seconds", 0.5, "--variant", "exact", "--method", "NN")
    result = duocap(capsys, "evaluate", "synthesis", "--clip", walked[0], *words)
    assert result.status == 0, result.err
    assert "given" in result.out


def test_a_database_that_is_cached_while_measuring_is_read_at_once(
    walked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that without a tuning clip's person, in a process that measures and writes its figures by itself."""
    monkeypatch.setattr("tools.evaluate.protocol._cache_folder", lambda: tmp_path / "cache")

    def measure(part: ClipPart) -> tuple[list[str], object]:
        """Return how many clips a copy without the first one has."""
        return [f"{part.clips[0].stem} measured"], open_database(without_clips(walked[1], {0}, tmp_path / "cache")).n_clips

    asked = ClipOptions(clip=[str(walked[0])], database=walked[1], json=tmp_path / "a.json")
    measure_clips(asked, measure)
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == 1 and "mine measured" in capsys.readouterr().out


@pytest.fixture(scope="module")
def short(walked: tuple[Path, Path]) -> Path:
    """Return the first second and a half of the walk as a file: nothing is left to learn from before the second half."""
    return write_clip(walked[0].with_name("short.bvh"), slice_clip(walk(build_person_skeleton(1.78)), 0, 90))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["labels", "missing"])
def test_a_clip_too_short_for_a_style_is_named_and_measured_without(
    command: str,
    walked: tuple[Path, Path],
    short: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("tools.evaluate.protocol._cache_folder", lambda: tmp_path / "cache")
    words = ("--clip", short, "--database", walked[1], "--markers", "boxing", "--case", "10%", "--case", "0.5s", "--workers", 1)
    result = duocap(capsys, "evaluate", command, *words, "--json", tmp_path / "a.json")
    assert result.status == 0, result.err
    runs = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert {run["clip"] for run in runs} == {"short"} and {run["style"] for run in runs} <= {False, "none"}
    assert "short: 0 poses are too few to learn a style from" in caplog.text
    if command == "labels":
        result = duocap(capsys, "evaluate", command, *words, "--style", "known")
        assert result.status == 1 and "a style can be learned for none of the clips" in result.last


def test_kinds_of_styles_are_checked(walked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--style", "some"), ("--style", "known", "--offline")):
        result = duocap(capsys, "evaluate", "labels", "--clip", walked[0], "--database", walked[1], *words)
        assert result.status == 2 and "expected none or known" in result.err


def test_clips_and_sets_exclude_each_other(walked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--motion", tmp_path, "--clip", walked[0], "--clips", "test")
    result = duocap(capsys, "evaluate", "synthesis", *words)
    assert result.status == 1 and "--clip and --clips exclude each other" in result.last
    result = duocap(capsys, "evaluate", "labels", "--motion", tmp_path, "--clips", "all")
    assert result.status == 1 and "tuning, test or quick" in result.last


@pytest.mark.slow
def test_sets_have_tables_of_their_own(
    walked: tuple[Path, Path], motion_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--database", walked[1], "--seconds", 0.2, "--variant", "exact", "--method", "NN", "--json", tmp_path / "a.json")
    result = duocap(capsys, "evaluate", "synthesis", "--motion", motion_dir, "--clips", "quick", *words)
    assert result.status == 0, result.err
    assert result.out.index("set: tuning") < result.out.index("set: test")
    figures = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert {run["clip"] for part in figures.values() for run in part} == set(QUICK) and len(figures) == 2
