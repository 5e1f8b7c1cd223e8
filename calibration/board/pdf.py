"""Draw a board to print: a PDF page true to scale, with rulers to check the print and the call that uses the board.

Lengths in mm, the origin at the page's lower left.
"""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibration.board.pattern import Board, board_from_text, build_board_pattern
from config.arrays import Floats
from config.errors import CalibrationError
from database.clips import find_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPERS_MM = {"A4": (297.0, 210.0), "letter": (279.4, 215.9), "A3": (420.0, 297.0)}
DEFAULTS = {"A4": "chessboard:9x6:25", "letter": "chessboard:9x6:25", "A3": "chessboard:9x6:36"}
SIDE_MM, STRIP_MM = 12.0, 15.0  # least margins beside the board, and above and below it for text and rulers
EDGE_MM = 6.5  # what printers leave white
POINTS_PER_MM = 72.0 / 25.4
RULER_MM = 100
SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"


@dataclass(frozen=True, slots=True)
class PageLayout:
    """Where a board lies on its paper. page_mm: width, height; corner_mm: upper left of the board's first square."""

    paper: str
    page_mm: tuple[float, float]
    corner_mm: tuple[float, float]


def choose_default_board(paper: str) -> Board:
    """Return the board for a paper: an odd and an even number of corners, squares as large as fit well."""
    return board_from_text(DEFAULTS[paper])


def compute_page_layout(board: Board, paper: str) -> PageLayout:
    """Centre a board on a paper, portrait or landscape. Raises CalibrationError: it does not fit; the message says what does."""
    size = _measure_board_mm(board)
    for page in (PAPERS_MM[paper], PAPERS_MM[paper][::-1]):
        if _is_fitting_page(size, page):
            corner = (0.5 * (page[0] - size[0]), 0.5 * (page[1] + size[1]))
            return PageLayout(paper, page, corner)
    raise CalibrationError(
        f"{board.text}: a board of {size[0]:g} x {size[1]:g} mm does not fit on {paper}; {_suggest_fitting_board(board, paper)}"
    )


def draw_board_pdf(board: Board, paper: str) -> bytes:
    """Return a PDF file of one page with a board on it, true to scale.

    Raises CalibrationError: it does not fit on the paper, or has no such markers.
    """
    layout = compute_page_layout(board, paper)
    boxes_mm = compute_dark_boxes_mm(board, layout)

    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"path.simplify": False, "pdf.fonttype": 42}):
        figure = Figure(figsize=(layout.page_mm[0] / 25.4, layout.page_mm[1] / 25.4), dpi=72, frameon=False)
        _draw_polylines(figure, boxes_mm, facecolor="black", linewidth=0.0)
        _draw_text(figure, board, layout)
        _draw_rulers(figure, layout)
        return _write_pdf(figure, board.text)


def _measure_board_mm(board: Board) -> tuple[float, float]:
    """Return a board's width and height, all its squares [mm]."""
    pattern = build_board_pattern(board)
    return 1e3 * float(np.ptp(pattern.x_m)), 1e3 * float(np.ptp(pattern.y_m))


def _is_fitting_page(size_mm: tuple[float, float], page_mm: tuple[float, float]) -> bool:
    """Return whether a board leaves room for rulers, text and the printer's margin."""
    return size_mm[0] <= page_mm[0] - 2.0 * SIDE_MM + 1e-9 and size_mm[1] <= page_mm[1] - 2.0 * STRIP_MM + 1e-9


def _suggest_fitting_board(board: Board, paper: str) -> str:
    """Return advice: with which squares or on which paper a board would fit."""
    across, down = (side / (1e3 * board.square_m) for side in _measure_board_mm(board))
    best_mm = 0.0
    for width, height in (PAPERS_MM[paper], PAPERS_MM[paper][::-1]):
        best_mm = max(best_mm, min((width - 2.0 * SIDE_MM) / across, (height - 2.0 * STRIP_MM) / down))
    larger = [
        name
        for name, page in PAPERS_MM.items()
        if _is_fitting_page(_measure_board_mm(board), page) or _is_fitting_page(_measure_board_mm(board), page[::-1])
    ]
    square_mm = np.floor(best_mm) if best_mm >= 2.0 else np.floor(10.0 * best_mm) / 10.0
    kind = {"aprilgrid": "tags", "aruco": "a marker"}.get(board.kind, "squares")
    return f"{kind} of {square_mm:g} mm would" + (f", or --paper {larger[0]}" if larger else "")


def compute_dark_boxes_mm(board: Board, layout: PageLayout) -> Floats:
    """Return the dark cells as rectangles on the page, counterclockwise, (B, 5, 2) [mm], the first corner repeated.

    Runs of cells along rows and along columns overlap: filled as one path, they show no seams. Raises CalibrationError as
    `load_board_dictionary` does.
    """
    pattern = build_board_pattern(board)
    x = layout.corner_mm[0] + 1e3 * (pattern.x_m - pattern.x_m[0])
    y = layout.corner_mm[1] - 1e3 * (pattern.y_m - pattern.y_m[0])
    boxes = [(x[a], y[row + 1], x[b], y[row]) for row, cells in enumerate(pattern.dark) for a, b in find_runs(cells)]
    boxes += [(x[k], y[b], x[k + 1], y[a]) for k, cells in enumerate(pattern.dark.T) for a, b in find_runs(cells) if b > a + 1]
    left, low, right, high = np.array(boxes).T
    return np.stack([left, low, right, low, right, high, left, high, left, low], axis=1).reshape(-1, 5, 2)


def _draw_polylines(figure: "Figure", lines_mm: Floats, **style: Any) -> None:
    """Draw polylines as one path: (L, P, 2) [mm]."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    codes = np.full(lines_mm.shape[:2], Path.LINETO, Path.code_type)
    codes[:, 0] = Path.MOVETO
    if lines_mm.shape[1] == 5:
        codes[:, -1] = Path.CLOSEPOLY
    path = Path(lines_mm.reshape(-1, 2), codes.ravel())
    figure.add_artist(PathPatch(path, transform=Affine2D().scale(POINTS_PER_MM), **style))


def _draw_text(figure: "Figure", board: Board, layout: PageLayout) -> None:
    """Write which board it is above it, and how it is used below."""
    width, height = layout.page_mm
    square_mm, one = 1e3 * board.square_m, {"aprilgrid": "a tag", "aruco": "the marker"}.get(board.kind, "a square")
    above = [
        f"{_format_title(board)}, on {layout.paper}",
        "Print at 100 % (actual size, not fit to page), check it by the rulers, and glue it to something flat and stiff. "
        f"If {one} measures other than {square_mm:g} mm, say so in --board.",
    ]
    left, room = EDGE_MM + 3.0, width - 2.0 * (EDGE_MM + 3.0)
    for k, line in enumerate(above):
        _write_line(figure, (left, height - EDGE_MM - 2.5 - 3.4 * k), line, 7.5, room)
    right = left + RULER_MM + 8.0
    call = f"duocap calibrate rig LEFT RIGHT --board {board.text} --out rig.toml"
    inches_mm = 4.5 if layout.paper == "letter" else 0.0
    _write_line(figure, (right, EDGE_MM + 1.0 + inches_mm), call, 7.5, width - right - EDGE_MM - 3.0, MONO)


def _format_title(board: Board) -> str:
    """Return what a board is."""
    size = f"{board.columns} x {board.rows}"
    if board.kind == "aprilgrid":
        return f"AprilGrid of {size} tags, {board.sides_words}, gaps of {1e3 * board.gap_m:g} mm"
    if board.kind == "aruco":
        return f"Marker {board.marker_id} of {board.dictionary}, a side of {1e3 * board.square_m:g} mm"
    if board.kind == "charuco":
        markers = f", markers of {1e3 * board.marker_m:g} mm from {board.dictionary}"
        return f"ChArUco board of {size} inner corners, {board.sides_words}{markers}"
    return f"Chessboard of {size} inner corners, {board.sides_words}"


def _draw_rulers(figure: "Figure", layout: PageLayout) -> None:
    """Draw a ruler of 100 mm along the lower edge and one up the left side; on letter paper also one of 4 inches."""
    x, y, up = EDGE_MM + 3.0, EDGE_MM, 0.5 * (layout.page_mm[1] - RULER_MM)
    ticks = [(mm, 3.0 if mm % 10 == 0 else 2.2 if mm % 5 == 0 else 1.4) for mm in range(RULER_MM + 1)]
    lines = [((x, y), (x + RULER_MM, y)), *(((x + mm, y), (x + mm, y + long)) for mm, long in ticks)]
    lines += [((EDGE_MM, up), (EDGE_MM, up + RULER_MM))]
    lines += [((EDGE_MM, up + mm), (EDGE_MM + 1.5, up + mm)) for mm in range(0, RULER_MM + 1, 10)]
    labels = [((x + mm + 0.4, y + 2.4), f"{mm} mm" if mm == RULER_MM else f"{mm}") for mm in range(0, RULER_MM + 1, 50)]
    labels.append(((EDGE_MM, up + RULER_MM + 0.8), "100 mm"))
    if layout.paper == "letter":
        top = y + 5.2
        eighths = [(3.175 * n, 2.4 if n % 8 == 0 else 1.2) for n in range(33)]
        lines += [((x, top), (x + 101.6, top)), *(((x + mm, top), (x + mm, top + long)) for mm, long in eighths)]
        labels += [((x + 25.4 * n + 0.4, top + 1.3), "4 in" if n == 4 else f"{n}") for n in range(0, 5, 2)]
    _draw_polylines(figure, np.array(lines), fill=False, edgecolor="black", linewidth=0.15)
    for position_mm, text in labels:
        _write_line(figure, position_mm, text, 5.0, 8.0)


def _write_line(
    figure: "Figure", position_mm: tuple[float, float], text: str, size: float, room_mm: float, font: str = SANS
) -> None:
    """Write a line of `size` points, smaller if it would not fit into the room."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import IdentityTransform

    width_mm = TextPath((0.0, 0.0), text, size=size, prop=FontProperties(family=font)).get_extents().width / POINTS_PER_MM
    x, y = position_mm
    fitted = size * min(1.0, room_mm / max(width_mm, 1e-9))
    points = IdentityTransform()
    figure.text(x * POINTS_PER_MM, y * POINTS_PER_MM, text, size=fitted, family=font, transform=points)


def _write_pdf(figure: "Figure", title: str) -> bytes:
    """Return the page as a file that tells readers to print it at its true size (ISO 32000, ViewerPreferences)."""
    from matplotlib.backends import backend_mixed, backend_pdf

    mixed: Any = backend_mixed  # neither is typed
    pdf: Any = backend_pdf
    stream = io.BytesIO()
    width_in, height_in = figure.get_size_inches()
    file = pdf.PdfFile(stream, metadata={"Title": title, "Creator": "duocap", "CreationDate": None})
    preferences = {"PrintScaling": pdf.Name("None")}
    catalog = {"Type": pdf.Name("Catalog"), "Pages": file.pagesObject, "ViewerPreferences": preferences}
    file.writeObject(file.rootObject, catalog)  # replaces the one without preferences
    file.newPage(width_in, height_in)
    renderer = mixed.MixedModeRenderer(figure, width_in, height_in, 72, pdf.RendererPdf(file, 72, height_in, width_in))
    figure.draw(renderer)
    renderer.finalize()
    file.finalize()
    data = stream.getvalue()
    file.close()
    return data
