"""The boards that cameras are calibrated with, their names as text, and what is printed on them.

A board's frame: origin at its first corner, x along a row, y down the rows as printed, z away from the viewer.

Chessboard: the outer square at the first corner is dark. ChArUco: markers are in the light squares, numbered row by row. Before
OpenCV 4.6 a board with an even number of rows of squares began with a light square (the legacy layout); since then all begin with
a dark one. AprilGrid: Kalibr's, tags of 36h11 with borders of two cells and dark squares between their corners; the corners are
numbered as Kalibr numbers them, from the lower left upwards, so y is negative above. A marker: its four corners, row by row.
Circles: OpenCV's asymmetric grid, every other row shifted by half the distance in a row.
"""

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import CalibrationError

DICTIONARY = "DICT_5X5_100"
APRIL_DICTIONARY, APRIL_BORDER, APRIL_SPACING = "DICT_APRILTAG_36h11", 2, 0.3
MARKER_SHARE = 0.75  # of a square's side, where nothing else is said
SIDES = (3, 40)  # inner corners along a side
APRIL_SIDES = (1, 30)  # tags
SQUARE_RANGE_M = (0.002, 1.0)
KINDS = ("chessboard", "charuco", "aprilgrid", "aruco", "circles")
EXAMPLES = "such as chessboard:9x6:25 (inner corners, square in mm) or charuco:9x6:25:18.75:DICT_5X5_100 (marker in mm)"
FORMS = {
    "aprilgrid": "such as aprilgrid:6x6:88:0.3 (tags across and up, tag in mm, gap over tag)",
    "aruco": "such as aruco:7:180:DICT_5X5_100 (the marker's number, its side in mm)",
    "circles": "such as circles:4x11:20 (circles in a row, rows, distance between rows in mm)",
}


@dataclass(frozen=True, slots=True)
class Board:
    """A printed board.

    columns, rows: inner corners, where four squares meet, along and across; of an AprilGrid tags, of circles those in a row and
    the rows, of a single marker 2 x 2; square_m: side of a square, a tag or the marker, or distance between rows of circles [m];
    marker_m: side of the markers in a ChArUco board [m]; dictionary: OpenCV's name of that of the markers; legacy: layout from
    before OpenCV 4.6, None where pictures are to tell; gap_m: between tags [m]; marker_id: number of the single marker.
    """

    kind: Literal["chessboard", "charuco", "aprilgrid", "aruco", "circles"]
    columns: int
    rows: int
    square_m: float
    marker_m: float = 0.0
    dictionary: str = ""
    legacy: bool | None = None
    gap_m: float = 0.0
    marker_id: int = 0

    def __len__(self) -> int:
        """Return the number of corners, or circles."""
        return self.columns * self.rows * (4 if self.kind == "aprilgrid" else 1)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the corners."""
        return (2 * self.rows, 2 * self.columns) if self.kind == "aprilgrid" else (self.rows, self.columns)

    @property
    def cell_m(self) -> float:
        """Side of the smallest of the four cells that meet in a corner [m]."""
        return self.gap_m if self.kind == "aprilgrid" else self.square_m

    @property
    def points_m(self) -> Floats:
        """The corners in the board's frame, row by row, (N, 3) [m], z = 0."""
        y, x = (part.ravel() for part in np.mgrid[: self.grid[0], : self.grid[1]])
        if self.kind == "aprilgrid":
            pitch = self.square_m + self.gap_m
            x, y = (each // 2 * pitch + each % 2 * self.square_m for each in (x, y))
            return np.column_stack([x, -y, np.zeros(len(self))])
        if self.kind == "circles":
            x = 2 * x + y % 2
        return np.column_stack([x, y, np.zeros(len(self))]) * self.square_m

    @property
    def edges(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of corners along x, then along y: the first and second of each pair, (E,), and the axis of each, (E,)."""
        number = np.arange(len(self)).reshape(self.grid)
        across, down = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
        if self.kind == "aprilgrid":
            across, down = (number[:, ::2], number[:, 1::2]), (number[1::2], number[::2])  # sides of tags; rows go up
        elif self.kind == "circles":
            down = (number[:-2], number[2:])
        axis = np.repeat([0, 1], [across[0].size, down[0].size])
        first, second = (np.concatenate([across[k].ravel(), down[k].ravel()]) for k in (0, 1))
        return first, second, axis

    @property
    def text(self) -> str:
        """The board's name, as `board_from_text` reads it."""
        if self.kind == "aruco":
            return f"aruco:{self.marker_id}:{1e3 * self.square_m:g}:{self.dictionary}"
        line = f"{self.kind}:{self.columns}x{self.rows}:{1e3 * self.square_m:g}"
        if self.kind == "aprilgrid":
            return f"{line}:{self.gap_m / self.square_m:.4g}"
        return line if self.kind != "charuco" else f"{line}:{1e3 * self.marker_m:g}:{self.dictionary}"

    @property
    def sides_words(self) -> str:
        """What the scale rests on, such as `squares of 25 mm`."""
        kind = {"aprilgrid": "tags of", "aruco": "a marker of", "circles": "rows of circles every"}.get(self.kind, "squares of")
        return f"{kind} {1e3 * self.square_m:.4g} mm"


def board_from_text(text: str) -> Board:
    """Read `chessboard:9x6:25`, `charuco:9x6:25[:18.75[:DICT_5X5_100]]`, `aprilgrid:6x6:88[:0.3]`, `aruco:7:180[:DICT_5X5_100]`
    or `circles:4x11:20`; `9x6:25` is a chessboard.

    Raises CalibrationError: another format, or a size that no board has.
    """
    parts = text.strip().split(":")
    if parts[0] not in KINDS:
        parts = ["chessboard", *parts]
    kind, sizes = parts[0], parts[1:]
    if kind == "aruco":
        return _marker_from_text(text, sizes)
    examples = FORMS.get(kind, EXAMPLES)
    try:
        columns, rows = (int(side) for side in sizes[0].lower().split("x"))
        lengths_mm = [float(length) for length in sizes[1:3]]
    except (ValueError, IndexError):
        columns = rows = 0
        lengths_mm = []
    if not lengths_mm or len(sizes) > {"charuco": 4, "aprilgrid": 3}.get(kind, 2):
        raise CalibrationError(f"{text!r} does not name a board; expected {examples}")
    low, high = APRIL_SIDES if kind == "aprilgrid" else SIDES
    if not all(low <= side <= high for side in (columns, rows)):
        what = {"aprilgrid": "tags", "circles": "circles"}.get(kind, "inner corners")
        raise CalibrationError(f"{text!r}: {columns}x{rows} {what}; expected {low} to {high} along each side, {examples}")
    square_m = _check_side(text, lengths_mm[0], examples)
    if kind == "aprilgrid":
        return _make_aprilgrid(text, columns, rows, square_m, lengths_mm[1] if len(lengths_mm) > 1 else APRIL_SPACING)
    if kind == "circles":
        return Board("circles", columns, rows, square_m)
    if kind == "chessboard":
        return Board("chessboard", columns, rows, square_m)
    marker_m = 1e-3 * lengths_mm[1] if len(lengths_mm) > 1 else MARKER_SHARE * square_m
    if not 0.3 * square_m <= marker_m < square_m:
        raise CalibrationError(
            f"{text!r}: markers of {1e3 * marker_m:g} mm in squares of {1e3 * square_m:g} mm; they must be smaller"
        )
    return Board("charuco", columns, rows, square_m, marker_m, sizes[3] if len(sizes) > 3 else DICTIONARY)


def _check_side(text: str, side_mm: float, examples: str) -> float:
    """Return a side in metres. Raises CalibrationError: no board has it."""
    if not SQUARE_RANGE_M[0] <= 1e-3 * side_mm <= SQUARE_RANGE_M[1]:
        low, high = (1e3 * side for side in SQUARE_RANGE_M)
        raise CalibrationError(f"{text!r}: squares of {side_mm:g} mm; expected {low:g} to {high:g} mm, {examples}")
    return 1e-3 * side_mm


def _make_aprilgrid(text: str, columns: int, rows: int, tag_m: float, spacing: float) -> Board:
    """Return an AprilGrid. Raises CalibrationError: an impossible spacing, or more tags than there are."""
    if not 0.05 <= spacing <= 1.0:
        raise CalibrationError(f"{text!r}: gaps of {spacing:g} of a tag; expected 0.05 to 1, {FORMS['aprilgrid']}")
    board = Board("aprilgrid", columns, rows, tag_m, 0.0, APRIL_DICTIONARY, gap_m=spacing * tag_m)
    load_board_dictionary(board)
    return board


def _marker_from_text(text: str, parts: list[str]) -> Board:
    """Return a board of a single marker. Raises CalibrationError: not a number, a side and a dictionary that has the number."""
    if not 2 <= len(parts) <= 3 or not parts[0].isdigit() or not parts[1].replace(".", "", 1).isdigit():
        raise CalibrationError(f"{text!r} does not name a marker; expected {FORMS['aruco']}")
    dictionary = parts[2] if len(parts) > 2 else DICTIONARY
    side_m = _check_side(text, float(parts[1]), FORMS["aruco"])
    board = Board("aruco", 2, 2, side_m, 0.0, dictionary, marker_id=int(parts[0]))
    load_board_dictionary(board)
    return board


def is_ambiguous(board: Board) -> bool:
    """Return whether a board looks the same upside down, so that it must be held upright."""
    if board.kind == "circles":
        return board.rows % 2 == 0
    return board.kind == "chessboard" and (board.columns + board.rows) % 2 == 0


def find_light_squares(board: Board, light_first: bool) -> NDArray[np.bool_]:
    """Return which corners have a light square at their lower right, (N,); light_first: that of the first corner is light."""
    if board.kind == "aprilgrid":  # rows go up: below and to the right of a tag's lower left corner is a gap
        row, column = np.divmod(np.arange(len(board)), board.grid[1])
        return np.asarray((row + column) % 2 == 0)
    row, column = np.divmod(np.arange(len(board)), board.columns)
    return np.asarray((row + column) % 2 == int(not light_first))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A board as cells: columns end at x_m, (K + 1,) [m], rows at y_m, (L + 1,) [m], in the board's frame; dark: (L, K)."""

    x_m: Floats
    y_m: Floats
    dark: NDArray[np.bool_]


def build_board_pattern(board: Board) -> Pattern:
    """Return what is printed of a board. Raises CalibrationError as `load_board_dictionary` does."""
    if board.kind == "aprilgrid":
        return _build_tag_pattern(board)
    if board.kind == "aruco":
        return _build_marker_pattern(board)
    if board.kind == "circles":
        raise CalibrationError(f"{board.text}: circles are not printed here; print a chessboard or a ChArUco board")
    x, y = np.arange(board.columns + 1), np.arange(board.rows + 1)
    starts_light = bool(board.legacy) and board.kind == "charuco" and len(y) % 2 == 0
    dark = (x[None, :] + y[:, None]) % 2 == int(starts_light)
    if board.kind == "chessboard":
        return Pattern(_compute_borders(len(x)) * board.square_m, _compute_borders(len(y)) * board.square_m, dark)
    return _draw_markers(board, dark)


def list_dictionary_names() -> list[str]:
    """Return the names of the marker dictionaries that OpenCV has, each once."""
    names = [name for name in vars(cv2.aruco) if name.startswith("DICT_") and not name.startswith("DICT_APRILTAG_")]
    april = [f"DICT_APRILTAG_{kind}" for kind in ("16h5", "25h9", "36h10", "36h11")]
    return sorted(name for name in names if name != "DICT_ARUCO_MIP_36H12") + april


def load_board_dictionary(board: Board) -> "cv2.aruco.Dictionary":
    """Return the dictionary of a ChArUco board's markers. Raises CalibrationError: no such dictionary, or it is too small."""
    number = getattr(cv2.aruco, board.dictionary, None) if board.dictionary.startswith("DICT_") else None
    if number is None:
        known = ", ".join(name for name in list_dictionary_names() if name.endswith(("_100", "h11", "ORIGINAL")))
        raise CalibrationError(f"{board.text}: OpenCV has no dictionary {board.dictionary!r}; it has {known} and others")
    dictionary = cv2.aruco.getPredefinedDictionary(number)
    available, needed = len(dictionary.bytesList), count_markers(board)
    if board.kind == "aruco" and available < needed:
        raise CalibrationError(f"{board.text}: {board.dictionary} has markers 0 to {available - 1}; give the number of the one")
    if available < needed:
        raise CalibrationError(
            f"{board.text}: such a board needs {needed} markers and {board.dictionary} has {available}; take a larger dictionary"
        )
    return dictionary


def count_markers(board: Board) -> int:
    """Return how many markers the dictionary must have."""
    if board.kind == "aruco":
        return board.marker_id + 1
    return board.columns * board.rows if board.kind == "aprilgrid" else (board.columns + 1) * (board.rows + 1) // 2


def _build_tag_pattern(board: Board) -> Pattern:
    """Return Kalibr's AprilGrid: tags from the lower left, upright as Kalibr draws them, and dark squares between their corners.

    OpenCV's tags of this family are those of Kalibr turned by half a turn.
    """
    dictionary = load_board_dictionary(board)
    n = int(dictionary.markerSize) + 2 * APRIL_BORDER
    pitch, columns, rows = board.square_m + board.gap_m, board.columns, board.rows
    within = np.concatenate([[0.0], board.gap_m + board.square_m * np.arange(n) / n])
    x, y = (
        np.append((np.arange(k)[:, None] * pitch + within).ravel(), [k * pitch, k * pitch + board.gap_m]) for k in (columns, rows)
    )
    cells = np.zeros((len(y) - 1, len(x) - 1), bool)
    cells[:: n + 1, :: n + 1] = True
    for number in range(columns * rows):
        row, column = rows - 1 - number // columns, number % columns
        image = cv2.aruco.generateImageMarker(dictionary, number, n, borderBits=APRIL_BORDER)
        cells[row * (n + 1) + 1 :, column * (n + 1) + 1 :][:n, :n] = image[::-1, ::-1] == 0
    return Pattern(x - board.gap_m, y - rows * pitch, cells)


def _build_marker_pattern(board: Board) -> Pattern:
    """Return a single marker."""
    dictionary = load_board_dictionary(board)
    n = int(dictionary.markerSize) + 2
    lines = board.square_m * np.arange(n + 1) / n
    return Pattern(lines, lines, cv2.aruco.generateImageMarker(dictionary, board.marker_id, n) == 0)


def _compute_borders(n_squares: int) -> Floats:
    """Return the borders of a row of squares, the first inner one at 0, (n + 1,) [squares]."""
    return np.asarray(np.arange(n_squares + 1) - 1.0, float)


def _draw_markers(board: Board, dark: NDArray[np.bool_]) -> Pattern:
    """Divide every square into margin, marker cells and margin, and draw the markers into the light squares."""
    dictionary = load_board_dictionary(board)
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
