"""Commands that write several files write all of them or none: nothing beside a file that is kept changes on a failure."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from calibration.quality.report import Finding, Grade, QualityReport
from config.errors import CalibrationError, FileFormatError
from config.files import write_atomically
from tests.support.commands import duocap
from tests.support.ports import free_address
from tests.tools.commands.walked import Walked
from tools.calibrate.outcome import write_outcome


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what lets the disk be full at the n-th file."""
    real, count = os.fsync, 0

    def fill(nth: int) -> None:
        def fsync(descriptor: int) -> None:
            nonlocal count
            count += 1
            if count == nth:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)

    return fill


def calibrate_subject(walked: Walked, folder: Path) -> tuple[list[object], list[str]]:
    words = walked.calibrate_words("--take", "0:0.6", "--take", "0.7:1.4", out=folder / "ann.toml")
    return words, ["ann.toml", "ann.png"]


def replay(walked: Walked, folder: Path) -> tuple[list[object], list[str]]:
    names = ["a.bvh", "a.glb", "a.csv"]
    words = [word for name in names for word in ("--out", folder / name)]
    return walked.replay_words(*words, "--report", folder / "r.json", "--overlay", folder / "o.avi", "--no-publish"), [
        *names,
        "r.json",
        "o.avi",
    ]


def export(walked: Walked, folder: Path) -> tuple[list[object], list[str]]:
    names = ["a.bvh", "a.trc", "a.c3d", "a.vrma"]
    return ["export", walked.folder / "walk.mcap", *(word for name in names for word in ("--out", folder / name))], names


def convert(walked: Walked, folder: Path) -> tuple[list[object], list[str]]:
    words = ["calibrate", "convert", walked.folder / "rig.toml", "--format", "easymocap", "--out", folder]
    return words, ["intri.yml", "extri.yml"]


@pytest.mark.parametrize("command", [calibrate_subject, replay, export, convert])
def test_a_disk_that_is_full_at_the_second_file_leaves_all_as_they_were(
    command: Callable[[Walked, Path], tuple[list[object], list[str]]],
    walked: Walked,
    full_disk: Callable[[int], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command is export and not (walked.folder / "walk.mcap").exists():
        streams = ("--set", f"stream.address={free_address()}", "--set", "stream.service=")
        assert duocap(capsys, *walked.replay_words("--record", walked.folder / "walk.mcap", *streams)).status == 0
    words, names = command(walked, tmp_path)
    for name in names:
        (tmp_path / name).write_text("old", encoding="utf-8")
    full_disk(2)
    result = duocap(capsys, *words)
    assert result.status == 1 and "cannot be written (no space left" in result.last
    assert {entry.name: entry.read_text(encoding="utf-8") for entry in tmp_path.iterdir()} == dict.fromkeys(names, "old")


def test_a_calibration_draws_and_writes_both_or_neither(tmp_path: Path) -> None:
    """And of a fail, the picture only, beside that of a result that is kept."""
    out, picture = tmp_path / "rig.toml", tmp_path / "rig.png"
    good, bad = (QualityReport((Finding(grade, "it is so"),)) for grade in (Grade.PASS, Grade.FAIL))
    told: list[str] = []

    def unwritable() -> None:
        raise FileFormatError("rig.toml: cannot be written")

    def call(report: QualityReport, write: Callable[[], None]) -> None:
        write_outcome(report, out, picture, lambda file: write_atomically(file, report.grade.word), write, told.append)

    call(good, lambda: write_atomically(out, "first"))
    assert (out.read_text("utf-8"), picture.read_text("utf-8")) == ("first", "pass")
    picture.write_text("of the first", encoding="utf-8")
    with pytest.raises(FileFormatError):
        call(good, unwritable)
    with pytest.raises(CalibrationError, match=r"rig.toml is as it was: it is so"):
        call(bad, lambda: write_atomically(out, "second"))
    assert (out.read_text("utf-8"), picture.read_text("utf-8")) == ("first", "of the first")
    assert (tmp_path / "rig.failed.png").read_text("utf-8") == "fail" and len(list(tmp_path.iterdir())) == 3
    assert told == [f"picture: {picture}", f"written to {out}", f"picture: {tmp_path / 'rig.failed.png'}"]
