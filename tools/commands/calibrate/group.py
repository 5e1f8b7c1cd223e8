"""`duocap calibrate`: measure what stays the same during a session. The board to print is here, the other commands next door."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import check_folders, check_suffix
from tools.commands.calibrate.convert import convert
from tools.commands.calibrate.floor import floor
from tools.commands.calibrate.rig import rig as calibrate_rig
from tools.commands.calibrate.subject import subject
from tools.commands.calibrate.wand import wand
from tools.commands.declaration import add_settings_options

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write the PDF, such as board.pdf.")]
BoardText = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar="TEXT",
        help="Such as chessboard:9x6:25 (inner corners, square in mm) or charuco:9x6:25; default: what suits the paper.",
    ),
]
Paper = Annotated[Literal["A4", "letter", "A3"], typer.Option("--paper", help="Size of the paper.")]


@add_settings_options
def board(settings: Settings, out: Out, board: BoardText = None, paper: Paper = "A4") -> None:
    """Write a calibration board to print, true to scale, as a PDF."""
    from calibration.board.diagnosis import describe_ambiguity
    from calibration.board.pattern import board_from_text
    from calibration.board.pdf import choose_default_board, draw_board_pdf
    from config.files import write_atomically

    check_folders(out)
    check_suffix("--out", out, ".pdf")
    chosen = choose_default_board(paper) if board is None else board_from_text(board)
    write_atomically(out, draw_board_pdf(chosen, paper))
    typer.echo(
        f"{chosen.text} on {paper}, written to {out}: print it at 100 %, check the rulers, glue it to something flat and stiff"
    )
    if note := describe_ambiguity(chosen):
        typer.echo(f"note: {note}")
    typer.echo(f"then: duocap calibrate rig LEFT RIGHT --board {chosen.text} --out rig.toml")


app = typer.Typer()
app.command("board")(board)
app.command("convert")(convert)
app.command("floor")(floor)
app.command("rig")(calibrate_rig)
app.command("subject")(subject)
app.command("wand")(wand)
