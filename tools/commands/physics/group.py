"""`duocap physics`: forces, and motion that obeys them (Wei et al. 2011)."""

import typer

from tools.commands.physics.clean import clean
from tools.commands.physics.forces import forces

app = typer.Typer()
app.command("forces")(forces)
app.command("clean")(clean)


@app.callback()
def physics() -> None:
    """Forces of motions, and motions that obey them."""
