"""`duocap calibrate convert` of many cameras: the pair that measures best, for a volume."""

from pathlib import Path

import pytest
import tomli_w

from calibration.formats.rig_file import read_rig
from calibration.formats.rig_toml import table_from_camera
from tests.calibration.test_pairs import camera
from tests.support.commands import duocap


def test_the_best_pair_of_a_volume_is_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cameras = [camera("n1", -40.0, 1.9), camera("n2", 40.0, 1.9), camera("f1", -35.0, 6.0), camera("f2", 35.0, 6.0)]
    tables = {str(k): {"cam_id": k, "rotation_count": 0, **table_from_camera(one)} for k, one in enumerate(cameras)}
    tables["4"] = {"cam_id": 4, "name": "f3", "size": [640, 480], "matrix": "none"}  # was not calibrated
    (tmp_path / "camera_array.toml").write_text(tomli_w.dumps({"cameras": tables}), encoding="utf-8")
    words = ("calibrate", "convert", tmp_path / "camera_array.toml", "--cameras", "best", "--out", tmp_path / "rig.toml")
    for volume, best in {"0.8x1.4x0.8": {"n1", "n2"}, "4x2.2x4": {"f1", "f2"}}.items():
        result = duocap(capsys, *words, "--volume", volume)
        assert result.status == 0 and "m apart, " in result.out and "% of the volume, a marker there is known to" in result.out
        rig = read_rig(tmp_path / "rig.toml")
        assert {rig.cameras[0].name, rig.cameras[1].name} == best
    assert "give a smaller --volume" in duocap(capsys, *words, "--volume", "40x40x40").last
    assert "such as 3x2x3" in duocap(capsys, *words, "--volume", "3x2").err
    assert "add --cameras best" in duocap(capsys, *words[:3], "--out", tmp_path / "rig.toml", "--volume", "3x2x3").err
