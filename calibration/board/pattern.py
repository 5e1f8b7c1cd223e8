"""The boards that cameras are calibrated with: chessboards and ChArUco boards, their names as text, and what is printed on them.

A board's frame: origin at its first inner corner, x along a row, y down the rows as printed, z away from the viewer.

Chessboard: the outer square at the first corner is dark. ChArUco: markers are in the light squares, numbered row by row. Before
OpenCV 4.6 a board with an even number of rows of squares began with a light square (the legacy layout); since then all begin with
a dark one.
"""

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import CalibrationError

DICTIONARY = "DICT_5X5_100"
MARKER_SHARE = 0.75  # of a square's side, where nothing else is said
SIDES = (3, 40)  # inner corners along a side
SQUARE_RANGE_M = (0.002, 1.0)
EXAMPLES = "such as chessboard:9x6:25 (inner corners, square in mm) or charuco:9x6:25:18.75:DICT_5X5_100 (marker in mm)"


@dataclass(frozen=True, slots=True)
class Board:
    """A printed board.

    columns, rows: inner corners, where four squares meet, along and across; square_m: side of a square [m]; of a ChArUco board
    also marker_m: side of its markers [m]; dictionary: OpenCV's name of it; legacy: layout from before OpenCV 4.6, None where
    pictures are to tell.
    """

    kind: Literal["chessboard", "charuco"]
    columns: int
    rows: int
    square_m: float
    marker_m: float = 0.0
    dictionary: str = ""
    legacy: bool | None = None

    def __len__(self) -> int:
        """Return the number of inner corners."""
        return self.columns * self.rows

    @property
    def points_m(self) -> Floats:
        """The inner corners in the board's frame, row by row, (N, 3) [m], z = 0."""
        y, x = np.mgrid[: self.rows, : self.columns]
        return np.column_stack([x.ravel(), y.ravel(), np.zeros(len(self))]) * self.square_m

    @property
    def text(self) -> str:
        """The board's name, as `board_from_text` reads it."""
        line = f"{self.kind}:{self.columns}x{self.rows}:{1e3 * self.square_m:g}"
        return line if self.kind == "chessboard" else f"{line}:{1e3 * self.marker_m:g}:{self.dictionary}"


def board_from_text(text: str) -> Board:
    """Read `chessboard:9x6:25` or `charuco:9x6:25[:18.75[:DICT_5X5_100]]`; `9x6:25` is a chessboard.

    Raises CalibrationError: another format, or a size that no board has.
    """
    parts = text.strip().split(":")
    if parts[0] not in ("chessboard", "charuco"):
        parts = ["chessboard", *parts]
    kind, sizes = parts[0], parts[1:]
    try:
        columns, rows = (int(side) for side in sizes[0].lower().split("x"))
        lengths_mm = [float(length) for length in sizes[1:3]]
    except (ValueError, IndexError):
        columns = rows = 0
        lengths_mm = []
    if not lengths_mm or len(sizes) > (2 if kind == "chessboard" else 4):
        raise CalibrationError(f"{text!r} does not name a board; expected {EXAMPLES}")
    if not all(SIDES[0] <= side <= SIDES[1] for side in (columns, rows)):
        raise CalibrationError(
            f"{text!r}: {columns}x{rows} inner corners; expected {SIDES[0]} to {SIDES[1]} along each side, {EXAMPLES}"
        )
    square_m = 1e-3 * lengths_mm[0]
    if not SQUARE_RANGE_M[0] <= square_m <= SQUARE_RANGE_M[1]:
        low, high = (1e3 * side for side in SQUARE_RANGE_M)
        raise CalibrationError(f"{text!r}: squares of {lengths_mm[0]:g} mm; expected {low:g} to {high:g} mm, {EXAMPLES}")
    if kind == "chessboard":
        return Board("chessboard", columns, rows, square_m)
    marker_m = 1e-3 * lengths_mm[1] if len(lengths_mm) > 1 else MARKER_SHARE * square_m
    if not 0.3 * square_m <= marker_m < square_m:
        raise CalibrationError(
            f"{text!r}: markers of {1e3 * marker_m:g} mm in squares of {1e3 * square_m:g} mm; they must be smaller"
        )
    return Board("charuco", columns, rows, square_m, marker_m, sizes[3] if len(sizes) > 3 else DICTIONARY)


def is_ambiguous(board: Board) -> bool:
    """Return whether a board looks the same upside down, so that it must be held upright."""
    return board.kind == "chessboard" and (board.columns + board.rows) % 2 == 0


def light_squares(board: Board, light_first: bool) -> NDArray[np.bool_]:
    """Return which corners have a light square at their lower right, (N,); light_first: that of the first corner is light."""
    row, column = np.divmod(np.arange(len(board)), board.columns)
    return np.asarray((row + column) % 2 == int(not light_first))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A board as cells: columns end at x_m, (K + 1,) [m], rows at y_m, (L + 1,) [m], in the board's frame; dark: (L, K)."""

    x_m: Floats
    y_m: Floats
    dark: NDArray[np.bool_]


def board_pattern(board: Board) -> Pattern:
    """Return what is printed of a board. Raises CalibrationError as `board_dictionary` does."""
    x, y = np.arange(board.columns + 1), np.arange(board.rows + 1)
    starts_light = bool(board.legacy) and board.kind == "charuco" and len(y) % 2 == 0
    dark = (x[None, :] + y[:, None]) % 2 == int(starts_light)
    if board.kind == "chessboard":
        return Pattern(_lines(len(x)) * board.square_m, _lines(len(y)) * board.square_m, dark)
    return _with_markers(board, dark)


def dictionary_names() -> list[str]:
    """Return the names of the marker dictionaries that OpenCV has, each once."""
    names = [name for name in vars(cv2.aruco) if name.startswith("DICT_") and not name.startswith("DICT_APRILTAG_")]
    april = [f"DICT_APRILTAG_{kind}" for kind in ("16h5", "25h9", "36h10", "36h11")]
    return sorted(name for name in names if name != "DICT_ARUCO_MIP_36H12") + april


def board_dictionary(board: Board) -> "cv2.aruco.Dictionary":
    """Return the dictionary of a ChArUco board's markers. Raises CalibrationError: no such dictionary, or it is too small."""
    number = getattr(cv2.aruco, board.dictionary, None) if board.dictionary.startswith("DICT_") else None
    if number is None:
        known = ", ".join(name for name in dictionary_names() if name.endswith(("_100", "h11", "ORIGINAL")))
        raise CalibrationError(f"{board.text}: OpenCV has no dictionary {board.dictionary!r}; it has {known} and others")
    dictionary = cv2.aruco.getPredefinedDictionary(number)
    available, needed = len(dictionary.bytesList), (board.columns + 1) * (board.rows + 1) // 2
    if available < needed:
        raise CalibrationError(
            f"{board.text}: such a board needs {needed} markers and {board.dictionary} has {available}; take a larger dictionary"
        )
    return dictionary


def _lines(n_squares: int) -> Floats:
    """Return the borders of a row of squares, the first inner one at 0, (n + 1,) [squares]."""
    return np.asarray(np.arange(n_squares + 1) - 1.0, float)


def _with_markers(board: Board, dark: NDArray[np.bool_]) -> Pattern:
    """Divide every square into margin, marker cells and margin, and draw the markers into the light squares."""
    dictionary = board_dictionary(board)
    n_cells = int(dictionary.markerSize) + 2
    share = board.marker_m / board.square_m
    within = np.concatenate([[0.0], 0.5 * (1.0 - share) + share * np.arange(n_cells + 1) / n_cells])
    n = len(within)
    cells = np.repeat(np.repeat(dark, n, axis=0), n, axis=1)
    for number, (row, column) in enumerate(np.argwhere(~dark)):
        image = cv2.aruco.generateImageMarker(dictionary, number, n_cells)
        cells[row * n + 1 :, column * n + 1 :][:n_cells, :n_cells] = image == 0
    x_m, y_m = ((np.arange(side)[:, None] - 1.0 + within).ravel() for side in dark.shape[::-1])
    x_m, y_m = (np.append(line, side - 1.0) for line, side in ((x_m, dark.shape[1]), (y_m, dark.shape[0])))
    return Pattern(x_m * board.square_m, y_m * board.square_m, cells)
