"""`duocap calibrate subject` on a simulated recording: takes, movement, markers alone, and what is asked wrongly."""

import re
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.subject import read_subject
from tests.support.commands import Result, duocap
from tests.tools.commands.walked import Walked


def calibrate(walked: Walked, capsys: pytest.CaptureFixture[str], out: Path, *words: object) -> Result:
    """Run the command in this process, as its entry point does."""
    changed: dict[str, object] = {"markers": None} if "--subject" in words else {}
    return duocap(capsys, *walked.calibrate_words(*words, out=out, **changed))


def test_two_takes_a_picture_and_a_verdict(walked: Walked) -> None:
    """T-pose markers of 0.1 px and 5 mm placement; the body's height is not in the database."""
    result, out, truth = walked.calibrated, walked.folder / "ann.toml", walked.simulation.performer
    assert result.status == 0, result.err
    assert "verdict: " in result.out and "2 takes agree" in result.out and "people of that size" in result.out
    assert f"written to {out}" in result.out and out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    subject = read_subject(out)
    assert subject.name == "Ann" and subject.length_sigma_m is not None and 0.004 < subject.length_sigma_m[0, 2] < 0.04
    assert abs(subject.skeleton.height_m - truth.clip.skeleton.height_m) < 0.08
    assert subject.markers.names == truth.markers.names
    assert np.linalg.norm(subject.offset_m - truth.offset_m, axis=1).max() < 0.08
    assert subject.residual_mm.max() < 10.0
    assert subject.world is not None and subject.world.tilt_sigma_deg == 0.0  # the rig knows the floor
    assert np.array_equal(subject.world.from_rig.rotation, np.eye(3)) and not subject.world.from_rig.translation_m.any()


def test_takes_of_two_recordings(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = f"{walked.folder / 'left.avi'},{walked.folder / 'right.avi'}@0.7:1.4"
    result = calibrate(walked, capsys, tmp_path / "ann.toml", "--take", "0:0.6", "--also", again, "--no-picture")
    assert result.status == 0 and "2 takes agree" in result.out, result.err
    assert [file.name for file in tmp_path.iterdir()] == ["ann.toml"]


@pytest.mark.slow
def test_the_same_command_gives_the_same_file(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    takes = ("--take", "0:0.6", "--take", "0.7:1.4", "--name", "Ann")
    assert calibrate(walked, capsys, tmp_path / "b.toml", *takes, "--no-picture").status == 0
    assert (tmp_path / "b.toml").read_bytes() == (walked.folder / "ann.toml").read_bytes()


def test_movement_after_the_t_pose(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lengths are refined over a walk; the verdict and the picture are those of the refined."""
    out = tmp_path / "ann.toml"
    result = calibrate(walked, capsys, out, "--take", "0:1.4", "--motion", "1.6:3.7")
    assert result.status == 0, result.err
    assert re.search(r"refined over \d\d frames of movement \(\d+% tracked\)", result.out), result.out
    assert re.search(r"what bent: .*UpperLeg", result.out) and re.search(r"\d\d frames of movement fit: ", result.out)
    before, after = read_subject(walked.folder / "ann.toml"), read_subject(out)
    moved = np.linalg.norm(after.skeleton.offsets_m - before.skeleton.offsets_m, axis=1)
    assert 1e-4 < moved.max() < 0.05
    assert after.length_sigma_m is not None and out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_only_markers_keeps_the_skeleton(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = walked.folder / "ann.toml", tmp_path / "new.toml"
    result = calibrate(walked, capsys, new, "--from", 0.7, "--to", 1.4, "--only-markers", "--subject", old, "--no-picture")
    assert result.status == 0 and "skeleton kept" in result.out, result.err
    before, after = read_subject(old), read_subject(new)
    assert after.name == "Ann" and np.array_equal(after.skeleton.offsets_m, before.skeleton.offsets_m)
    assert after.length_sigma_m is not None and before.length_sigma_m is not None
    assert np.array_equal(after.length_sigma_m, before.length_sigma_m)
    assert np.linalg.norm(after.offset_m - before.offset_m, axis=1).max() < 0.02


def test_a_height_that_contradicts_the_markers(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict is printed and drawn, nothing else is written."""
    result = calibrate(walked, capsys, tmp_path / "ann.toml", "--from", 0, "--to", 0.6, "--height", 1.2)
    assert result.status == 1 and "told were 1.20 m" in result.last and "square's side" in result.last
    assert "verdict: fail" in result.out and [file.name for file in tmp_path.iterdir()] == ["ann.png"]


def test_part_of_the_markers_that_is_not_there(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All limbs wear markers: said to be those of the left side only, the others are left aside."""
    result = calibrate(walked, capsys, tmp_path / "ann.toml", "--take", "0:0.6:left", "--no-picture")
    assert result.status == 0, result.err
    assert "4 of 14 markers not seen: right_elbow, right_knee, right_ankle, right_toe" in result.out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 1, "no T-pose was held for 3 s"),
        (("--pose", "a"), 2, "only a T-pose is found"),
        (("--from", 0.5), 2, "--from"),
        (("--from", 0.5, "--to", 0.2), 2, "after the first"),
        (("--from", 0, "--to", 1, "--take", "0:1"), 2, "--take"),
        (("--take", "0:1:up"), 2, "two numbers"),
        (("--take", "0:1", "--only-markers"), 2, "--subject"),
        (("--take", "0:1", "--height", 175), 2, "no height of a person"),
        (("--take", "60:61"), 1, "the recording ends at"),
        (("--take", "0:0.6", "--also", "a.avi,b.avix"), 1, "no such file"),
        (("--take", "0:0.6", "--rig", "markers.toml"), 1, "markers.toml"),
        (("--take", "0:0.6", "--out", "no/folder.toml"), 1, "cannot be written"),
    ],
)
def test_what_cannot_be(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], status: int, said: str
) -> None:
    result = calibrate(walked, capsys, tmp_path / "ann.toml", *words)
    assert result.status == status and said in " ".join(result.err.split()), result.err
    assert status == 2 or result.last
    assert not list(tmp_path.iterdir())
