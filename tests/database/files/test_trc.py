"""TRC files: our own and those of others."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from database.files.trc import read_trc

HEADER = (
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n  100.0\t\t  100.0\t\t2\t2\t mm\n"
    "Frame#\tTime\tL.Heel\t\t\tR.Heel\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
)


def test_points_are_read_in_metres_and_gaps_are_gaps(tmp_path: Path) -> None:
    file = tmp_path / "walk.trc"
    file.write_text(HEADER + "1\t0.00\t100\t20\t-30\t1\t2\t3\n2\t0.01\t101\t21\t-31\t\t\t\n")
    found = read_trc(file)
    assert found.labels == ("L.Heel", "R.Heel")
    np.testing.assert_allclose(found.point_m[:, 0], [[0.1, 0.02, -0.03], [0.101, 0.021, -0.031]])
    np.testing.assert_array_equal(found.valid, [[True, True], [True, False]])
    np.testing.assert_allclose(found.seconds, [0.0, 0.01])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "no TRC file"),
        (HEADER, "no points in it"),
        (HEADER.replace("mm", "yards") + "1\t0\t1\t2\t3\t1\t2\t3\n", "expected one of mm, cm, m"),
        (HEADER + "1\t0.0\tx\t2\t3\t1\t2\t3\n", ":7: could not convert"),
        (HEADER + "1\t0.1\t1\t2\t3\t1\t2\t3\n2\t0.1\t1\t2\t3\t1\t2\t3\n", "do not rise"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "walk.trc"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_trc(file)
