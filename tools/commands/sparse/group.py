"""`duocap sparse`: sparse pose dictionaries (Lai et al. 2012)."""

import typer

from tools.commands.sparse.complete import complete
from tools.commands.sparse.denoise import denoise
from tools.commands.sparse.drag import drag
from tools.commands.sparse.join import join
from tools.commands.sparse.train import train

app = typer.Typer()
app.command("train")(train)
app.command("complete")(complete)
app.command("denoise")(denoise)
app.command("drag")(drag)
app.command("join")(join)
