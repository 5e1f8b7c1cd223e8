"""`duocap style train`: learn the style of a motion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, check_picture
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import Builtin, ModelName, Motions

SUFFIX = ".style"


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleTrainOptions:
    """Options of `duocap style train`."""

    motions: Motions = None
    out: Annotated[Path, typer.Option(metavar="FILE.style", help="The style to write.")]
    builtin: Builtin = None
    database: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Learn from clips of this database."),
        InProject("database", unless=("motions", "builtin")),
    ] = None
    clip: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A clip of it, such as 07_01 or 07_*; repeatable."),
    ] = None
    from_s: Annotated[float, typer.Option("--from", metavar="S", help="Leave out what was before, in every motion [s].")] = 0.0
    to_s: Annotated[float | None, typer.Option("--to", metavar="S", help="Leave out what comes after, in every motion [s].")] = (
        None
    )
    frames: Annotated[int, typer.Option(min=1, help="Learn at most so many poses, 20 to 2000.")] = 500
    latent: Annotated[int, typer.Option(min=1, help="Dimensions of the latent space; 2 or 3 are usual.")] = 3
    active: Annotated[int, typer.Option(min=2, help="Poses that predictions are made from; 50 do for short motions.")] = 100
    only_active: Annotated[
        bool, typer.Option("--only-active", help="Predict from these alone, as in the paper; other poses lead predictions too.")
    ] = False
    method: Annotated[
        Literal["heuristic", "direct"],
        typer.Option(help="heuristic: the paper's alternation; direct: everything at once, a better ordered space."),
    ] = "heuristic"
    optimiser: Annotated[Literal["scg", "lbfgs"], typer.Option(help="Scaled conjugate gradients, or L-BFGS, mostly faster.")] = (
        "lbfgs"
    )
    steps: Annotated[int, typer.Option(min=0, help="Steps of learning; 0: what the method needs.")] = 0
    seed: Annotated[int, typer.Option(min=0, help="What decides the noise of the annealed parameters.")] = 1
    name: ModelName = None
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the objective over the steps as PNG.")] = None


@add_settings_options
def train(_settings: Settings, options: StyleTrainOptions) -> None:
    """Learn the style of a motion: from files, recordings, a database, or built-in motions."""
    from reconstruct.models.style.learn.train import LearnOptions
    from tools.style.sources import StyleSources
    from tools.style.train import TrainTask, train_style

    _check(options)
    check_picture("--plot", options.plot)
    check_folders(options.out, options.plot)
    to_s = float("inf") if options.to_s is None else options.to_s
    wanted = StyleSources(
        options.motions or (), options.database, options.clip or (), options.builtin or (), options.from_s, to_s
    )
    learning = LearnOptions(
        latent=options.latent,
        active=options.active,
        method=options.method,
        optimiser=options.optimiser,
        steps=options.steps,
        seed=options.seed,
        only_active=options.only_active,
    )
    name = options.name or options.out.stem
    train_style(TrainTask(wanted, learning, options.frames, name, options.out, options.plot), typer.echo)


def _check(options: StyleTrainOptions) -> None:
    """Raise DuocapError for options that do not go together: better now than after the work."""
    out, from_s, to_s = options.out, options.from_s, options.to_s
    if out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {out}: a style's file ends with {SUFFIX}; give a name such as walk{SUFFIX}")
    if not 0.0 <= from_s < (float("inf") if to_s is None else to_s):
        asked = f"--from {from_s:g}" + ("" if to_s is None else f" --to {to_s:g}")
        raise DuocapError(f"{asked}: the times must be from 0 on, the second after the first")
    if (options.database is None) != (not options.clip):
        raise DuocapError("--database and --clip go together: name the file and its clips, such as --clip '07_*'")
