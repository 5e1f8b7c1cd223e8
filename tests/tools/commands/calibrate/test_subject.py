"""`duocap calibrate subject` on a simulated recording: takes, markers alone, heights, and what is asked wrongly."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig, write_rig
from calibration.subject.subject import read_subject
from capture.sources.simulated.scene import SimulatedScene
from database.builtin import body
from database.store import write_database
from tests.support.commands import Result, duocap
from tests.support.people import walk
from tools.simulate import Simulation, simulate

SCENE = SimulatedScene(
    motion="walk", seconds=2.2, tpose_s=1.5, markers="dark_room", fps=30.0, width_px=560, height_px=420, placement_mm=5.0, seed=4
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated recording, a small database without that walker's body."""
    made = tmp_path_factory.mktemp("subject")
    simulate(SCENE, made)
    bodies = [body(1.6), body(1.78, arm_ratio=1.03), body(1.85, leg_ratio=1.03)]
    write_database(made / "small.db", [walk(b, seed) for seed, b in enumerate(bodies)])
    return made


@pytest.fixture(scope="module")
def truth(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """What was simulated."""
    return simulate(replace(SCENE, seconds=0.1, tpose_s=0.1), tmp_path_factory.mktemp("truth"))


def calibrate(folder: Path, capsys: pytest.CaptureFixture[str], out: Path, *words: object, rig: str = "rig.toml") -> Result:
    """Run the command in this process, as its entry point does."""
    given = [folder / "left.avi", folder / "right.avi", "--rig", folder / rig, "--database", folder / "small.db"]
    given += ["--timestamps", folder / "timestamps.csv", "--out", out]
    markers = [] if "--subject" in words else ["--markers", folder / "markers.toml"]
    return duocap(capsys, "calibrate", "subject", *given, *markers, *words)


def refused(result: Result, out: Path) -> str:
    """Return the one line with which the command ends; there is no subject."""
    assert result.status == 1, (result.out, result.err)
    assert not out.exists()
    line = result.err.strip()
    assert line.startswith("duocap: ") and "\n" not in line and "Traceback" not in line, result.err
    return line


def test_two_takes_a_picture_and_a_verdict(
    folder: Path, truth: Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ann.toml"
    result = calibrate(folder, capsys, out, "--take", "0:0.6", "--take", "0.7:1.4", "--name", "Ann")
    assert result.status == 0, result.err
    assert "verdict: " in result.out and "2 takes agree" in result.out and "people of that size" in result.out
    assert f"written to {out}" in result.out and out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    subject = read_subject(out)
    assert subject.name == "Ann" and subject.length_sigma_m is not None
    assert abs(subject.skeleton.height_m - truth.performer.clip.skeleton.height_m) < 0.08
    thigh = subject.length_sigma_m[0, 2]
    assert 0.004 < thigh < 0.04
    again = calibrate(
        folder, capsys, tmp_path / "b.toml", "--take", "0:0.6", "--take", "0.7:1.4", "--name", "Ann", "--no-picture"
    )
    assert again.status == 0 and not (tmp_path / "b.png").exists()
    assert (tmp_path / "b.toml").read_bytes() == out.read_bytes()


def test_takes_of_two_recordings(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, again = tmp_path / "ann.toml", f"{folder / 'left.avi'},{folder / 'right.avi'}"
    result = calibrate(folder, capsys, out, "--take", "0:0.6", "--also", f"{again}@0.7:1.4", "--no-picture")
    assert result.status == 0, result.err
    assert "2 takes agree" in result.out
    line = refused(calibrate(folder, capsys, tmp_path / "b.toml", "--take", "0:0.6", "--also", again + "x"), tmp_path / "b.toml")
    assert "right.avix: no such file" in line


def test_movement_after_the_t_pose(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lengths are refined over a walk, the verdict and the picture are those of the refined, and of movement that is none."""
    still, out = tmp_path / "still.toml", tmp_path / "ann.toml"
    assert calibrate(folder, capsys, still, "--take", "0:1.4", "--no-picture").status == 0
    result = calibrate(folder, capsys, out, "--take", "0:1.4", "--motion", "1.6:3.7")
    assert result.status == 0, result.err
    assert re.search(r"refined over \d\d frames of movement \(\d+% tracked\)", result.out), result.out
    assert re.search(r"what bent: .*UpperLeg", result.out) and re.search(r"\d\d frames of movement fit: ", result.out)
    before, after = read_subject(still), read_subject(out)
    moved = np.linalg.norm(after.skeleton.offsets_m - before.skeleton.offsets_m, axis=1)
    assert 1e-4 < moved.max() < 0.05
    assert after.length_sigma_m is not None and out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    standing = calibrate(folder, capsys, tmp_path / "b.toml", "--take", "0:0.6", "--motion", "0.1:1.3")
    assert "nothing bends in the movement" in refused(standing, tmp_path / "b.toml")


def test_only_markers_keeps_the_skeleton(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.toml"
    assert calibrate(folder, capsys, old, "--take", "0:0.6", "--name", "Ann", "--no-picture").status == 0
    new = tmp_path / "new.toml"
    result = calibrate(folder, capsys, new, "--from", 0.7, "--to", 1.4, "--only-markers", "--subject", old)
    assert result.status == 0, result.err
    assert "skeleton kept" in result.out
    before, after = read_subject(old), read_subject(new)
    assert after.name == "Ann" and np.array_equal(after.skeleton.offsets_m, before.skeleton.offsets_m)
    assert after.length_sigma_m is not None and before.length_sigma_m is not None
    assert np.array_equal(after.length_sigma_m, before.length_sigma_m)
    assert np.linalg.norm(after.offset_m - before.offset_m, axis=1).max() < 0.02


def test_a_height_that_contradicts_the_markers(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict is printed and drawn, nothing else is written."""
    out = tmp_path / "ann.toml"
    result = calibrate(folder, capsys, out, "--from", 0, "--to", 0.6, "--height", 1.2)
    line = refused(result, out)
    assert "told were 1.20 m" in line and "square's side" in line
    assert "verdict: fail" in result.out and out.with_suffix(".png").is_file()


def test_a_rig_without_the_right_scale(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as centimetres taken for metres, or squares of half their side."""
    rig = read_rig(folder / "rig.toml")
    small = [replace(camera, translation=0.5 * camera.translation) for camera in rig.cameras]
    write_rig(tmp_path / "small.toml", replace(rig, left=small[0], right=small[1]))
    out = tmp_path / "ann.toml"
    line = refused(calibrate(folder, capsys, out, "--from", 0, "--to", 0.6, rig=str(tmp_path / "small.toml")), out)
    assert "times the size of a person" in line and "square's side" in line


def test_times_without_frames(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ann.toml"
    assert "no frames from 60 to 61 s" in refused(calibrate(folder, capsys, out, "--take", "60:61"), out)


def test_part_of_the_markers_that_is_not_there(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All limbs wear markers: said to be those of the left side only, the others are left aside."""
    out = tmp_path / "ann.toml"
    result = calibrate(folder, capsys, out, "--take", "0:0.6:left", "--no-picture")
    assert result.status == 0, result.err
    assert "4 of 14 markers not seen: right_elbow, right_knee, right_ankle, right_toe" in result.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--take"),
        (("--from", 0.5), "--from"),
        (("--from", 0.5, "--to", 0.2), "after the first"),
        (("--from", 0, "--to", 1, "--take", "0:1"), "--take"),
        (("--take", "0:1:up"), "two numbers"),
        (("--take", "0:1", "--only-markers"), "--subject"),
        (("--take", "0:1", "--height", 175), "no height of a person"),
    ],
)
def test_wrong_usage(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], said: str
) -> None:
    result = calibrate(folder, capsys, tmp_path / "ann.toml", *words)
    assert result.status == 2 and said in result.err.replace("\n", " "), result.err
    assert not (tmp_path / "ann.toml").exists()
