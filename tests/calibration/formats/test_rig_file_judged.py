"""aniposelib, which nobody here wrote, reads our rig.toml and sees points where we do; we read what it writes."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from calibration.formats.rig_file import read_rig, write_rig_file
from tests.calibration.formats.test_rig_file import a_rig, assert_alike
from tests.support.judges import python_with

SCRIPT = """
import json, sys
import numpy as np
from aniposelib.cameras import CameraGroup
group = CameraGroup.load(sys.argv[1])
points = np.array(json.loads(sys.argv[2]))
px = group.project(points)
back = group.triangulate(px.reshape(len(group.cameras), -1, 2))
group.dump(sys.argv[3])
print(json.dumps({"px": px.reshape(len(group.cameras), -1, 2).tolist(), "back": back.tolist(), "names": group.get_names()}))
"""


@pytest.mark.judge
def test_aniposelib_sees_points_where_we_do(tmp_path: Path) -> None:
    """Projections agree to 1e-6 px, its triangulation gives the points back, and its own file is the same rig."""
    python = python_with("aniposelib")
    rig = a_rig()
    write_rig_file(tmp_path / "rig.toml", rig, "toml")
    points = np.array([[0.05, 1.5, 1.7], [-0.12, 1.2, 1.2], [0.11, 1.31, 0.9]])
    arguments = [str(tmp_path / "rig.toml"), json.dumps(points.tolist()), str(tmp_path / "theirs.toml")]
    done = subprocess.run([python, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["names"] == ["left", "right"]
    for camera, px in zip(rig.cameras, told["px"], strict=True):
        seen = camera.project(points)
        assert np.isfinite(seen).all()
        np.testing.assert_allclose(px, seen, atol=1e-6)
    np.testing.assert_allclose(told["back"], points, atol=1e-4)
    assert_alike(rig, read_rig(tmp_path / "theirs.toml"), 1e-12)
