"""`duocap style`: learn the style of a motion, look at it, and pose by it (Grochow et al. 2004). Looking at it is here."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import add_settings_options, check_folders, check_picture
from tools.commands.style.pose import pose
from tools.commands.style.train import train

StyleFile = Annotated[Path, typer.Argument(metavar="FILE.style", help="A style (duocap style train).", show_default=False)]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE.png", help="The picture; default beside the style.", show_default=False),
]
Levels = Annotated[bool, typer.Option("--levels", help="Show the steps of annealing: annealed, in between, as learned.")]
Figures = Annotated[int, typer.Option("--figures", min=0, max=12, help="How many poses are drawn around the map.")]


@add_settings_options
def plot(_settings: Settings, style_file: StyleFile, out: Out = None, levels: Levels = False, figures: Figures = 12) -> None:
    """Draw how likely poses are over a style's latent space, its training poses, and figures of some."""
    from reconstruct.models.style.file import read_style
    from tools.style.plot import draw_levels, draw_style

    picture = style_file.with_suffix(".png") if out is None else out
    check_picture("--out", picture)
    check_folders(picture)
    style = read_style(style_file)
    file = draw_levels(style, picture) if levels else draw_style(style, picture, figures)
    typer.echo(f"{file}: {style.name}, {len(style.features)} poses")


app = typer.Typer()
app.command("plot")(plot)
app.command("pose")(pose)
app.command("train")(train)
