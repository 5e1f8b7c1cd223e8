"""What is said where no board is found: ways to go wrong, rendered; others are among the boards of `tests/zoo`."""

import re
from dataclasses import replace

import cv2
import numpy as np
import pytest

from calibration.board.diagnosis import describe_ambiguity, describe_seen_instead, explain_missing_board
from calibration.board.find import find_board
from calibration.board.pattern import Board, board_from_text
from calibration.camera import Rig
from config.arrays import Image
from tests.support.board_scenes import Look, Placed, render, render_board, scene_views, usual_rig

SIZE = (480, 360)
RIG, SMALL = usual_rig(SIZE), usual_rig((400, 300))
CHESSBOARD, CHARUCO = board_from_text("9x6:25"), board_from_text("charuco:9x6:25")


def picture(text: str, look: Look | None = None, share: tuple[float, float] = (0.4, 0.5), rig: Rig = RIG) -> Image:
    board = board_from_text(text)
    pose = scene_views(board, rig, 1, seed=1, share=share, first=4)[0]
    return render_board(board, rig.cameras[0], pose[:3], pose[3:], look)


def two(board: Board) -> Image:
    poses = scene_views(board, RIG, 6, seed=3, share=(0.3, 0.35))
    return render([Placed(board, pose[:3], pose[3:]) for pose in poses[[3, 5]]], RIG.cameras[0])


CASES = {
    "nothing": (lambda: render([], RIG.cameras[0]), CHESSBOARD, r"no board \(chessboard:9x6:25\) is to be seen, nor any other"),
    "dark": (lambda: picture("9x6:25", Look(gain=0.02, noise=2.0)), CHESSBOARD, "too dark"),
    "bright": (lambda: np.full(SIZE[::-1], 255, np.uint8), CHESSBOARD, "overexposed"),
    "other size": (lambda: picture("7x5:25"), CHESSBOARD, "7x5 inner corners is seen where 9x6 were.*--board chessboard:7x5:25"),
    "two": (lambda: two(CHESSBOARD), CHESSBOARD, "two boards of 9x6"),
    # Sharper boards of this size are found, softer ones are not even told.
    "blurred": (lambda: picture("9x6:25", Look(blur_px=3.4), (0.2, 0.22)), CHESSBOARD, "blurred"),
    "no markers": (lambda: picture("9x6:25"), CHARUCO, "no markers: for a plain chessboard give --board chessboard:9x6:25"),
    "other dictionary": (
        lambda: picture("charuco:9x6:25:18:DICT_4X4_50"),
        CHARUCO,
        "markers of DICT_4X4_50 are seen where DICT_5X5_100",
    ),
    "other charuco": (lambda: picture("charuco:7x5:30"), CHARUCO, "7 inner corners a row.*--board charuco:7x5:25"),
    "two charuco": (lambda: two(CHARUCO), CHARUCO, "two boards with the same markers"),
    "mirrored": (
        lambda: np.ascontiguousarray(picture("charuco:9x6:25")[:, ::-1]),
        CHARUCO,
        "mirrored.*switch the camera's mirroring off",
    ),
    "no charuco": (lambda: render([], RIG.cameras[0]), CHARUCO, r"no board \(charuco:9x6:25:18.75:DICT_5X5_100\) is to be seen"),
}


QUICK = ("bright", "no markers", "mirrored")  # the others are run by .ci/run


@pytest.mark.parametrize("case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES])
def test_it_says_what_is_seen(case: str) -> None:
    draw, board, expected = CASES[case]
    image = draw()
    assert find_board(image, board) is None
    words = explain_missing_board([image], board)
    assert "\n" not in words and not words.endswith(".")
    assert re.search(expected, words), words


def test_what_is_seen_in_some_pictures_counts_for_more_than_nothing_in_others() -> None:
    empty, other = render([], SMALL.cameras[0]), picture("7x5:25", rig=SMALL)  # what is not found is looked for thoroughly
    words = explain_missing_board([empty, cv2.cvtColor(other, cv2.COLOR_GRAY2BGR)], CHESSBOARD)
    assert words.startswith("in 1 of 2 pictures looked at, a board of 7x5")
    assert explain_missing_board([], CHESSBOARD) == "there are no pictures"
    assert describe_seen_instead(other, CHESSBOARD) in words


def test_boards_that_look_the_same_upside_down_are_warned_of() -> None:
    assert describe_ambiguity(CHESSBOARD) == "" and describe_ambiguity(replace(CHARUCO, rows=7)) == ""
    assert "upside down" in describe_ambiguity(board_from_text("8x6:25")) and "8x7" in describe_ambiguity(
        board_from_text("8x6:25")
    )
