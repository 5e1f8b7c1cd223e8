"""What `duocap record` sums up, and what is left of a recording that never began."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from calibration.placement import make_facing_rig
from config.errors import CalibrationError
from config.settings import Settings
from tests.capture.recording.test_session import session
from tools.run.record import SessionFolder
from tools.run.record_only import RecordReport, count_recorded_pictures
from tools.run.start import check_sizes, format_rig_quality


def test_a_session_given_up_before_its_cameras_came_leaves_its_name_free(tmp_path: Path) -> None:
    for _ in range(2):
        made = SessionFolder(tmp_path / "take", "s1", Settings(), ["0", "1"])
        assert (tmp_path / "take" / "settings.toml").is_file()
        made.finish({})
        assert not (tmp_path / "take").exists()


def test_pictures_are_counted_by_their_stamps_and_so_are_those_that_are_missing(tmp_path: Path) -> None:
    folder = session(tmp_path / "take")
    assert count_recorded_pictures(folder, "left") == (40, 0, pytest.approx(39 * 0.04))
    lines = (folder / "left.csv").read_text(encoding="ascii").splitlines()
    (folder / "left.csv").write_text("\n".join([*lines[:11], *lines[14:20], *lines[21:]]) + "\n", encoding="ascii")
    assert count_recorded_pictures(folder, "left") == (36, 4, pytest.approx(39 * 0.04))
    assert count_recorded_pictures(tmp_path, "left") == (0, 0, 0.0)


def test_a_report_says_what_is_missing_only_where_something_is() -> None:
    whole, holed = (RecordReport(Path("take"), 9.3, (280, 275), missed, 4_200_000) for missed in ((0, 0), (166, 0)))
    assert whole.lines()[0] == "take: 9 s, 280 and 275 pictures, 4 MB" and len(whole.lines()) == 2
    assert holed.lines()[1] == "not recorded, since machine or disk were too slow: 166 of the left camera"


def test_only_a_poor_rig_is_told_in_a_line() -> None:
    rig = make_facing_rig((640, 480), 60.0, 3.0, 1.0, 1.2)
    assert format_rig_quality(replace(rig, grade="")) == "" == format_rig_quality(replace(rig, grade="pass"))
    words = format_rig_quality(replace(rig, grade="poor", error_px=0.314))
    assert words.startswith("the rig's calibration is poor (its own verdict, 0.31 px)") and "\n" not in words
    assert "px" not in format_rig_quality(replace(rig, grade="poor", error_px=float("nan")))


@dataclass
class Opened:
    """A camera process that told its size."""

    name: str
    counts: dict[str, int]


def test_a_camera_of_another_size_than_the_rig_is_refused() -> None:
    rig = make_facing_rig((640, 480), 60.0, 3.0, 1.0, 1.2)
    left, right = (Opened(name, {"width": 640, "height": 480}) for name in ("left", "right"))
    check_sizes(rig, (left, right))  # type: ignore[arg-type]
    check_sizes(rig, (left, Opened("right", {})))  # type: ignore[arg-type]
    with pytest.raises(CalibrationError, match="the right camera gives 1280x720, but the rig was calibrated at 640x480"):
        check_sizes(rig, (left, Opened("right", {"width": 1280, "height": 720})))  # type: ignore[arg-type]
