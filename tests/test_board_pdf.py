"""Boards to print: what fits, and, by another program's eyes, that a square is as long as it says."""

import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from calibration.board import board_from_text
from calibration.board_find import find_board
from calibration.board_pdf import PAPERS_MM, board_pdf, default_board, placed_on
from config.errors import CalibrationError, DuocapError
from tests.judges import program
from tools.cli_calibrate import app

DPI = 300


def test_defaults_have_one_order_and_fit() -> None:
    for paper, page in PAPERS_MM.items():
        board = default_board(paper)
        sheet = placed_on(board, paper)
        assert (board.columns + board.rows) % 2 == 1 and sheet.page_mm == page
        assert sheet.board_mm == pytest.approx((10e3 * board.square_m, 7e3 * board.square_m))


def test_a_tall_board_turns_the_paper() -> None:
    sheet = placed_on(board_from_text("6x9:25"), "A4")
    assert sheet.page_mm == (210.0, 297.0) and sheet.corner_mm == (17.5, 273.5)


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
        board_pdf(board_from_text(text), paper)


def test_places_in_the_file_are_right() -> None:
    """Readers find the objects by the table of their places, and the length of the page's content is true."""
    file = board_pdf(board_from_text("charuco:5x4:30"), "A4")
    table = file[int(file.split()[-2]) :].split(b"\n")
    assert table[0] == b"xref"
    for number in range(1, 8):
        place = int(table[2 + number].split()[0])
        assert file[place:].startswith(f"{number} 0 obj".encode())
    length = int(file.split(b"/Length ")[1].split()[0])
    assert file.split(b"stream\n", 1)[1][length:].startswith(b"\nendstream")


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "board.pdf"
    done = CliRunner().invoke(app, ["board", "--out", str(out), "--board", "8x6:25"])
    assert done.exit_code == 0, done.output
    assert "upside down" in done.output
    assert "duocap calibrate rig LEFT RIGHT --board chessboard:8x6:25 --out rig.toml" in done.output
    assert out.read_bytes().startswith(b"%PDF-1.6")
    other = CliRunner().invoke(app, ["board", "--out", str(tmp_path / "board.png")])
    assert isinstance(other.exception, DuocapError) and "ends in .pdf" in str(other.exception)


@pytest.mark.judge
@pytest.mark.parametrize(
    ("text", "paper"),
    [("9x6:25", "A4"), ("9x6:25", "letter"), ("6x9:25", "A4"), ("charuco:9x6:25", "A4"), ("charuco:8x5:36", "A3")],
)
def test_poppler_draws_it_true_to_scale(text: str, paper: str, tmp_path: Path) -> None:
    pdftoppm, board = program("pdftoppm"), board_from_text(text)
    file = tmp_path / "board.pdf"
    file.write_bytes(board_pdf(board, paper))
    subprocess.run([pdftoppm, "-r", str(DPI), "-gray", "-singlefile", str(file), str(tmp_path / "page")], check=True, timeout=60)
    image = cv2.imread(str(tmp_path / "page.pgm"), 0)
    sheet = placed_on(board, paper)
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
