"""`duocap style`: learn the style of a motion, look at it, and pose by it (Grochow et al. 2004)."""

import typer

from tools.commands.style.plot import plot
from tools.commands.style.pose import pose
from tools.commands.style.train import train

app = typer.Typer()
app.command("plot")(plot)
app.command("pose")(pose)
app.command("train")(train)
