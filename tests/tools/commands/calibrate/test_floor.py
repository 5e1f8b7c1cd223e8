"""`duocap calibrate floor` from files to a rig that stands on its floor, and one line for everything that cannot be."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.board.pattern import board_from_text
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from calibration.subject.subject import Subject, write_subject
from capture.sources.simulated.scene import SimulatedScene
from config.markers import read_marker_set
from database.builtin import build_person_skeleton
from tests.calibration.floor.scenes import in_left_frame, on_floor, world_rig
from tests.capture.scenes import paint_disc, shot
from tests.support.board_scenes import Look, render_board
from tests.support.commands import duocap
from tools.simulate import simulate_recording

BOARD = "9x6:70"
POSE = on_floor(0.2, (-0.3, 0.004, 0.1))
MARKERS = np.array([[0.0, 0.01, 0.0], [0.0, 0.01, 0.6], [0.4, 0.01, 0.0]])


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run `duocap calibrate floor`; give its exit status and what it wrote."""
    result = duocap(capsys, "calibrate", "floor", *words)
    return result.status, result.out, result.err


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of a board and of an L-frame on the floor, by a rig that does not know its floor."""
    folder = tmp_path_factory.mktemp("floor")
    world = world_rig((0.0, 0.3, 0.2))
    write_rig_toml(folder / "rig.toml", replace(in_left_frame(world), grade="pass"))
    board = board_from_text(BOARD)
    for camera, name in zip(world.cameras, ("left", "right"), strict=True):
        image = render_board(board, camera, POSE[:3], POSE[3:], Look(clutter=4), seed=len(name))
        assert cv2.imwrite(str(folder / f"{name}.png"), image)
        dark = np.full((480, 640, 3), 4.0)
        for at in camera.project(MARKERS):
            paint_disc(dark, at, 4.0, (240, 240, 240))
        assert cv2.imwrite(str(folder / f"{name}_dark.png"), shot(dark, 1.0, np.random.default_rng(3)))
    return folder


def heights(file: Path) -> list[float]:
    """Return how high both cameras are in a rig that knows its floor."""
    rig = read_rig_toml(file)
    assert rig.floor_known
    return [float(camera.center_m[1]) for camera in rig.cameras]


def test_by_a_board(stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rig.toml"
    pictures = stage / "left.png", stage / "right.png"
    status, told, _ = run(capsys, *pictures, "--rig", stage / "rig.toml", "--board", BOARD, "--height", 4, "--out", out)
    assert status == 0 and told.startswith("verdict: pass")
    np.testing.assert_allclose(heights(out), [1.3, 1.15], atol=0.003)
    assert read_rig_toml(out).grade == "pass" and (tmp_path / "rig.png").stat().st_size > 10_000
    assert read_rig_toml(out).cameras[0].center_m[2] > 1.5 and f"written to {out}" in told


def test_a_board_of_another_size(stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Squares said to be 75 mm that are 70: refused; with --rescale the rig grows by 7%, and its cameras stand higher."""
    out = tmp_path / "rig.toml"
    words = (stage / "left.png", stage / "right.png", "--rig", stage / "rig.toml", "--board", "9x6:75", "--out", out)
    status, told, error = run(capsys, *words)
    assert status == 1 and "6.6" in error and "--rescale" in error and error.count("\n") == 1
    assert not out.exists() and (tmp_path / "rig.png").exists() and "verdict: fail" in told
    status, told, _ = run(capsys, *words, "--rescale", "--no-picture", "--height", 4.3)
    assert status == 0
    np.testing.assert_allclose(heights(out), np.array([1.3, 1.15]) * 75 / 70, atol=0.004)


def test_by_one_picture(stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rig.toml"
    words = ("--rig", stage / "rig.toml", "--board", BOARD, "--height", 4, "--out", out, "--no-picture")
    status, told, _ = run(capsys, stage / "left.png", *words)
    assert status == 0 and "one camera alone saw the board" in told and read_rig_toml(out).grade == "poor"
    np.testing.assert_allclose(heights(out), [1.3, 1.15], atol=0.01)


def test_by_an_l_frame(stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its corner is the origin, its long arm +Z, over the rig that was given."""
    out = tmp_path / "rig.toml"
    out.write_text((stage / "rig.toml").read_text(encoding="utf-8"), encoding="utf-8")
    pictures = stage / "left_dark.png", stage / "right_dark.png"
    hypotenuse = 1e3 * np.hypot(0.4, 0.6)
    status, told, error = run(
        capsys, *pictures, "--rig", out, "--by", "markers", "--height", 10, "--distance", hypotenuse, "--out", out
    )
    assert status == 0, error
    assert "L-frame, arms of 60" in told and "the distance of the markers comes out 0." in told
    world = world_rig((0.0, 0.3, 0.2))
    for camera, true in zip(read_rig_toml(out).cameras, world.cameras, strict=True):
        np.testing.assert_allclose(camera.center_m, true.center_m, atol=0.01)


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (("{left}", "{right}"), 2, "say what shows the floor"),
        (("{left}", "{right}", "--by", "walk"), 2, "say what the performer wears"),
        (("{left}", "{right}", "--board", "9x6:70", "--from", "3", "--to", "2"), 2, "must come after"),
        (("{left}", "{right}", "--board", "9x6:70", "--from", "nan"), 2, "must come after"),
        (("0", "1", "--board", "9x6:70"), 1, "record it first with `duocap record`"),
        (("{left}", "{right}", "--by", "markers", "--distance", "3"), 2, "expected 20 to 20000 mm"),
        (("{left}", "{right}", "--board", "9:6"), 1, "does not name a board"),
        (("nowhere.png", "{right}", "--board", "9x6:70"), 1, "nowhere.png: no such file"),
        (("{left}", "--by", "markers"), 1, "one camera measures no depth"),
        (("{left}", "--markers", "dark_room"), 1, "one camera measures no depth"),
        (("{dark}", "{dark}", "--board", "9x6:70"), 1, "none of 2 pictures shows the board chessboard:9x6:70"),
        (("{small}", "{small}", "--board", "9x6:70"), 1, "are 320x240, but the rig was calibrated at 640x480"),
        (("{left_dark}", "{right_dark}", "--by", "markers", "--rescale"), 1, "--rescale takes something of known size"),
        (("{dark}", "{dark}", "--by", "markers"), 1, "0 markers that lie still"),
        (("{left}", "{right}", "--by", "walk", "--markers", "nothing.toml"), 1, "nothing.toml: cannot read the marker set"),
    ],
)
def test_what_cannot_be(
    words: tuple[str, ...], status: int, expected: str, stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says so, and no file."""
    dark, small = tmp_path / "dark.png", tmp_path / "small.png"
    assert cv2.imwrite(str(dark), np.full((480, 640, 3), 3, np.uint8))
    assert cv2.imwrite(str(small), cv2.resize(cv2.imread(str(stage / "left.png")), (320, 240)))
    names = {name: stage / f"{name}.png" for name in ("left", "right", "left_dark", "right_dark")}
    filled = [word.format(**names, dark=dark, small=small) for word in words]
    got, _, error = run(capsys, *filled, "--rig", stage / "rig.toml", "--out", tmp_path / "out.toml")
    assert got == status and expected in " ".join(error.split()), error
    assert not (tmp_path / "out.toml").exists()
    if status == 1:
        assert len([line for line in error.splitlines() if line]) == 1


def test_a_rig_of_one_camera(stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes its own pictures and no others."""
    from calibration.camera import Rig
    from calibration.formats.rig_file import read_cameras

    left = read_rig_toml(stage / "rig.toml").cameras[0]
    write_rig_toml(tmp_path / "lone.toml", Rig((left,)))
    words = ("--rig", tmp_path / "lone.toml", "--board", BOARD, "--height", 4, "--no-picture", "--out", tmp_path / "out.toml")
    status, told, _ = run(capsys, stage / "left.png", *words)
    assert status == 0 and "as true as the board's squares" in told
    lone = read_cameras(tmp_path / "out.toml")
    assert lone.is_monocular and lone.floor_known and abs(lone.cameras[0].center_m[1] - 1.3) < 0.01
    status, _, error = run(capsys, stage / "left.png", stage / "right.png", *words)
    assert status == 1 and "pictures of two cameras, but the rig has one" in error


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered walk by a rig that does not know its floor."""
    folder = tmp_path_factory.mktemp("walk") / "scene"
    scene = SimulatedScene(
        motion="walk", seconds=5.0, tpose_s=1.0, markers="dark_room", fps=30.0, width_px=480, height_px=360, exposure_ms=2.0
    )
    simulate_recording(scene, folder)
    write_rig_toml(folder / "rel.toml", in_left_frame(read_rig_toml(folder / "rig.toml")))
    return folder


def test_by_a_walk(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the height of the toes' markers measured, as a ruler would: of the cameras 1.2 m high within a few centimetres."""
    out = tmp_path / "rig.toml"
    truth = np.load(walk / "truth.npz")
    toe = list(truth["markers"]).index("left_toe")
    height_mm = 1e3 * float(truth["marker_m"][5, toe, 1])
    videos = (walk / "left.avi", walk / "right.avi", "--timestamps", walk / "timestamps.csv", "--rig", walk / "rel.toml")
    status, told, error = run(capsys, *videos, "--body", "--markers", "dark_room", "--height", height_mm, "--out", out)
    assert status == 0, error + told
    np.testing.assert_allclose(heights(out), [1.2, 1.2], atol=0.15)
    rig, true = read_rig_toml(out), read_rig_toml(walk / "rig.toml")
    up = rig.cameras[0].rotation.T @ true.cameras[0].rotation @ [0.0, 1.0, 0.0]
    assert np.degrees(np.arccos(min(up[1], 1.0))) < 2.5
    assert "stays of markers of feet" in told and (tmp_path / "rig.png").exists()
    status, _, error = run(capsys, *videos, "--body", "--by", "board", "--out", out)
    assert status == 2 and "another way than --by board" in error


def test_by_a_walk_of_a_subject(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a walk in the seconds asked for there is no floor; a subject's heights are its own."""
    worn = read_marker_set("dark_room")
    subject = Subject("Ann", build_person_skeleton(1.75), worn, worn.offset_m, np.zeros(len(worn)))
    write_subject(tmp_path / "subject.toml", subject)
    videos = (walk / "left.avi", walk / "right.avi", "--timestamps", walk / "timestamps.csv", "--rig", walk / "rel.toml")
    words = (*videos, "--subject", tmp_path / "subject.toml", "--out", tmp_path / "rig.toml", "--no-picture")
    status, told, error = run(capsys, *words)
    assert status == 0 and "(this subject)" in told, error
    status, _, error = run(capsys, *words, "--to", "0.8")
    assert status == 1 and "times a marker stood still and went on; expected 6 or more" in error
