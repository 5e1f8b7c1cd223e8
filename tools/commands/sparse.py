"""`duocap sparse`: sparse pose dictionaries (Lai et al. 2012)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, check_suffix
from tools.commands.declaration import add_settings_options
from tools.commands.options import (
    Builtin,
    ImportOptions,
    LearnedClips,
    LearnedDatabase,
    ModelName,
    Motions,
    PoseInputOptions,
    TakeFile,
    TakeFiles,
)
from tools.progress import open_progress_bar

SUFFIX = ".sparse"
Dictionary = Annotated[Path, typer.Option(metavar="FILE.sparse", help="A dictionary (duocap sparse train).")]
DictionaryFile = Annotated[Path, typer.Option(metavar="FILE.sparse", help="The dictionary to write.")]
PoseAtoms = Annotated[
    int | None,
    typer.Option("--atoms", min=1, max=100, metavar="T", help="Atoms of a pose: few, it is natural; many, it is as asked."),
]

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseTrainOptions:
    """Options of `duocap sparse train`."""

    motions: Motions = None
    out: DictionaryFile
    builtin: Builtin = None
    database: LearnedDatabase = None
    clip: LearnedClips = None
    atoms: Annotated[int, typer.Option(min=0, help="Number of atoms; 0: as many as the error needs.")] = 0
    error_mm: Annotated[float, typer.Option("--error", metavar="MM", help="Error of a coordinate that it is grown to [mm].")] = (
        3.0
    )
    nonzero: Annotated[int, typer.Option(min=1, max=30, help="Atoms that a pose is made of, at most.")] = 5
    clusters: Annotated[int, typer.Option(min=0, help="Clusters learned apart; 0: one for about 50,000 poses.")] = 0
    iterations: Annotated[int, typer.Option(min=1, max=200, help="Iterations of K-SVD.")] = 15
    seed: Annotated[int, typer.Option(min=0, help="What decides the first atoms.")] = 1
    name: ModelName = None


@app.command()
@add_settings_options
def train(_settings: Settings, options: SparseTrainOptions) -> None:
    """Learn a dictionary of poses: from files, recordings, a database, or built-in motions. Interrupted, it goes on next time."""
    from reconstruct.models.sparse.learn import DictionaryOptions
    from reconstruct.models.sparse.train import TrainOptions
    from tools.sparse.train import train_dictionary
    from tools.style.sources import StyleSources

    check_suffix("--out", options.out, SUFFIX)
    if options.clip and options.database is None:
        raise DuocapError("--clip names clips of a database; give it by --database")
    if not 0.1 <= options.error_mm <= 100.0:
        raise DuocapError(f"--error {options.error_mm:g}: must be from 0.1 to 100 mm")
    check_folders(options.out)
    clips = options.clip or (() if options.database is None else ("*",))
    wanted = StyleSources(options.motions or (), options.database, clips, options.builtin or ())
    learning = DictionaryOptions(options.atoms, options.nonzero, 1e-3 * options.error_mm, options.iterations, options.seed)
    for line in train_dictionary(wanted, TrainOptions(options.clusters, learning), options.name or options.out.stem, options.out):
        typer.echo(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseCompleteOptions:
    """Options of `duocap sparse complete`."""

    dictionary: Annotated[Path, typer.Argument(metavar="FILE.sparse", help="A dictionary (duocap sparse train).")]
    out: TakeFiles
    points: PoseInputOptions
    atoms: PoseAtoms = None


@app.command()
@add_settings_options
def complete(_settings: Settings, options: SparseCompleteOptions) -> None:
    """Complete poses of which a few points are known, in space or in pictures, or move along curves."""
    from tools.export import finish_take, plan_export_files
    from tools.sparse.complete import CompletionTask, complete_poses

    points = options.points
    files = plan_export_files(options.dictionary, options.out, ())
    inputs = points.create_inputs(options.out)
    with open_progress_bar("pose") as progress:
        result = complete_poses(CompletionTask(options.dictionary, inputs, points.skeleton, options.atoms), progress)
    finish_take(files, result, "pose")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseDenoiseOptions:
    """Options of `duocap sparse denoise`."""

    take: TakeFile
    dictionary: Dictionary
    out: TakeFiles
    noise: Annotated[
        float | None,
        typer.Option(metavar="MM", help="Deviation of the noise of a joint; default as estimated."),
    ] = None
    imported: ImportOptions


@app.command()
@add_settings_options
def denoise(_settings: Settings, options: SparseDenoiseOptions) -> None:
    """Clean a take: noise in all joints, and single joints that are wild. Says what it changed."""
    from stream.take.read import read_take
    from tools.export import finish_take, plan_export_files
    from tools.sparse.denoise import denoise_take

    check_folders(*options.out)
    files = plan_export_files(options.take, options.out, ())
    if options.noise is not None and not 0.1 <= options.noise <= 500.0:
        raise DuocapError(f"--noise {options.noise:g}: must be from 0.1 to 500 mm")
    before = read_take(options.take, options.imported.read_hints(), typer.echo)
    with open_progress_bar("cleaning") as show:
        result = denoise_take(before, options.dictionary, None if options.noise is None else 1e-3 * options.noise, show)
    finish_take(files, result)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseDragOptions:
    """Options of `duocap sparse drag`."""

    take: TakeFile
    dictionary: Dictionary
    move: Annotated[
        list[str],
        typer.Option(
            metavar="JOINT=X,Y,Z", help="Drag a joint by so many metres in the world, however long its bones; repeatable."
        ),
    ]
    out: TakeFiles
    at: Annotated[float, typer.Option(metavar="S", help="Second of the take whose pose is dragged.")] = 0.0
    atoms: PoseAtoms = None
    imported: ImportOptions


@app.command()
@add_settings_options
def drag(_settings: Settings, options: SparseDragOptions) -> None:
    """Find the natural pose nearest to one that was dragged: all joints count, dragged ones no more than others."""
    from stream.take.read import read_take
    from tools.export import finish_take, plan_export_files
    from tools.sparse.drag import drag_pose, parse_moves

    files = plan_export_files(options.take, options.out, ())
    moves = parse_moves(options.move)
    take = read_take(options.take, options.imported.read_hints(), typer.echo)
    finish_take(files, drag_pose(take, options.at, moves, options.dictionary, options.atoms), "pose")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseJoinOptions:
    """Options of `duocap sparse join`."""

    dictionaries: Annotated[
        list[Path], typer.Argument(metavar="FILE.sparse...", help="Dictionaries; the body is the first one's.")
    ]
    out: DictionaryFile
    name: ModelName = None


@app.command()
@add_settings_options
def join(_settings: Settings, options: SparseJoinOptions) -> None:
    """Join dictionaries that were learned apart: it knows the poses of all."""
    from reconstruct.models.sparse.model import join_pose_dictionaries, read_dictionary, write_dictionary

    files, out = options.dictionaries, options.out
    if len(files) < 2:
        raise DuocapError("one dictionary has nothing to be joined with; give two or more")
    check_suffix("--out", out, SUFFIX)
    check_folders(out)
    joined = join_pose_dictionaries([read_dictionary(file) for file in files], options.name or out.stem)
    write_dictionary(out, joined)
    typer.echo(f"{out}: {len(joined.dictionary)} atoms of {len(files)} dictionaries, {joined.n_poses} poses")
