"""TRC with markers and gaps, as OpenSim reads it."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINTS
from reconstruct.pose import TrackingState
from stream.export.points import points_from_take
from stream.export.trc import format_trc, write_trc
from stream.take.resampling import resample_evenly
from stream.take.take import MarkerTracks, Take, TakeInfo, find_software_version
from tests.support import judges
from tests.support.files.takes import take

OPENSIM = """
import json, sys
import opensim
table = opensim.TimeSeriesTableVec3(sys.argv[1])
rows = []
for n in range(table.getNumRows()):
    row = table.getRowAtIndex(n)
    rows.append([[row.getElt(0, i).get(k) for k in range(3)] for i in range(table.getNumColumns())])
json.dump({
    "labels": list(table.getColumnLabels()),
    "times": list(table.getIndependentColumn()),
    "units": table.getTableMetaDataString("Units"),
    "rate": table.getTableMetaDataString("DataRate"),
    "rows": rows,
}, open(sys.argv[2], "w"))
"""


def uneven() -> Take:
    """Build a take at about 25 Hz with jitter and a dropped frame; frame 4 lost, the last marker never there at the end."""
    seconds = np.array([0.0, 0.041, 0.079, 0.12, 0.2, 0.24, 0.281])
    states = tuple(TrackingState.LOST if k == 4 else TrackingState.TRACKING for k in range(7))
    motion = take(7, seconds, states=states)
    valid = np.array([[True, k not in (2, 5, 6)] for k in range(7)])
    point_m = np.where(valid[..., None], np.arange(42.0).reshape(7, 2, 3) / 7.0 - 3.0, 0.0)
    info = TakeInfo("Ann Åberg", "s\t1", "2025-05-04T10:00:00", "a walk.mcap")
    return Take(
        motion.skeleton, seconds, states, motion.rotvec, motion.root_m, MarkerTracks(("hips", "left toe"), point_m, valid), info
    )


def test_joints_then_markers_in_millimetres_and_gaps_are_nan() -> None:
    motion, even = uneven(), resample_evenly(uneven())
    lines = format_trc(motion, "a walk.trc").splitlines()
    first = ["PathFileType", "4", "(X/Y/Z)", "a_walk.trc", f"duocap={find_software_version()}"]
    assert lines[0].split("\t") == [
        *first, "subject=Ann_Aberg", "session=s_1", "recorded=2025-05-04T10:00:00", "source=a_walk.mcap",
    ]  # fmt: skip
    header = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=True))
    rates = [float(header.pop(name)) for name in ("DataRate", "CameraRate", "OrigDataRate")]
    assert rates == pytest.approx([25.0] * 3, rel=0.01)
    assert header == {
        "NumFrames": "8", "NumMarkers": "25", "Units": "mm", "OrigDataStartFrame": "1", "OrigNumFrames": "8",
    }  # fmt: skip
    assert lines[3].split("\t")[:2] == ["Frame#", "Time"]
    assert lines[3].split("\t")[2::3] == [*JOINTS, "hips_marker", "left_toe"]
    assert lines[4].split("\t")[2:5] == ["X1", "Y1", "Z1"] and lines[4].endswith("Z25") and lines[5] == ""
    rows = [line.split("\t") for line in lines[6:]]
    assert {len(row) for row in rows} == {2 + 3 * 25} and [row[0] for row in rows] == [str(n) for n in range(1, 9)]
    assert [float(row[1]) for row in rows] == pytest.approx(even.seconds.tolist(), abs=1e-6)
    assert float(rows[-1][1]) * rates[0] == pytest.approx(7.0, abs=1e-4)  # the header's rate is that of the rows
    lost = [n for n, state in enumerate(even.states) if state is TrackingState.LOST]
    assert [n for n, row in enumerate(rows) if row[2:71] == ["nan"] * 69] == lost == [4, 5]
    assert even.markers is not None
    for row, shown, point_m in zip(rows, even.markers.valid, even.markers.point_m, strict=True):
        assert [cell == "nan" for cell in row[71::3]] == (~shown).tolist()
        np.testing.assert_allclose(np.array(row[71:], float).reshape(2, 3)[shown], 1000.0 * point_m[shown], atol=1e-4)
    got = np.array([row[2:71] for n, row in enumerate(rows) if n not in lost], float).reshape(6, 23, 3)
    np.testing.assert_allclose(got / 1000, np.delete(even.positions_m(), lost, axis=0), atol=1e-7)


@pytest.mark.judge
def test_opensim_agrees(tmp_path: Path) -> None:
    python = judges.python_with("opensim")
    motion = resample_evenly(uneven())
    write_trc(tmp_path / "a.trc", motion)
    (tmp_path / "read.py").write_text(OPENSIM, encoding="utf-8")
    command = [python, str(tmp_path / "read.py"), str(tmp_path / "a.trc"), str(tmp_path / "a.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    points = points_from_take(motion)
    assert (
        found["labels"] == list(points.names) and found["units"] == "mm" and float(found["rate"]) == pytest.approx(25, rel=0.01)
    )
    assert found["times"] == pytest.approx(motion.seconds.tolist(), abs=1e-6)
    place_mm = np.array(found["rows"])
    assert np.array_equal(np.isfinite(place_mm).all(axis=2), points.valid)
    error_mm = np.abs(place_mm - 1000.0 * points.point_m)[points.valid].max()
    print(f"opensim: {error_mm:.6f} mm at most")
    assert error_mm < 1e-4
