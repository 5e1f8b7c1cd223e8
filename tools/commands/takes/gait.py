"""`duocap gait`: events and measures of walking."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders, check_suffix
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import ImportOptions, MarkersSubject
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class GaitOptions:
    """Options of `duocap gait`."""

    take: Annotated[
        Path,
        typer.Argument(metavar="TAKE", help="A recording, BVH, AMC, or markers in C3D or TRC of somebody who walks."),
        InProject("take"),
    ]
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write .csv, one row a step, or .c3d, the take with its events; repeatable."),
    ] = None
    subject: MarkersSubject = None
    imported: ImportOptions


@add_settings_options
def gait(settings: Settings, options: GaitOptions) -> None:
    """Foot strikes, step lengths and times, speed and symmetry of a walk."""
    from config.errors import DuocapError
    from tools.gait.walk import measure_gait, write_gait
    from tools.physics.motion import read_motion

    out = options.out or []
    check_folders(*out)
    for file in out:
        check_suffix("--out", file, ".csv", ".c3d")
        if file.resolve() == options.take.resolve():
            raise DuocapError(f"--out {file}: is the take itself; choose another name")
    hints = options.imported.read_hints()
    with open_progress_bar("gait") as show:
        motion = read_motion(options.take, options.subject, hints, show)
    found = measure_gait(motion)
    for line in found.lines():
        typer.echo(line)
    for file in out:
        typer.echo(write_gait(file, motion, found))
