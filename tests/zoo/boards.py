"""Boards that others printed, in rendered pictures: what is found in them, or what is said of them."""

from pathlib import Path

import numpy as np

from calibration.board.find import find_board
from calibration.board.pattern import board_from_text
from tests.support.board_scenes import render_board, scene_views, true_corners, usual_rig
from tests.zoo.specimen import Outcome, Specimen


def _plain(folder: Path) -> Outcome:
    board, rig = board_from_text("chessboard:9x6:25"), usual_rig()
    pose, camera = scene_views(board, rig, 1, seed=3, first=4)[0], rig.left
    view = find_board(render_board(board, camera, pose[:3], pose[3:]), board)
    assert view is not None
    error = float(np.hypot(*(view.corners_px - true_corners(board, camera, pose)).T).max())
    return Outcome(f"{view.n_seen} corners", error)


SPECIMENS: tuple[Specimen, ...] = (Specimen("plain chessboard", _plain, "54 corners", 0.1, "px"),)
