"""Why no board was found: what pictures show instead of the board that was asked for, in one line."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.charuco import MarkerDetections, find_charuco, find_markers
from calibration.board.chessboard import find_chessboard, find_chessboard_grids
from calibration.board.find import convert_to_grey, has_another_chessboard
from calibration.board.others import (
    count_spots,
    describe_loose_markers,
    describe_tags,
    identify_aprilgrid,
    identify_circles,
    identify_marker,
)
from calibration.board.pattern import MARKER_SHARE, SIDES, Board, is_ambiguous, load_board_dictionary
from calibration.board.squares import OtherChessboard, detect_chessboard
from config.arrays import Image

MAX_IMAGES = 4
DARK, BRIGHT = 45.0, 225.0  # grey levels
MIN_MARKERS = 4

# Of each kind the one that boards are printed with; those of 50 and 250 hold the same markers to begin with.
COMMON = (
    *("DICT_4X4_100", "DICT_5X5_100", "DICT_6X6_100", "DICT_7X7_100", "DICT_ARUCO_ORIGINAL", "DICT_ARUCO_MIP_36h12"),
    *("DICT_APRILTAG_36h11", "DICT_APRILTAG_25h9", "DICT_APRILTAG_16h5"),
)
CIRCLES_SHARE = 0.25  # that are seen of a board of circles, at least
SHARP_PX = 1.0  # blur in a picture of half the size, of one that is sharp
MARKERS_OF_LAYOUT = 6  # by which the layout of a board is told
CLEAR = 8  # markers that leave no doubt
ROWS = "<rows>"


def detect_dictionary(grey: Image) -> tuple[str, MarkerDetections]:
    """Return the dictionary that most markers in a picture, (H, W), are of, the smallest of equals, and those markers."""
    best = ("", MarkerDetections(np.zeros(0, int), np.zeros((0, 4, 2))))
    for name in COMMON:
        markers = find_markers(grey, cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, name)))
        if len(markers.ids) > len(best[1].ids):
            best = name, markers
        if len(best[1].ids) >= CLEAR:
            break
    name, markers = best
    return (name.replace("_100", "_50") if len(markers.ids) and markers.ids.max() < 50 else name), markers


def find_charuco_layout(markers: MarkerDetections) -> tuple[int, int] | None:
    """Return the inner corners of the ChArUco board that markers fit, with as many rows as were seen; None if they fit none."""
    if len(markers.ids) < MARKERS_OF_LAYOUT:
        return None
    found = []
    for columns in range(SIDES[0], 25):
        for light_first in (False, True):
            row, column = _locate_light_squares(markers.ids, columns + 1, light_first)
            if np.ptp(row) < 1:
                continue
            points = np.column_stack([column, row]).astype(float)
            H, inlier = cv2.findHomography(markers.corners_px.mean(axis=1), points, cv2.RANSAC, 0.25)
            if H is not None:
                found.append((int(inlier.sum()), columns, int(row[inlier.ravel() > 0].max())))
    best = max(found, default=(0, 0, 0), key=lambda each: each[0])
    return (best[1], best[2]) if best[0] >= max(MARKERS_OF_LAYOUT, 0.7 * len(markers.ids)) else None


def _locate_light_squares(ids: NDArray[np.int_], across: int, light_first: bool) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return row and column of the light squares by number, of a board of `across` squares a row, (M,) each."""
    row, column = np.divmod(np.arange(across * (2 * (int(ids.max()) + 1) // across + 2)), across)
    light = (row + column) % 2 == int(not light_first)
    return row[light][ids], column[light][ids]


def explain_missing_board(images: Sequence[Image], board: Board) -> str:
    """Return why `find_board` finds nothing in pictures, and what to do: one line without a full stop.

    images: (H, W) or (H, W, 3) each; a few of them, evenly spaced, are looked at, and what most of them show is reported.
    """
    if not len(images):
        return "there are no pictures"
    chosen = [images[k] for k in np.unique(np.linspace(0, len(images) - 1, min(MAX_IMAGES, len(images))).astype(int))]
    found = [_find_reason(convert_to_grey(image), board) for image in chosen]
    reasons = Counter((reason.text, reason.specific) for reason in found)
    specific = Counter({reason: n for reason, n in reasons.items() if reason[1]})
    (text, _), n = (specific or reasons).most_common(1)[0]
    text = _Reason(text, True, max(reason.rows for reason in found if reason.text == text)).words
    return text if n == len(chosen) or not specific else f"in {n} of {len(chosen)} pictures looked at, {text}"


def describe_seen_instead(image: Image, board: Board) -> str:
    """Return what a picture, (H, W) or (H, W, 3), shows instead of the board; empty where nothing like a board is seen."""
    reason = _find_reason(convert_to_grey(image), board)
    return reason.words if reason.specific else ""


def describe_ambiguity(board: Board) -> str:
    """Return a warning about a board that looks the same upside down; empty for any other."""
    if not is_ambiguous(board):
        return ""
    return (
        f"a chessboard of {board.columns}x{board.rows} inner corners looks the same upside down: hold it upright always, "
        f"or print one with an odd and an even number, such as {board.columns}x{board.rows + (1 if board.rows < 40 else -1)}"
    )


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a picture shows no board. specific: something else is seen, rather than nothing at all; rows: of inner corners of the
    board that is seen, the last of which may be hidden or outside, in place of ROWS in the text."""

    text: str
    specific: bool
    rows: int = 0

    @property
    def words(self) -> str:
        """The text with the number of rows."""
        return self.text.replace(ROWS, f"{self.rows}")


def _find_reason(grey: Image, board: Board) -> _Reason:
    """Return what one picture shows."""
    if text := _describe_other_kind(grey, board):
        return _Reason(text, True)
    text, rows = _describe_expected_kind(grey, board)
    if text:
        return _Reason(text, True, rows)
    if text := _describe_circles(grey, board):
        return _Reason(text, True)
    if text := _describe_light(grey):
        return _Reason(text, False)
    if board.kind == "chessboard" and (text := _describe_blur(grey, board)):
        return _Reason(text, True)
    nothing = f"no board ({board.text}) is to be seen, nor any other: hold it nearer, whole, still and in focus"
    return _Reason(nothing, False)


def _describe_expected_kind(grey: Image, board: Board) -> tuple[str, int]:
    """Return what is seen of a board of the kind that was expected, or of a chessboard or ChArUco board instead, and its rows."""
    if board.kind == "charuco":
        return _describe_charuco(grey, board)
    if board.kind == "chessboard":
        return _describe_chessboard(grey, board)
    if board.kind != "circles" and (text := describe_tags(grey, board)):
        return text, 0
    name, markers = detect_dictionary(grey)
    if len(markers.ids) >= MIN_MARKERS:
        layout = find_charuco_layout(markers)
        if (text := describe_loose_markers(name, markers, layout is not None)) or layout is None:
            return text, 0
        size, rows = f"{layout[0]}x{ROWS}", layout[1]
        return (
            f"a board with markers of {name} is seen where {board.text} was expected: give --board charuco:{size}:MM:MM:{name}",
            rows,
        )
    seen = detect_chessboard(grey)
    if seen is not None:
        size = f"{seen.columns}x{seen.rows}"
        return (
            f"a chessboard of {size} inner corners is seen where {board.text} was expected: give --board chessboard:{size}:MM",
            0,
        )
    return "", 0


def _describe_other_kind(grey: Image, board: Board) -> str:
    """Return that an AprilGrid or a single marker is seen where another kind of board was expected; empty if not."""
    other = identify_aprilgrid(grey) if board.kind != "aprilgrid" else None
    if other is None:
        name, markers = detect_dictionary(grey)
        other = identify_marker(name, markers, grey.shape[1])
        if other is None or (board.kind == "aruco" and board.marker_id in find_markers(grey, load_board_dictionary(board)).ids):
            return ""
        if detect_chessboard(grey) is not None:
            return ""
    return f"{other.words} is seen where {board.text} was expected: give --board {other.text}, MM its side by ruler"


def _describe_circles(grey: Image, board: Board) -> str:
    """Return that a grid of circles is seen; empty if not."""
    other = identify_circles(grey)
    if other is None and board.kind == "circles" and (n := min(count_spots(grey), len(board) - 1)) >= CIRCLES_SHARE * len(board):
        return f"about {n} of the board's {len(board)} circles are seen: keep the whole board in the picture, in focus"
    if other is None or (other.kind == "circles" and board.kind == "circles" and f":{board.columns}x{board.rows}:" in other.text):
        return ""
    if not other.text:
        return f"{other.words} is seen, which looks the same turned round: print another board (duocap calibrate board)"
    return f"{other.words} is seen where {board.text} was expected: give --board {other.text}, MM from row to row by ruler"


def _describe_light(grey: Image) -> str:
    """Return whether a picture is too dark or too bright to show anything; empty if not."""
    low, high = np.percentile(grey, (2.0, 98.0))
    if high < DARK:
        return "no board is to be seen, the pictures are too dark: more light, or a longer exposure"
    if low > BRIGHT or np.mean(grey >= 254) > 0.6:
        return "no board is to be seen, the pictures are overexposed: less light, or a shorter exposure"
    return ""


def _describe_chessboard(grey: Image, board: Board) -> tuple[str, int]:
    """Return what is seen where a chessboard was expected, empty if nothing, and its rows of inner corners if it has markers."""
    name, markers = detect_dictionary(grey)
    if len(markers.ids) >= MIN_MARKERS:
        layout = find_charuco_layout(markers)
        if (text := describe_loose_markers(name, markers, layout is not None)) or layout is None:
            return text, 0
        seen_name = f"{name}, {layout[0]}x{ROWS} inner corners or more"
        text = f"a board with markers ({seen_name}) is seen where a plain chessboard was expected: "
        return text + _format_option(name, layout, board), layout[1]
    found = find_chessboard(grey, board)
    if found is not None:
        another = has_another_chessboard(grey, board, found)
        return f"two boards of {board.columns}x{board.rows} are in the picture: leave only one in view" if another else "", 0
    seen = detect_chessboard(grey) or _find_at_half_size(grey)
    if seen is None:
        return "", 0
    columns, rows = seen.columns, seen.rows
    if {columns, rows} == {board.columns - 1, board.rows - 1}:
        return (
            f"a board of {columns}x{rows} inner corners is seen where {board.columns}x{board.rows} were expected: count where "
            f"four squares meet, not the squares, and give --board chessboard:{columns}x{rows}:{1e3 * board.square_m:g}"
        ), 0
    if seen.blur_px > 3.5:
        return f"the board is too blurred, its edges are {seen.blur_px:.0f} px wide: hold it still, focus, more light", 0
    fits = min(columns, rows) <= min(board.columns, board.rows) and max(columns, rows) <= max(board.columns, board.rows)
    if seen.at_edge and fits:
        size = f"{board.columns}x{board.rows}"
        return f"only {columns}x{rows} of the board's {size} inner corners are in view: keep the whole board in the picture", 0
    part = ", or show the whole board if a part of it is covered" if fits else ""
    return (
        f"a board of {columns}x{rows} inner corners is seen where {board.columns}x{board.rows} were expected: give "
        f"--board chessboard:{columns}x{rows}:{1e3 * board.square_m:g}{part}"
    ), 0


def _find_at_half_size(grey: Image) -> OtherChessboard | None:
    """Return a chessboard that is found at half the size only, although it is sharp; None: there is none."""
    small = cv2.resize(grey, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    seen = detect_chessboard(small)
    return seen if seen is not None and seen.blur_px < SHARP_PX else None


def _describe_blur(grey: Image, board: Board) -> str:
    """Return whether a board shows up in a smaller picture, where blur matters less; empty if not."""
    for scale in (0.5, 0.25):
        small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if detect_chessboard(small) is not None or any(True for _ in find_chessboard_grids(small, board.columns, board.rows)):
            return "a board is seen only when the picture is made smaller, so it is too blurred: hold it still, focus, more light"
    return ""


def _describe_charuco(grey: Image, board: Board) -> tuple[str, int]:
    """Return what is seen where a ChArUco board was expected, empty if nothing, and its rows of inner corners."""
    expected = find_markers(grey, load_board_dictionary(board), sharpen=True)
    mirrored = find_markers(np.ascontiguousarray(grey[:, ::-1]), load_board_dictionary(board))
    if len(mirrored.ids) >= MIN_MARKERS and len(mirrored.ids) > 2 * len(expected.ids):
        return "the pictures are mirrored, the board's markers are seen from behind: switch the camera's mirroring off", 0
    if len(expected.ids) >= MIN_MARKERS:
        layout = find_charuco_layout(expected)
        few = len(expected.ids) < MARKERS_OF_LAYOUT
        if text := describe_loose_markers(board.dictionary, expected, few or layout is not None):
            return text, 0
        return _describe_layout(grey, board, expected, layout), layout[1] if layout else 0
    name, markers = detect_dictionary(grey)
    if len(markers.ids) >= MIN_MARKERS and name != board.dictionary:
        layout = find_charuco_layout(markers)
        few = len(markers.ids) < MARKERS_OF_LAYOUT
        if text := describe_loose_markers(name, markers, few or layout is not None):
            return text, 0
        text = f"markers of {name} are seen where {board.dictionary} was expected: {_format_option(name, layout, board)}"
        return text, layout[1] if layout else 0
    return _describe_few_markers(grey, board, len(expected.ids)), 0


def _describe_few_markers(grey: Image, board: Board, n_markers: int) -> str:
    """Return what is seen where hardly any marker of a ChArUco board is; empty if nothing."""
    seen = detect_chessboard(grey)
    if seen is not None and not n_markers:
        if seen.blur_px > 1.5:
            return f"squares are seen but no markers, the edges are {seen.blur_px:.0f} px wide: hold the board still, focus"
        return (
            f"squares are seen ({seen.columns}x{seen.rows} inner corners) but no markers: for a plain chessboard give "
            f"--board chessboard:{seen.columns}x{seen.rows}:{1e3 * board.square_m:g}, else hold the board nearer"
        )
    if n_markers and not _describe_light(grey):
        return f"only {n_markers} of the board's markers can be read: hold it nearer, flat, and in focus"
    return ""


def _describe_layout(grey: Image, board: Board, markers: MarkerDetections, seen: tuple[int, int] | None) -> str:
    """Return why a board whose markers are seen was not found.

    Empty if that is unknown. seen: what `find_charuco_layout` says.
    """
    needed = (board.columns + 1) * (board.rows + 1) // 2
    if seen is not None and (seen[0] != board.columns or seen[1] > board.rows):
        return (
            f"a ChArUco board of {seen[0]} inner corners a row is seen where {board.columns}x{board.rows} were expected: "
            f"give --board {_format_board(board.dictionary, seen, board)}"
        )
    if markers.ids.max() >= needed:
        return f"markers beyond the board's {needed} are seen: a larger board was printed than {board.columns}x{board.rows}"
    if find_charuco(grey, board, markers) is not None:
        return ""
    return (
        f"{len(markers.ids)} of the board's {needed} markers are seen but no corners: show more of it, nearer, flat and in focus"
    )


def _format_option(name: str, layout: tuple[int, int] | None, board: Board) -> str:
    """Return the option that names the board whose markers are seen, by its layout."""
    return f"give --board {_format_board(name, layout, board)}"


def _format_board(name: str, seen: tuple[int, int] | None, board: Board) -> str:
    """Return a board's name from what was seen of it, with the sizes that were expected."""
    size = f"{board.columns}x{board.rows}" if seen is None else f"{seen[0]}x{ROWS}"
    square_mm = 1e3 * board.square_m
    marker_mm = 1e3 * board.marker_m or MARKER_SHARE * square_mm
    return f"charuco:{size}:{square_mm:g}:{marker_mm:g}:{name}"
