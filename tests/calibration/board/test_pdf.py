"""Boards to print: what fits, and, by another program's eyes, that a square is as long as it says."""

import re
import subprocess
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from calibration.board.find import find_board
from calibration.board.pattern import board_from_text, build_board_pattern
from calibration.board.pdf import PAPERS_MM, choose_default_board, compute_page_layout, draw_board_pdf
from config.errors import CalibrationError, DuocapError
from tests.support.judges import program
from tools.commands.calibrate.group import app

DPI = 300


def test_defaults_have_one_order_and_fit() -> None:
    for paper, page in PAPERS_MM.items():
        board = choose_default_board(paper)
        sheet = compute_page_layout(board, paper)
        assert (board.columns + board.rows) % 2 == 1 and sheet.page_mm == page
        assert sheet.corner_mm == pytest.approx((0.5 * page[0] - 5e3 * board.square_m, 0.5 * page[1] + 3.5e3 * board.square_m))


def test_a_tall_board_turns_the_paper() -> None:
    sheet = compute_page_layout(board_from_text("6x9:25"), "A4")
    assert sheet.page_mm == (210.0, 297.0) and sheet.corner_mm == pytest.approx((17.5, 273.5))


@pytest.mark.parametrize(
    ("text", "paper", "words"),
    [
        ("9x6:30", "A4", "300 x 210 mm does not fit on A4; squares of 25 mm would, or --paper A3"),
        ("9x6:80", "A3", "800 x 560 mm does not fit on A3; squares of 38 mm would"),
        ("40x39:7", "letter", "287 x 280 mm does not fit on letter; squares of 4 mm would"),
    ],
)
def test_a_board_too_large_is_refused_with_what_would_fit(text: str, paper: str, words: str) -> None:
    with pytest.raises(CalibrationError, match=words):
        draw_board_pdf(board_from_text(text), paper)


def content_of(file: bytes) -> list[str]:
    """Return the page's drawing operations, a line each."""
    streams = (zlib.decompress(part) for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", file, re.DOTALL))
    return next(text for text in streams if b" l\n" in text).decode("latin-1").splitlines()


def paths_mm(lines: list[str]) -> list[tuple[str, np.ndarray]]:
    """Return how each path is painted (f or S), and its vertices, (P, 2) [mm]."""
    paths, vertices = [], []
    for words in (line.split() for line in lines):
        if words and words[-1] in ("m", "l"):
            vertices.append([float(words[0]), float(words[1])])
        elif words and words[-1] in ("f", "S", "B", "n") and vertices:
            paths.append((words[-1], np.array(vertices) * 25.4 / 72.0))
            vertices = []
    return paths


def test_page_board_and_rulers_are_true_to_a_hundredth_of_a_millimetre() -> None:
    """And what is filled are the dark cells, all of them and no others."""
    board = board_from_text("charuco:5x6:24")
    file, layout = draw_board_pdf(board, "letter"), compute_page_layout(board, "letter")
    box = re.search(rb"/MediaBox \[ 0 0 (\S+) (\S+) \]", file)
    assert box is not None
    np.testing.assert_allclose([float(side) * 25.4 / 72.0 for side in box.groups()], layout.page_mm, atol=0.01)
    (fill, dark), (stroke, ruler) = paths_mm(content_of(file))
    assert (fill, stroke) == ("f", "S")
    left, top = layout.corner_mm
    np.testing.assert_allclose(dark.min(axis=0), [left, top - 7 * 24.0], atol=0.01)
    np.testing.assert_allclose(dark.max(axis=0), [left + 6 * 24.0, top], atol=0.01)
    segments = ruler.reshape(-1, 2, 2)
    lengths = np.abs(segments[:, 1] - segments[:, 0])
    np.testing.assert_allclose(lengths[lengths.max(axis=1) > 99.0].max(axis=1), [100.0, 100.0, 101.6], atol=0.01)
    ticks = np.unique(segments[lengths[:, 0] < 1e-6][:, 0, 0].round(3))
    assert np.isclose(ticks, ticks.min() + 100.0, atol=0.01).any()
    assert b"/PrintScaling /None" in file
    square, pattern = 1e3 * board.square_m, build_board_pattern(board)
    x = left + square + 500.0 * (pattern.x_m[1:] + pattern.x_m[:-1])
    y = top - square - 500.0 * (pattern.y_m[1:] + pattern.y_m[:-1])
    filled = np.zeros(pattern.dark.shape, bool)
    for low, high in ((box.min(axis=0), box.max(axis=0)) for box in dark.reshape(-1, 4, 2)):
        filled |= ((y > low[1]) & (y < high[1]))[:, None] & ((x > low[0]) & (x < high[0]))
    np.testing.assert_array_equal(filled, pattern.dark)


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "board.pdf"
    done = CliRunner().invoke(app, ["board", "--out", str(out), "--board", "8x6:25"])
    assert done.exit_code == 0, done.output
    assert "upside down" in done.output
    assert "duocap calibrate rig LEFT RIGHT --board chessboard:8x6:25 --out rig.toml" in done.output
    assert out.read_bytes().startswith(b"%PDF-")
    other = CliRunner().invoke(app, ["board", "--out", str(tmp_path / "board.png")])
    assert isinstance(other.exception, DuocapError) and "ends with .pdf" in str(other.exception)


@pytest.mark.judge
@pytest.mark.parametrize(
    ("text", "paper"),
    [("9x6:25", "A4"), ("9x6:25", "letter"), ("6x9:25", "A4"), ("charuco:9x6:25", "A4"), ("charuco:8x5:36", "A3")],
)
def test_poppler_draws_it_true_to_scale(text: str, paper: str, tmp_path: Path) -> None:
    pdftoppm, board = program("pdftoppm"), board_from_text(text)
    file = tmp_path / "board.pdf"
    file.write_bytes(draw_board_pdf(board, paper))
    subprocess.run([pdftoppm, "-r", str(DPI), "-gray", "-singlefile", str(file), str(tmp_path / "page")], check=True, timeout=60)
    image = cv2.imread(str(tmp_path / "page.pgm"), 0)
    sheet = compute_page_layout(board, paper)
    assert image.shape == tuple(int(np.ceil(side / 25.4 * DPI - 1e-3)) for side in sheet.page_mm[::-1])
    half = cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)  # as a camera sees it, soft at the edges
    view = find_board(half, board)
    assert view is not None and view.n_seen == len(board)
    place_mm = (view.corners_px + 0.5) / (0.5 * DPI) * 25.4
    s = 1e3 * board.square_m
    expected = 1e3 * board.points_m[:, :2] + [sheet.corner_mm[0] + s, sheet.page_mm[1] - sheet.corner_mm[1] + s]
    np.testing.assert_allclose(place_mm, expected, atol=0.1)
    sides = np.linalg.norm(np.diff(place_mm.reshape(board.rows, board.columns, 2), axis=1), axis=2)
    assert np.abs(sides - s).max() < 0.1 and abs(sides.mean() - s) < 0.005
