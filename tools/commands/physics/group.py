"""`duocap physics`: forces, and motion that obeys them (Wei et al. 2011)."""

import typer

from tools.commands.physics.animate import animate
from tools.commands.physics.clean import clean
from tools.commands.physics.forces import forces
from tools.commands.physics.train import train

app = typer.Typer()
app.command("forces")(forces)
app.command("train")(train)
app.command("animate")(animate)
app.command("clean")(clean)


@app.callback()
def physics() -> None:
    """Forces of motions, and motions that obey them."""
