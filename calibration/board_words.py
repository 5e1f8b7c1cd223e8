"""Say in one line why no board was found: what is to be seen instead of the board that was asked for."""

from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import MARKER_SHARE, Board
from calibration.board_find import grey_picture, without_board
from calibration.board_find_charuco import MarkersSeen, find_charuco, find_markers
from calibration.board_find_chessboard import chessboard_grids, find_chessboard
from calibration.board_order import is_ambiguous
from calibration.board_pattern import board_dictionary
from calibration.board_seen import chessboard_seen, dictionary_seen, layout_seen

MOST_IMAGES = 4
DARK, BRIGHT = 45.0, 225.0  # grey levels
MIN_MARKERS = 4

Image = NDArray[np.uint8]


def why_no_board(images: Sequence[Image], board: Board) -> str:
    """Say what pictures show in which `find_board` finds nothing, and what to do about it: one line without a full stop.

    images: (H, W) or (H, W, 3) each; a handful, evenly taken, is looked at; what most of them show is said.
    """
    if not len(images):
        return "there are no pictures"
    chosen = [images[k] for k in np.unique(np.linspace(0, len(images) - 1, min(MOST_IMAGES, len(images))).astype(int))]
    said = Counter(_reason(grey_picture(image), board) for image in chosen)
    specific = Counter({words: n for words, n in said.items() if not words.startswith("no board")})
    words, n = (specific or said).most_common(1)[0]
    return words if n == len(chosen) or not specific else f"in {n} of {len(chosen)} pictures looked at, {words}"


def board_note(board: Board) -> str:
    """Say what must be minded when a board is used, empty if nothing."""
    if not is_ambiguous(board):
        return ""
    return (
        f"a chessboard of {board.columns}x{board.rows} inner corners looks the same upside down: hold it upright always, "
        f"or print one with an odd and an even number, such as {board.columns}x{board.rows + (1 if board.rows < 40 else -1)}"
    )


def _reason(grey: Image, board: Board) -> str:
    """Say what one picture shows."""
    words = _instead_of_markers(grey, board) if board.kind == "charuco" else _instead_of_squares(grey, board)
    words = words or _light_words(grey) or (_blurred_words(grey, board) if board.kind == "chessboard" else "")
    return words or f"no board ({board.text}) is to be seen, nor any other: hold it nearer, whole, still and in focus"


def _light_words(grey: Image) -> str:
    """Say whether a picture is too dark or too bright to show anything."""
    low, high = np.percentile(grey, (2.0, 98.0))
    if high < DARK:
        return "no board is to be seen, the pictures are too dark: more light, or a longer exposure"
    if low > BRIGHT or np.mean(grey >= 254) > 0.6:
        return "no board is to be seen, the pictures are overexposed: less light, or a shorter exposure"
    return ""


def _instead_of_squares(grey: Image, board: Board) -> str:
    """Say what is seen where a chessboard was expected, empty if nothing."""
    name, markers = dictionary_seen(grey)
    if len(markers.ids) >= MIN_MARKERS:
        seen_name = _charuco_name(name, markers)
        return f"a board with markers ({seen_name}) is seen where a plain chessboard was expected: {_give(name, markers, board)}"
    found = find_chessboard(grey, board)
    if found is not None:
        another = find_chessboard(without_board(grey, found.fit.corners_px), board, quick=True)
        return f"two boards of {board.columns}x{board.rows} are in the picture: leave only one in view" if another else ""
    seen = chessboard_seen(grey)
    if seen is None:
        return ""
    (columns, rows), at_edge, blur_px = seen
    if {columns, rows} == {board.columns - 1, board.rows - 1}:
        return (
            f"a board of {columns}x{rows} inner corners is seen where {board.columns}x{board.rows} were expected: count where "
            f"four squares meet, not the squares, and give --board chessboard:{columns}x{rows}:{1e3 * board.square_m:g}"
        )
    if blur_px > 3.5:
        return f"the board is too blurred, its edges are {blur_px:.0f} px wide: hold it still, focus, more light"
    fits = min(columns, rows) <= min(board.columns, board.rows) and max(columns, rows) <= max(board.columns, board.rows)
    if at_edge and fits:
        size = f"{board.columns}x{board.rows}"
        return f"only {columns}x{rows} of the board's {size} inner corners are in view: keep the whole board in the picture"
    part = ", or show the whole board if a part of it is covered" if fits else ""
    return (
        f"a board of {columns}x{rows} inner corners is seen where {board.columns}x{board.rows} were expected: give "
        f"--board chessboard:{columns}x{rows}:{1e3 * board.square_m:g}{part}"
    )


def _blurred_words(grey: Image, board: Board) -> str:
    """Say whether a board shows up once the picture is made smaller, where blur matters less."""
    for scale in (0.5, 0.25):
        small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if chessboard_seen(small) is not None or any(True for _ in chessboard_grids(small, board.columns, board.rows)):
            return "a board is seen only when the picture is made smaller, so it is too blurred: hold it still, focus, more light"
    return ""


def _instead_of_markers(grey: Image, board: Board) -> str:
    """Say what is seen where a ChArUco board was expected, empty if nothing."""
    expected = find_markers(grey, board_dictionary(board), crisp=True)
    mirrored = find_markers(np.ascontiguousarray(grey[:, ::-1]), board_dictionary(board))
    if len(mirrored.ids) >= MIN_MARKERS and len(mirrored.ids) > 2 * len(expected.ids):
        return "the pictures are mirrored, the board's markers are seen from behind: switch the camera's mirroring off"
    if len(expected.ids) >= MIN_MARKERS:
        return _misplaced_words(grey, board, expected)
    name, markers = dictionary_seen(grey)
    if len(markers.ids) >= MIN_MARKERS and name != board.dictionary:
        return f"markers of {name} are seen where {board.dictionary} was expected: {_give(name, markers, board)}"
    seen = chessboard_seen(grey)
    if seen is not None and not len(expected.ids):
        columns, rows = seen[0]
        if seen[2] > 1.5:
            return f"squares are seen but no markers, the edges are {seen[2]:.0f} px wide: hold the board still, focus"
        return (
            f"squares are seen ({columns}x{rows} inner corners) but no markers: for a plain chessboard give "
            f"--board chessboard:{columns}x{rows}:{1e3 * board.square_m:g}, else hold the board nearer"
        )
    if len(expected.ids) and not _light_words(grey):
        return f"only {len(expected.ids)} of the board's markers can be read: hold it nearer, flat, and in focus"
    return ""


def _misplaced_words(grey: Image, board: Board, markers: MarkersSeen) -> str:
    """Say why a board whose markers are seen was not found."""
    twice = len(markers.ids) - len(np.unique(markers.ids))
    if twice >= MIN_MARKERS:
        return "two boards with the same markers are in the picture: leave only one in view"
    seen = layout_seen(markers)
    if seen is not None and seen[0] != board.columns:
        return (
            f"a ChArUco board of {seen[0]} inner corners a row is seen where {board.columns}x{board.rows} were expected: "
            f"give --board {_call(board.dictionary, seen, board)}"
        )
    needed = (board.columns + 1) * (board.rows + 1) // 2
    if markers.ids.max() >= needed:
        rows = seen[1] if seen else "more"
        return f"a ChArUco board of {board.columns}x{rows} inner corners is seen where {board.columns}x{board.rows} were expected"
    if find_charuco(grey, board, markers) is not None:
        return ""
    return (
        f"{len(markers.ids)} of the board's {needed} markers are seen but no corners: show more of it, nearer, flat and in focus"
    )


def _charuco_name(name: str, markers: MarkersSeen) -> str:
    seen = layout_seen(markers)
    return f"{name}, {seen[0]}x{seen[1]} inner corners or more" if seen else name


def _give(name: str, markers: MarkersSeen, board: Board) -> str:
    """Say what to call the board whose markers are seen."""
    return f"give --board {_call(name, layout_seen(markers), board)}"


def _call(name: str, seen: tuple[int, int] | None, board: Board) -> str:
    """Name a board by what was seen of it, sizes as they were expected."""
    columns, rows = seen or (board.columns, board.rows)
    square_mm = 1e3 * board.square_m
    marker_mm = 1e3 * board.marker_m or MARKER_SHARE * square_mm
    return f"charuco:{columns}x{rows}:{square_mm:g}:{marker_mm:g}:{name}"
