"""`duocap style`: learn the style of a motion, look at it, and pose by it (Grochow et al. 2004). Looking at it is here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders, check_picture
from tools.commands.declaration import add_settings_options
from tools.commands.style.pose import pose
from tools.commands.style.train import train


@dataclass(frozen=True, slots=True, kw_only=True)
class StylePlotOptions:
    """Options of `duocap style plot`."""

    style_file: Annotated[Path, typer.Argument(metavar="FILE.style", help="A style (duocap style train).")]
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="The picture; default beside the style."),
    ] = None
    levels: Annotated[bool, typer.Option("--levels", help="Show the steps of annealing: annealed, in between, as learned.")] = (
        False
    )
    figures: Annotated[int, typer.Option(min=0, max=12, help="How many poses are drawn around the map.")] = 12


@add_settings_options
def plot(_settings: Settings, options: StylePlotOptions) -> None:
    """Draw how likely poses are over a style's latent space, its training poses, and figures of some."""
    from reconstruct.models.style.file import read_style
    from tools.style.plot import draw_levels, draw_style

    picture = options.style_file.with_suffix(".png") if options.out is None else options.out
    check_picture("--out", picture)
    check_folders(picture)
    style = read_style(options.style_file)
    file = draw_levels(style, picture) if options.levels else draw_style(style, picture, options.figures)
    typer.echo(f"{file}: {style.name}, {len(style.features)} poses")


app = typer.Typer()
app.command("plot")(plot)
app.command("pose")(pose)
app.command("train")(train)
