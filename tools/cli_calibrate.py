"""`duocap calibrate`: measure what stays the same during a session."""

import typer

from tools.cli_calibrate_board import board
from tools.cli_calibrate_convert import convert
from tools.cli_calibrate_floor import floor
from tools.cli_calibrate_rig import rig as calibrate_rig
from tools.cli_calibrate_subject import subject
from tools.cli_calibrate_wand import wand

app = typer.Typer()
app.command("board")(board)
app.command("convert")(convert)
app.command("floor")(floor)
app.command("rig")(calibrate_rig)
app.command("subject")(subject)
app.command("wand")(wand)
