"""`duocap sparse train`: learn a dictionary of poses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import Builtin, DictionaryFile, ModelName, Motions

SUFFIX = ".sparse"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseTrainOptions:
    """Options of `duocap sparse train`."""

    motions: Motions = None
    out: DictionaryFile
    builtin: Builtin = None
    database: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Learn from this database."),
        InProject("database", unless=("motions", "builtin")),
    ] = None
    clip: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only clips of it, such as 07_01 or 07_*; repeatable."),
    ] = None
    atoms: Annotated[int, typer.Option(min=0, help="Number of atoms; 0: as many as the error needs.")] = 0
    error_mm: Annotated[float, typer.Option("--error", metavar="MM", help="Error of a coordinate that it is grown to [mm].")] = (
        3.0
    )
    nonzero: Annotated[int, typer.Option(min=1, max=30, help="Atoms that a pose is made of, at most.")] = 5
    clusters: Annotated[int, typer.Option(min=0, help="Clusters learned apart; 0: one for about 50,000 poses.")] = 0
    iterations: Annotated[int, typer.Option(min=1, max=200, help="Iterations of K-SVD.")] = 15
    seed: Annotated[int, typer.Option(min=0, help="What decides the first atoms.")] = 1
    name: ModelName = None


@add_settings_options
def train(_settings: Settings, options: SparseTrainOptions) -> None:
    """Learn a dictionary of poses: from files, recordings, a database, or built-in motions. Interrupted, it goes on next time."""
    from reconstruct.models.sparse.learn import DictionaryOptions
    from reconstruct.models.sparse.train import TrainOptions
    from tools.sparse.train import train_dictionary
    from tools.style.sources import StyleSources

    if options.out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {options.out}: a dictionary's file ends with {SUFFIX}; give a name such as all{SUFFIX}")
    if options.clip and options.database is None:
        raise DuocapError("--clip names clips of a database; give it by --database")
    if not 0.1 <= options.error_mm <= 100.0:
        raise DuocapError(f"--error {options.error_mm:g}: must be from 0.1 to 100 mm")
    check_folders(options.out)
    wanted = StyleSources(
        options.motions or (),
        options.database,
        options.clip or (() if options.database is None else ("*",)),
        options.builtin or (),
    )
    learning = DictionaryOptions(options.atoms, options.nonzero, 1e-3 * options.error_mm, options.iterations, options.seed)
    for line in train_dictionary(wanted, TrainOptions(options.clusters, learning), options.name or options.out.stem, options.out):
        typer.echo(line)
