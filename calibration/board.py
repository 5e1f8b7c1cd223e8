"""The boards that cameras are calibrated with: a chessboard or a ChArUco board, and how one is named in a line of text.

A board's frame: origin at its first inner corner, x along a row, y down the rows as printed, z away from whoever looks at it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from config.errors import CalibrationError
from database.rotations import Floats

DICTIONARY = "DICT_5X5_100"
MARKER_SHARE = 0.75  # of a square's side, where nothing else is said
SIDES = (3, 40)  # inner corners along a side
SQUARE_RANGE_M = (0.002, 1.0)
HOW = "such as chessboard:9x6:25 (inner corners, square in mm) or charuco:9x6:25:18.75:DICT_5X5_100 (marker in mm)"


@dataclass(frozen=True, slots=True)
class Board:
    """A printed board.

    columns, rows: inner corners, where four squares meet, along and across; square_m: side of a square [m]; of a ChArUco board
    also marker_m: side of its markers [m], dictionary: OpenCV's name of it, legacy: markers as laid out before OpenCV 4.6, None
    where that is to be told from pictures.
    """

    kind: Literal["chessboard", "charuco"]
    columns: int
    rows: int
    square_m: float
    marker_m: float = 0.0
    dictionary: str = ""
    legacy: bool | None = None

    def __len__(self) -> int:
        """Count the inner corners."""
        return self.columns * self.rows

    @property
    def points_m(self) -> Floats:
        """The inner corners in the board's frame, row by row, (N, 3) [m], z = 0."""
        y, x = np.mgrid[: self.rows, : self.columns]
        return np.column_stack([x.ravel(), y.ravel(), np.zeros(len(self))]) * self.square_m

    @property
    def text(self) -> str:
        """The line that names it, as `board_from_text` reads it."""
        line = f"{self.kind}:{self.columns}x{self.rows}:{1e3 * self.square_m:g}"
        return line if self.kind == "chessboard" else f"{line}:{1e3 * self.marker_m:g}:{self.dictionary}"


def board_from_text(text: str) -> Board:
    """Read `chessboard:9x6:25` or `charuco:9x6:25[:18.75[:DICT_5X5_100]]`; `9x6:25` is a chessboard.

    Raises CalibrationError: not such a line, or a size that no board has.
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
        raise CalibrationError(f"{text!r} does not name a board; expected {HOW}")
    if not all(SIDES[0] <= side <= SIDES[1] for side in (columns, rows)):
        raise CalibrationError(
            f"{text!r}: {columns}x{rows} inner corners; expected {SIDES[0]} to {SIDES[1]} along each side, {HOW}"
        )
    square_m = 1e-3 * lengths_mm[0]
    if not SQUARE_RANGE_M[0] <= square_m <= SQUARE_RANGE_M[1]:
        low, high = (1e3 * side for side in SQUARE_RANGE_M)
        raise CalibrationError(f"{text!r}: squares of {lengths_mm[0]:g} mm; expected {low:g} to {high:g} mm, {HOW}")
    if kind == "chessboard":
        return Board("chessboard", columns, rows, square_m)
    marker_m = 1e-3 * lengths_mm[1] if len(lengths_mm) > 1 else MARKER_SHARE * square_m
    if not 0.3 * square_m <= marker_m < square_m:
        raise CalibrationError(
            f"{text!r}: markers of {1e3 * marker_m:g} mm in squares of {1e3 * square_m:g} mm; they must be smaller"
        )
    return Board("charuco", columns, rows, square_m, marker_m, sizes[3] if len(sizes) > 3 else DICTIONARY)
