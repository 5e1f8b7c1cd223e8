"""`duocap physics train`: learn a force field."""

from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import add_settings_options, check_folders
from tools.commands.physics.options import Mass
from tools.progress import open_progress_bar

Motions = Annotated[
    list[Path],
    typer.Argument(metavar="MOTION...", help="Motions (.bvh, .amc with its .asf) or recordings (.mcap).", show_default=False),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE.forces", help="The force field to write.", show_default=False)]
Inducing = Annotated[int, typer.Option("--inducing", min=10, max=1000, help="States that the process is remembered by.")]
Steps = Annotated[int, typer.Option("--steps", min=1, max=500, help="Steps of the search for its length scales, at most.")]
Name = Annotated[str | None, typer.Option("--name", help="What it is called; default as the file.", show_default=False)]

Smooth = Annotated[
    bool, typer.Option("--smooth/--no-smooth", help="Make the motions obey physics first (as `clean`), or only filter them.")
]


@add_settings_options
def train(
    _settings: Settings,
    motions: Motions,
    *,
    out: Out,
    mass: Mass = None,
    inducing: Inducing = 200,
    steps: Steps = 60,
    name: Name = None,
    smooth: Smooth = True,
) -> None:
    """Learn which forces a way of moving uses in each state."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.field.file import SUFFIX
    from reconstruct.models.physics.field.train import FieldOptions
    from tools.physics.train import FieldTask, read_motions, train_field_file

    if out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {out}: a force field's file ends with {SUFFIX}; give a name such as walk{SUFFIX}")
    check_folders(out)
    import_pinocchio()
    task = FieldTask(motions, mass, FieldOptions(inducing, steps=steps), smooth)
    with open_progress_bar("preparing") as show:
        found = read_motions(task, show)
    with open_progress_bar("learning") as show:
        lines = train_field_file(task, found, name or out.stem, out, show)
    for line in lines:
        typer.echo(line)
