"""`duocap physics train`: learn a force field."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import ImportOptions, ModelName
from tools.commands.physics.options import Mass
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsTrainOptions:
    """Options of `duocap physics train`."""

    motions: Annotated[
        list[Path],
        typer.Argument(
            metavar="MOTION...", help="Motions (.bvh, .amc, .glb, .vrma), markers (.c3d, .trc) or recordings (.mcap)."
        ),
    ]
    out: Annotated[Path, typer.Option(metavar="FILE.forces", help="The force field to write.")]
    mass: Mass = None
    inducing: Annotated[int, typer.Option(min=10, max=1000, help="States that the process is remembered by.")] = 200
    steps: Annotated[int, typer.Option(min=1, max=500, help="Steps of the search for its length scales, at most.")] = 60
    name: ModelName = None
    smooth: Annotated[
        bool, typer.Option("--smooth/--no-smooth", help="Make the motions obey physics first (as `clean`), or only filter them.")
    ] = True
    imported: ImportOptions


@add_settings_options
def train(_settings: Settings, options: PhysicsTrainOptions) -> None:
    """Learn which forces a way of moving uses in each state."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.field.file import SUFFIX
    from reconstruct.models.physics.field.train import FieldOptions
    from tools.physics.train import FieldTask, read_motions, train_field_file

    if options.out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {options.out}: a force field's file ends with {SUFFIX}; give a name such as walk{SUFFIX}")
    check_folders(options.out)
    import_pinocchio()
    task = FieldTask(
        options.motions,
        options.mass,
        FieldOptions(options.inducing, steps=options.steps),
        options.smooth,
        options.imported.read_hints(),
    )
    with open_progress_bar("preparing") as show:
        found = read_motions(task, show)
    with open_progress_bar("learning") as show:
        lines = train_field_file(task, found, options.name or options.out.stem, options.out, show)
    for line in lines:
        typer.echo(line)
