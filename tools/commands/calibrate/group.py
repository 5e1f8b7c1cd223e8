"""`duocap calibrate`: measure what stays the same during a session."""

import typer

from tools.commands.calibrate.board import board
from tools.commands.calibrate.convert import convert
from tools.commands.calibrate.floor import floor
from tools.commands.calibrate.rig import rig as calibrate_rig
from tools.commands.calibrate.subject import subject
from tools.commands.calibrate.wand import wand

app = typer.Typer()
app.command("board")(board)
app.command("convert")(convert)
app.command("floor")(floor)
app.command("rig")(calibrate_rig)
app.command("subject")(subject)
app.command("wand")(wand)
