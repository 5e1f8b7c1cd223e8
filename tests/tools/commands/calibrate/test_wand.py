"""`duocap calibrate wand` on rendered videos of a dark room, from pixels to rig.toml, and on what it cannot work with."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from database.geometry.rotations import compute_geodesic_rad
from tests.calibration.wand.scenes import Wave, wand_rig, write_wand_videos
from tests.support.commands import duocap

PATH = Wave(seed=3)
LATE_S = 0.008


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return left.avi, right.avi (whose stamps are 8 ms late) and lenses.toml, whose cameras stand as they truly do."""
    found = tmp_path_factory.mktemp("wand")
    write_wand_videos(found, wand_rig(), PATH, 9.0, late_s=LATE_S)
    write_rig_toml(found / "lenses.toml", wand_rig())
    return found


def run(
    folder: Path, capsys: pytest.CaptureFixture[str], *words: str, sources: Sequence[str] = ("left.avi", "right.avi")
) -> tuple[int, str, str]:
    """Run the command; give exit status, what it printed and what it complained of."""
    result = duocap(capsys, "calibrate", "wand", *(folder / name for name in sources), *words)
    return result.status, result.out, result.err


def check(rig: Rig, baseline: float = 0.003, turn_rad: float = 0.001) -> None:
    truth = wand_rig()
    assert rig.baseline_m == pytest.approx(truth.baseline_m, rel=baseline)
    assert compute_geodesic_rad(rig.cameras[1].rotation, truth.cameras[1].rotation @ truth.cameras[0].rotation.T) < turn_rad


def test_from_videos_to_a_rig(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rig.toml"
    status, said, _ = run(folder, capsys, "--intrinsics", str(folder / "lenses.toml"), "--length", "500", "--out", str(out))
    assert status == 0, said
    assert said.startswith("verdict: p") and f"written to {out}" in said and "8.0 ms late" in said
    rig = read_rig_toml(out)
    check(rig)
    assert rig.grade in ("pass", "poor") and 0.0 < rig.error_px < 0.3 and not rig.floor_known
    assert (tmp_path / "rig.png").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--length", "500"), "--intrinsics"),
        (("--fov", "60"), "--length"),
        (("--fov", "60", "--length", "2"), "20 to 5000 mm"),
        (("--fov", "60", "--length", "-500"), "20 to 5000 mm"),
        (("--fov", "60", "--markers", "1", "--length", "500"), "--distance"),
        (("--fov", "400", "--length", "500"), "10 to 150"),
        (("--fov", "nan", "--length", "500"), "10 to 150"),
        (("--intrinsics", "no.toml", "--length", "500"), "no such file"),
        (("--intrinsics", "small.toml", "--length", "500"), "640x480.*960x720"),
        (("left.avi", "--fov", "60", "--length", "500"), "both recordings"),
    ],
)
def test_what_cannot_be(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (folder / "lenses.toml").read_text(encoding="utf-8")
    Path("small.toml").write_text(text.replace("640", "960").replace("480", "720"), encoding="utf-8")
    alone = words[0] == "left.avi"
    sources = ("left.avi",) if alone else ("left.avi", "right.avi")
    status, _, said = run(folder, capsys, *words[alone:], "--out", "rig.toml", sources=sources)
    assert status in (1, 2) and re.search(complaint, " ".join(said.split())), said
    assert not Path("rig.toml").exists()
