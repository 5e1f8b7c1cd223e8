"""`duocap style`: learn the style of a motion, look at it, and pose by it (Grochow et al. 2004)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, check_suffix, check_time_span
from tools.commands.declaration import add_settings_options
from tools.commands.options import Builtin, LearnedClips, LearnedDatabase, ModelName, Motions, PoseInputOptions, TakeFiles
from tools.progress import open_progress_bar, print_warnings

SUFFIX = ".style"

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleTrainOptions:
    """Options of `duocap style train`."""

    motions: Motions = None
    out: Annotated[Path, typer.Option(metavar="FILE.style", help="The style to write.")]
    builtin: Builtin = None
    database: LearnedDatabase = None
    clip: LearnedClips = None
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


@app.command()
@add_settings_options
def train(_settings: Settings, options: StyleTrainOptions) -> None:
    """Learn the style of a motion: from files, recordings, a database, or built-in motions."""
    from reconstruct.models.style.learn.train import LearnOptions
    from tools.style.sources import StyleSources
    from tools.style.train import TrainTask, train_style

    check_suffix("--out", options.out, SUFFIX)
    to_s = check_time_span(options.from_s, options.to_s)
    if (options.database is None) != (not options.clip):
        raise DuocapError("--database and --clip go together: name the file and its clips, such as --clip '07_*'")
    check_suffix("--plot", options.plot, ".png")
    check_folders(options.out, options.plot)
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


@app.command()
@add_settings_options
def plot(_settings: Settings, options: StylePlotOptions) -> None:
    """Draw how likely poses are over a style's latent space, its training poses, and figures of some."""
    from reconstruct.models.style.file import read_style
    from tools.style.plot import draw_levels, draw_style

    picture = options.style_file.with_suffix(".png") if options.out is None else options.out
    check_suffix("--out", picture, ".png")
    check_folders(picture)
    style = read_style(options.style_file)
    file = draw_levels(style, picture) if options.levels else draw_style(style, picture, options.figures)
    typer.echo(f"{file}: {style.name}, {len(style.features)} poses")


@dataclass(frozen=True, slots=True, kw_only=True)
class StylePoseOptions:
    """Options of `duocap style pose`."""

    styles: Annotated[list[Path], typer.Argument(metavar="FILE.style...", help="One style, or several to pose between.")]
    out: TakeFiles
    points: PoseInputOptions


@app.command()
@add_settings_options
def pose(_settings: Settings, options: StylePoseOptions) -> None:
    """Pose a body in a style by a few points, or move it along curves."""
    from calibration.subject.subject import read_subject
    from reconstruct.models.style.file import read_style
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer
    from tools.export import finish_take, plan_export_files
    from tools.kernels import compile_kernels
    from tools.style.inputs import UNKNOWN_FLOOR, read_pose_inputs
    from tools.style.pose import solve_request

    points = options.points
    files = plan_export_files(options.styles[0], options.out, ())
    inputs = points.create_inputs(options.out)
    subject = None if points.skeleton is None else read_subject(points.skeleton)
    styles = [read_style(file) for file in options.styles]
    request, cameras = read_pose_inputs(inputs, len(styles), subject)
    if cameras is not None and not cameras.floor_known:
        print_warnings([UNKNOWN_FLOOR])
    compile_kernels("style pose")
    shares = [1.0 / len(styles)] * len(styles)
    with open_progress_bar("pose") as progress:
        synthesizer = Synthesizer(styles, shares, None if subject is None else subject.skeleton)
        result = solve_request(synthesizer, request, cameras, points.fps, progress)
    finish_take(files, result)
