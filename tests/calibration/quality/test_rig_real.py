"""The verdict on two real webcams, 37 cm apart and not synchronised, before which a board was held by hand."""

from pathlib import Path

import numpy as np
import pytest

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.depth import compute_depth_sigma_m
from calibration.formats.rig_toml import read_rig_toml
from calibration.quality.report import Grade
from calibration.quality.rig import judge_rig_solution
from calibration.quality.rig_picture import draw_rig
from calibration.solve.rig import solve_rig

pytestmark = pytest.mark.slow


def test_two_real_webcams_are_poor_for_shallow_depth(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "two_webcams"
    if not (folder / "board_corners.npz").is_file():
        pytest.skip(f"no corners of the real webcams: {folder / 'board_corners.npz'} does not exist")
    with np.load(folder / "board_corners.npz") as corners:
        # Down the columns there, and from the other end: along rows of six here, so that the board faces the cameras.
        seen = [corners[f"{side}_px"].reshape(-1, 9, 6, 2)[:, :, ::-1].reshape(-1, 54, 2) for side in ("left", "right")]
    whole = np.ones(54, bool)
    views = [[BoardView(px.copy(), whole.copy(), v * 10**9, f"{v:02d}") for v, px in enumerate(side)] for side in seen]
    pairs = [BoardMoment((left, right)) for left, right in zip(*views, strict=True)]
    solution = solve_rig(Board("chessboard", 6, 9, 0.021), pairs, ((640, 480), (640, 480)))
    report = judge_rig_solution(solution, 4.0)
    assert report.grade is Grade.POOR, report.lines
    words = "\n".join(report.lines)
    assert "at 4.0 m a marker found to 0.2 px is known to 15" in words and "move the cameras apart" in words
    # 16 m2 x 0.2 px x sqrt(2) / (800 px x 0.366 m)
    assert compute_depth_sigma_m(read_rig_toml(folder / "rig.toml"), 4.0, 0.2) == pytest.approx(0.0155, abs=0.0015)
    assert report.figures["edge_bias_percent"] == pytest.approx(0.0, abs=0.3)
    assert "moved during" not in words and "seems to be bent" not in words and "the board is bent by 1" in words
    # Held by hand before cameras that look one after the other: the views contradict each other by far more than their noise.
    assert report.figures["disagreement"] > 5.0 and 2.0 < report.figures["world_off_percent"] < 15.0
    assert draw_rig(solution, report, tmp_path / "rig.png").stat().st_size > 50_000
