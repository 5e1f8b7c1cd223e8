"""Time stamps: both layouts, and each fault with its line."""

from pathlib import Path

import numpy as np
import pytest

from capture.sources.timestamps import read_timestamps
from config.errors import SourceError


def write(folder: Path, text: str) -> Path:
    path = folder / "stamps.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_stamp_a_pair(tmp_path: Path) -> None:
    path = write(tmp_path, "frame,seconds\n0,0.0\n1,0.03\n2,0.1\n")
    np.testing.assert_array_equal(read_timestamps(path, 3), [0.0, 0.03, 0.1])


def test_one_stamp_a_camera_and_windows_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffframe, left_seconds, right_seconds\r\n0,0.0,0.01\r\n1,0.03,0.04\r\n\r\n")
    np.testing.assert_array_equal(read_timestamps(path), [[0.0, 0.01], [0.03, 0.04]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the first line is 'empty'"),
        ("time\n0\n", "the first line is 'time'; expected frame,seconds or"),
        ("frame,seconds\n", "no time stamps below the header"),
        ("frame,seconds\n0,0.0\n1,x\n", r"stamps.csv:3: expected 2 numbers, got '1,x'"),
        ("frame,seconds\n0,0.0\n1,nan\n", "stamps.csv:3: expected 2 numbers"),
        ("frame,seconds\n0,0.0\n1\n", "stamps.csv:3: expected 2 numbers"),
        ("frame,seconds\n0,0.0\n2,0.1\n", "stamps.csv:3: frame 2 where 1 was expected"),
        ("frame,seconds\n0,0.2\n1,0.2\n", "time goes from 0.2 to 0.2 s at frame 1"),
        ("frame,left_seconds,right_seconds\n0,0.0,0.4\n1,0.1,0.3\n", "time goes from 0.4 to 0.3 s at frame 1"),
    ],
)
def test_each_fault_has_its_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SourceError, match=expected) as caught:
        read_timestamps(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_other_length_than_the_videos(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="2 time stamps for 5 frames"):
        read_timestamps(write(tmp_path, "frame,seconds\n0,0.0\n1,0.03\n"), 5)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read the time stamps"):
        read_timestamps(tmp_path / "none.csv")


def test_real_stamps(shared_data: Path) -> None:
    stamps = read_timestamps(shared_data / "two_webcams" / "timestamps.csv", 853)
    assert stamps.shape == (853,)
    assert 24.0 < 852 / (stamps[-1] - stamps[0]) < 34.0
