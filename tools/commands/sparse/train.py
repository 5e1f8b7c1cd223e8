"""`duocap sparse train`: learn a dictionary of poses."""

from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import add_settings_options, check_folders
from tools.commands.options import Builtin, Motions

SUFFIX = ".sparse"

Out = Annotated[Path, typer.Option("--out", metavar="FILE.sparse", help="The dictionary to write.", show_default=False)]
Database = Annotated[
    Path | None, typer.Option("--database", metavar="FILE", help="Learn from this database.", show_default=False)
]
Clips = Annotated[
    list[str] | None,
    typer.Option("--clip", metavar="NAME", help="Only clips of it, such as 07_01 or 07_*; repeatable.", show_default=False),
]
Atoms = Annotated[int, typer.Option("--atoms", min=0, help="Number of atoms; 0: as many as the error needs.")]
Error = Annotated[float, typer.Option("--error", metavar="MM", help="Error of a coordinate that it is grown to [mm].")]
NonZero = Annotated[int, typer.Option("--nonzero", min=1, max=30, help="Atoms that a pose is made of, at most.")]
Clusters = Annotated[int, typer.Option("--clusters", min=0, help="Clusters learned apart; 0: one for about 50,000 poses.")]
Iterations = Annotated[int, typer.Option("--iterations", min=1, max=200, help="Iterations of K-SVD.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="What decides the first atoms.")]
Name = Annotated[str | None, typer.Option("--name", help="What it is called; default as the file.", show_default=False)]


@add_settings_options
def train(
    _settings: Settings,
    motions: Motions = None,
    *,
    out: Out,
    builtin: Builtin = None,
    database: Database = None,
    clip: Clips = None,
    atoms: Atoms = 0,
    error_mm: Error = 3.0,
    nonzero: NonZero = 5,
    clusters: Clusters = 0,
    iterations: Iterations = 15,
    seed: Seed = 1,
    name: Name = None,
) -> None:
    """Learn a dictionary of poses: from files, recordings, a database, or built-in motions. Interrupted, it goes on next time."""
    from reconstruct.models.sparse.learn import DictionaryOptions
    from reconstruct.models.sparse.train import TrainOptions
    from tools.sparse.train import train_dictionary
    from tools.style.sources import StyleSources

    if out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {out}: a dictionary's file ends with {SUFFIX}; give a name such as all{SUFFIX}")
    if clip and database is None:
        raise DuocapError("--clip names clips of a database; give it by --database")
    if not 0.1 <= error_mm <= 100.0:
        raise DuocapError(f"--error {error_mm:g}: must be from 0.1 to 100 mm")
    check_folders(out)
    wanted = StyleSources(motions or (), database, clip or (() if database is None else ("*",)), builtin or ())
    learning = DictionaryOptions(atoms, nonzero, 1e-3 * error_mm, iterations, seed)
    for line in train_dictionary(wanted, TrainOptions(clusters, learning), name or out.stem, out):
        typer.echo(line)
