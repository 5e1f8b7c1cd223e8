"""`duocap style`: learn the style of a motion, look at it, and pose by it (Grochow et al. 2004)."""

import typer

from tools.cli_style_plot import plot
from tools.cli_style_pose import pose
from tools.cli_style_train import train

app = typer.Typer()
app.command("plot")(plot)
app.command("pose")(pose)
app.command("train")(train)
