"""`duocap physics forces`: contact forces and joint torques of a motion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import ImportOptions
from tools.commands.physics.options import MotionFile, PhysicsBodyOptions
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsForcesOptions:
    """Options of `duocap physics forces`."""

    motion: MotionFile
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="The table to write.")]
    body: PhysicsBodyOptions
    cutoff: Annotated[
        str,
        typer.Option(metavar="HZ|auto", help="Low-pass filter of the motion; 6: usual of gait; auto: by its noise; 0: none."),
    ] = "6"
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the forces: .png, .svg or .pdf.")] = None
    anew: Annotated[bool, typer.Option("--anew", help="Compute forces also where a recording has them.")] = False
    imported: ImportOptions


def _parse_cutoff(text: str) -> float | None:
    """Return the cut-off [Hz], inf for no filter, None to choose it by residual analysis. Raises DuocapError."""
    from config.errors import DuocapError

    if text == "auto":
        return None
    try:
        hz = float(text)
    except ValueError:
        hz = -1.0
    if not hz >= 0.0:
        raise DuocapError(f"--cutoff {text}: expected a frequency in Hz, auto, or 0 for no filter")
    return hz or float("inf")


@add_settings_options
def forces(settings: Settings, options: PhysicsForcesOptions) -> None:
    """Forces of a motion: on the feet, in the joints, and what no contact explains.

    Of a recording that has forces, as `clean` and `animate` write them, these; options but --out and --plot compute them.
    """
    from config.errors import DuocapError
    from config.files import write_together
    from reconstruct.models.physics.backend import import_pinocchio
    from tools.physics.forces import (
        ForcesTask,
        find_forces,
        format_force_warnings,
        format_forces,
        write_forces,
        write_recorded_forces,
    )
    from tools.physics.motion import read_motion

    check_folders(options.out, options.plot)
    if options.out.suffix.lower() != ".csv":
        raise DuocapError(f"--out {options.out}: forces are written as a table; give a name that ends with .csv")
    if options.plot is not None and options.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise DuocapError(f"--plot {options.plot}: expected a name that ends with .png, .svg or .pdf")
    limit = _parse_cutoff(options.cutoff)
    import_pinocchio()
    task = ForcesTask(
        options.motion,
        options.body.subject,
        options.body.mass,
        options.body.table,
        options.body.friction,
        limit,
        options.body.contacts,
        tuple(options.body.segment or ()),
    )
    hints = options.imported.read_hints()
    with open_progress_bar("forces") as show:
        read = read_motion(options.motion, options.body.subject, hints, show)
        if read.take.forces is not None and task == ForcesTask(options.motion) and not options.anew:
            with write_together():
                lines = write_recorded_forces(options.out, read.take)
                if options.plot is not None:
                    from tools.physics.plot import plot_recorded_forces

                    plot_recorded_forces(options.plot, read.take, read.name)
            typer.echo("\n".join((*lines, f"{options.out}: {int(read.take.forces.known.sum())} rows")))
            if options.plot is not None:
                typer.echo(f"{options.plot}: drawn")
            return
        found = find_forces(read, task, show)
    for line in format_forces(read, found):
        typer.echo(line)
    for words in format_force_warnings(found):
        typer.echo(f"duocap: warning: {words}", err=True)
    with write_together():
        write_forces(options.out, found)
        if options.plot is not None:
            from tools.physics.plot import plot_forces

            plot_forces(options.plot, found, read.name)
    typer.echo(f"{options.out}: {sum(len(each.forces.parts) for each in found)} rows")
    if options.plot is not None:
        typer.echo(f"{options.plot}: drawn")
