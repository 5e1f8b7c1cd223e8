"""`duocap style train`: learn the style of a motion."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import add_settings_options, check_folders, check_picture
from tools.commands.options import Builtin, Motions

SUFFIX = ".style"

Out = Annotated[Path, typer.Option("--out", metavar="FILE.style", help="The style to write.", show_default=False)]
Database = Annotated[
    Path | None, typer.Option("--database", metavar="FILE", help="Learn from clips of this database.", show_default=False)
]
Clips = Annotated[
    list[str] | None,
    typer.Option("--clip", metavar="NAME", help="A clip of it, such as 07_01 or 07_*; repeatable.", show_default=False),
]
From = Annotated[float, typer.Option("--from", metavar="S", help="Leave out what was before, in every motion [s].")]
To = Annotated[
    float | None, typer.Option("--to", metavar="S", help="Leave out what comes after, in every motion [s].", show_default=False)
]
Frames = Annotated[int, typer.Option("--frames", min=1, help="Learn at most so many poses, 20 to 2000.")]
Latent = Annotated[int, typer.Option("--latent", min=1, help="Dimensions of the latent space; 2 or 3 are usual.")]
Active = Annotated[int, typer.Option("--active", min=2, help="Poses that predictions are made from; 50 do for short motions.")]
Method = Annotated[
    Literal["heuristic", "direct"],
    typer.Option("--method", help="heuristic: the paper's alternation; direct: everything at once, a better ordered space."),
]
Optimiser = Annotated[
    Literal["scg", "lbfgs"], typer.Option("--optimiser", help="Scaled conjugate gradients, or L-BFGS, mostly faster.")
]
Steps = Annotated[int, typer.Option("--steps", min=0, help="Steps of learning; 0: what the method needs.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="What decides the noise of the annealed parameters.")]
Name = Annotated[str | None, typer.Option("--name", help="What the style is called; default as the file.", show_default=False)]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the objective over the steps as PNG.", show_default=False)
]


@add_settings_options
def train(
    _settings: Settings,
    motions: Motions = None,
    *,
    out: Out,
    builtin: Builtin = None,
    database: Database = None,
    clip: Clips = None,
    from_s: From = 0.0,
    to_s: To = None,
    frames: Frames = 500,
    latent: Latent = 3,
    active: Active = 100,
    method: Method = "heuristic",
    optimiser: Optimiser = "lbfgs",
    steps: Steps = 0,
    seed: Seed = 1,
    name: Name = None,
    plot: Plot = None,
) -> None:
    """Learn the style of a motion: from files, recordings, a database, or built-in motions."""
    from reconstruct.models.style.learn.train import LearnOptions
    from tools.style.sources import StyleSources
    from tools.style.train import TrainTask, train_style

    _check(out, from_s, to_s, database, clip)
    check_picture("--plot", plot)
    check_folders(out, plot)
    to_s = float("inf") if to_s is None else to_s
    wanted = StyleSources(motions or (), database, clip or (), builtin or (), from_s, to_s)
    options = LearnOptions(latent=latent, active=active, method=method, optimiser=optimiser, steps=steps, seed=seed)
    train_style(TrainTask(wanted, options, frames, name or out.stem, out, plot), typer.echo)


def _check(out: Path, from_s: float, to_s: float | None, database: Path | None, clips: list[str] | None) -> None:
    """Raise DuocapError for options that do not go together: better now than after the work."""
    if out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {out}: a style's file ends with {SUFFIX}; give a name such as walk{SUFFIX}")
    if not 0.0 <= from_s < (float("inf") if to_s is None else to_s):
        asked = f"--from {from_s:g}" + ("" if to_s is None else f" --to {to_s:g}")
        raise DuocapError(f"{asked}: the times must be from 0 on, the second after the first")
    if (database is None) != (not clips):
        raise DuocapError("--database and --clip go together: name the file and its clips, such as --clip '07_*'")
