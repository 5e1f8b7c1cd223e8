"""What becomes of views of a board: what a tape and the pictures contradict is drawn and said, and no rig is written."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from calibration.board.views import BoardMoment
from config.errors import CalibrationError
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, pairs_of, true_places, true_rig
from tools.calibrate.rig import RigOutcome, RigTask, calibrate_moments

PAIRS = pairs_of(true_rig(), true_places(10), 0.1)


def calibrated(pairs: Sequence[BoardMoment], folder: Path, tape_m: float | None = None) -> tuple[RigOutcome, str]:
    """Calibrate to a folder; give what came out and what was said."""
    told: list[str] = []
    task = RigTask(BOARD, folder / "rig.toml", folder / "rig.png", tape_m=tape_m)
    return calibrate_moments(pairs, (SIZE, SIZE), task, told.append), "\n".join(told)


def test_a_tape_that_says_something_else_is_a_fail(tmp_path: Path) -> None:
    """The lenses are 400 mm apart by squares of 30 mm; 500 mm by tape would be squares of 37.5 mm."""
    done, told = calibrated(PAIRS, tmp_path, 0.5)
    assert done.error is not None and "verdict: fail" in told
    said = re.search(r"squares of ([\d.]+) mm would fit, not 30 mm", str(done.error))
    assert said is not None and float(said[1]) == pytest.approx(37.5, rel=0.005)
    assert [file.name for file in tmp_path.iterdir()] == ["rig.png"]


def test_the_same_pictures_twice_are_no_two_cameras(tmp_path: Path) -> None:
    done, _ = calibrated([BoardMoment((pair.views[0], pair.views[0])) for pair in PAIRS], tmp_path)
    assert "their pictures are the same" in str(done.error) and not (tmp_path / "rig.toml").exists()


def test_views_that_are_too_soft_to_use(tmp_path: Path) -> None:
    soft = []
    for k, pair in enumerate(PAIRS):
        assert pair.views[0] is not None and pair.views[1] is not None
        left = None if k < 3 else replace(pair.views[0], blur_px=4.0)
        soft.append(BoardMoment((left, replace(pair.views[1], blur_px=0.7))))
    with pytest.raises(CalibrationError, match=r"left: 0 of 7 views of the board can be used, .*blurred by more than"):
        calibrated(soft, tmp_path)
    assert not list(tmp_path.iterdir())
