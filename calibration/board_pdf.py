"""Draw a board to print: a PDF page of its true size, with rulers to check the print and the call that uses it.

Written by hand, as there is little to write: rectangles, lines and text in Helvetica, which every reader has. Lengths in mm, the
origin at the page's lower left.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board, board_from_text
from calibration.board_pattern import board_pattern
from config.errors import CalibrationError

PAPERS_MM = {"A4": (297.0, 210.0), "letter": (279.4, 215.9), "A3": (420.0, 297.0)}
DEFAULTS = {"A4": "chessboard:9x6:25", "letter": "chessboard:9x6:25", "A3": "chessboard:9x6:36"}
SIDE_MM, STRIP_MM = 12.0, 15.0  # least room beside the board, and above and below it for words and rulers
EDGE_MM = 6.5  # what printers leave white
PER_MM = 72.0 / 25.4  # PDF's points
RULER_MM = 100
WIDTH_PER_SIZE = 0.52  # of Helvetica's letters, on the average and a little more


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where a board lies on its paper. page_mm: width, height; corner_mm: upper left of the board's first square."""

    paper: str
    page_mm: tuple[float, float]
    board_mm: tuple[float, float]
    corner_mm: tuple[float, float]


def default_board(paper: str) -> Board:
    """Give the board for a paper: an odd and an even number of corners, squares as large as fit well."""
    return board_from_text(DEFAULTS[paper])


def placed_on(board: Board, paper: str) -> Sheet:
    """Lay a board in the middle of a paper, upright or across. Raises CalibrationError: it does not fit, saying what would."""
    size = _size_mm(board)
    for page in (PAPERS_MM[paper], PAPERS_MM[paper][::-1]):
        if _fits(size, page):
            corner = (0.5 * (page[0] - size[0]), 0.5 * (page[1] + size[1]))
            return Sheet(paper, page, size, corner)
    raise CalibrationError(
        f"{board.text}: a board of {size[0]:g} x {size[1]:g} mm does not fit on {paper}; {_what_fits(board, paper)}"
    )


def board_pdf(board: Board, paper: str) -> bytes:
    """Give a PDF file of one page with a board on it, true to scale.

    Raises CalibrationError: it does not fit on the paper, or has no such markers.
    """
    sheet = placed_on(board, paper)
    drawn = [*_cells(board, sheet), *_words(board, sheet), *_rulers(sheet)]
    return _file("\n".join(drawn).encode("latin-1"), sheet.page_mm, board.text)


def _size_mm(board: Board) -> tuple[float, float]:
    """Give a board's width and height, all its squares [mm]."""
    return (board.columns + 1) * 1e3 * board.square_m, (board.rows + 1) * 1e3 * board.square_m


def _fits(size_mm: tuple[float, float], page_mm: tuple[float, float]) -> bool:
    """Tell whether a board leaves room for rulers, words and what a printer leaves white."""
    return size_mm[0] <= page_mm[0] - 2.0 * SIDE_MM + 1e-9 and size_mm[1] <= page_mm[1] - 2.0 * STRIP_MM + 1e-9


def _what_fits(board: Board, paper: str) -> str:
    """Say with which squares or on which paper a board would fit."""
    across, down = board.columns + 1, board.rows + 1
    best_mm = 0.0
    for width, height in (PAPERS_MM[paper], PAPERS_MM[paper][::-1]):
        best_mm = max(best_mm, min((width - 2.0 * SIDE_MM) / across, (height - 2.0 * STRIP_MM) / down))
    larger = [name for name, page in PAPERS_MM.items() if _fits(_size_mm(board), page) or _fits(_size_mm(board), page[::-1])]
    square_mm = np.floor(best_mm) if best_mm >= 2.0 else np.floor(10.0 * best_mm) / 10.0
    return f"squares of {square_mm:g} mm would" + (f", or --paper {larger[0]}" if larger else "")


def _cells(board: Board, sheet: Sheet) -> list[str]:
    """Draw the dark cells as one path. Runs of cells along rows and along columns overlap, so that no reader shows seams."""
    pattern = board_pattern(board)
    s = 1e3 * board.square_m
    x = sheet.corner_mm[0] + s + 1e3 * pattern.x_m
    y = sheet.corner_mm[1] - s - 1e3 * pattern.y_m
    drawn = ["0 g"]
    for row in range(len(y) - 1):
        for first, last in _runs(pattern.dark[row]):
            drawn.append(_box(x[first], y[row + 1], x[last] - x[first], y[row] - y[row + 1]))
    for column in range(len(x) - 1):
        for first, last in _runs(pattern.dark[:, column]):
            if last > first + 1:
                drawn.append(_box(x[column], y[last], x[column + 1] - x[column], y[first] - y[last]))
    return [*drawn, "f"]


def _runs(dark: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Give first and one past the last of each run of dark cells."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], dark, [False]]).astype(int)))
    return [(int(first), int(last)) for first, last in changes.reshape(-1, 2)]


def _words(board: Board, sheet: Sheet) -> list[str]:
    """Write which board it is above it, and how it is used below."""
    width, height = sheet.page_mm
    square_mm = 1e3 * board.square_m
    markers = f", markers of {1e3 * board.marker_m:g} mm from {board.dictionary}" if board.kind == "charuco" else ""
    is_called = "Chessboard" if board.kind == "chessboard" else "ChArUco board"
    above = [
        f"{is_called} of {board.columns} x {board.rows} inner corners, squares of {square_mm:g} mm{markers}, on {sheet.paper}",
        "Print at 100 % (actual size, not fit to page), check it by the rulers, and glue it to something flat and stiff. "
        f"If a square measures other than {square_mm:g} mm, say so in --board.",
    ]
    call = f"duocap calibrate rig LEFT RIGHT --board {board.text} --out rig.toml"
    room = width - 2.0 * (EDGE_MM + 3.0)
    lines = [_text(EDGE_MM + 3.0, height - EDGE_MM - 2.5 - 3.4 * k, line, 7.5, room) for k, line in enumerate(above)]
    inches = 4.5 if sheet.paper == "letter" else 0.0
    right = EDGE_MM + 3.0 + RULER_MM + 8.0
    return [*lines, _text(right, EDGE_MM + 1.0 + inches, call, 7.5, width - right - EDGE_MM - 3.0, "F2")]


def _rulers(sheet: Sheet) -> list[str]:
    """Draw a ruler of 100 mm along the lower edge and one up the left side; on letter paper also one of 4 inches."""
    x, y = EDGE_MM + 3.0, EDGE_MM
    drawn = ["0.15 w", _line(x, y, x + RULER_MM, y)]
    for mm in range(RULER_MM + 1):
        drawn.append(_line(x + mm, y, x + mm, y + (3.0 if mm % 10 == 0 else 2.2 if mm % 5 == 0 else 1.4)))
    drawn += [
        _text(x + mm + 0.4, y + 2.4, f"{mm} mm" if mm == RULER_MM else f"{mm}", 5.0, 8.0) for mm in range(0, RULER_MM + 1, 50)
    ]
    if sheet.paper == "letter":
        top = y + 5.2
        drawn.append(_line(x, top, x + 101.6, top))
        for tick in range(33):
            drawn.append(_line(x + 3.175 * tick, top, x + 3.175 * tick, top + (2.4 if tick % 8 == 0 else 1.2)))
        drawn += [_text(x + 25.4 * n + 0.4, top + 1.3, "4 in" if n == 4 else f"{n}", 5.0, 8.0) for n in range(0, 5, 2)]
    up = 0.5 * (sheet.page_mm[1] - RULER_MM)
    drawn.append(_line(EDGE_MM, up, EDGE_MM, up + RULER_MM))
    for mm in range(0, RULER_MM + 1, 10):
        drawn.append(_line(EDGE_MM, up + mm, EDGE_MM + 1.5, up + mm))
    return [*drawn, _text(EDGE_MM, up + RULER_MM + 0.8, "100 mm", 5.0, 8.0)]


def _box(x: float, y: float, width: float, height: float) -> str:
    """Add a rectangle to the path."""
    return " ".join(_points(value) for value in (x, y, width, height)) + " re"


def _line(x0: float, y0: float, x1: float, y1: float) -> str:
    """Draw a thin line."""
    return f"{_points(x0)} {_points(y0)} m {_points(x1)} {_points(y1)} l S"


def _text(x: float, y: float, words: str, size: float, room_mm: float, font: str = "F1") -> str:
    """Write a line, smaller if it would not fit into the room."""
    letter = 0.6 if font == "F2" else WIDTH_PER_SIZE  # Courier's letters are all as wide
    size = min(size, room_mm * PER_MM / (letter * max(len(words), 1)))
    plain = words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /{font} {size:.3f} Tf {_points(x)} {_points(y)} Td ({plain}) Tj ET"


def _points(mm: float) -> str:
    """Give a length in PDF's points."""
    return f"{mm * PER_MM:.5f}"


def _file(content: bytes, page_mm: tuple[float, float], title: str) -> bytes:
    """Put a page's content into a file (PDF 1.6, ISO 32000): objects, their places, and where the readers begin."""
    box = " ".join(_points(side) for side in page_mm)
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {box}] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>".encode("ascii"),
        b"<< /Length " + str(len(content)).encode() + b" >>\nstream\n" + content + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        f"<< /Title ({title}) /Producer (duocap) >>".encode("latin-1"),
    ]
    file = b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    n = len(bodies) + 1
    end = f"xref\n0 {n}\n0000000000 65535 f \n{table}trailer\n<< /Size {n} /Root 1 0 R /Info {len(bodies)} 0 R >>\n"
    return file + f"{end}startxref\n{len(file)}\n%%EOF\n".encode("ascii")
