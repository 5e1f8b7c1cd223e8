"""`duocap physics forces`: contact forces and joint torques of a motion."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from reconstruct.models.physics.anthropometry import Anthropometry
from tools.arguments import add_settings_options, check_folders
from tools.commands.physics.options import Contacts, Friction, Mass, MotionFile, Segments, Subject, Table
from tools.progress import open_progress_bar

Out = Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="The table to write.", show_default=False)]
Cutoff = Annotated[
    float | None,
    typer.Option(
        "--cutoff", metavar="HZ", help="Low-pass filter of the motion; 0: none; default by its own noise.", show_default=False
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the forces: .png, .svg or .pdf.", show_default=False)
]
Anew = Annotated[bool, typer.Option("--anew", help="Compute forces also where a recording has them.")]


@add_settings_options
def forces(
    settings: Settings,
    motion: MotionFile,
    out: Out,
    mass: Mass = None,
    segment: Segments = None,
    table: Table = Anthropometry.MEAN,
    subject: Subject = None,
    contacts: Contacts = None,
    friction: Friction = 0.8,
    cutoff: Cutoff = None,
    plot: Plot = None,
    anew: Anew = False,
) -> None:
    """Forces of a motion: on the feet, in the joints, and what no contact explains.

    Of a recording that has forces, as `clean` and `animate` write them, these; any other option but --out computes them.
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

    check_folders(out, plot)
    if out.suffix.lower() != ".csv":
        raise DuocapError(f"--out {out}: forces are written as a table; give a name that ends with .csv")
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise DuocapError(f"--plot {plot}: expected a name that ends with .png, .svg or .pdf")
    if cutoff is not None and not cutoff >= 0.0:
        raise DuocapError(f"--cutoff {cutoff:g}: expected a frequency in Hz, or 0 for no filter")
    import_pinocchio()
    limit = float("inf") if cutoff == 0.0 else cutoff
    task = ForcesTask(motion, subject, mass, table, friction, limit, contacts, tuple(segment or ()))
    with open_progress_bar("forces") as show:
        read = read_motion(motion, subject, show)
        if read.take.forces is not None and task == ForcesTask(motion) and plot is None and not anew:
            lines = write_recorded_forces(out, read.take)
            typer.echo("\n".join((*lines, f"{out}: {int(read.take.forces.known.sum())} rows")))
            return
        found = find_forces(read, task, show)
    for line in format_forces(read, found):
        typer.echo(line)
    for words in format_force_warnings(found):
        typer.echo(f"duocap: warning: {words}", err=True)
    with write_together():
        write_forces(out, found)
        if plot is not None:
            from tools.physics.plot import plot_forces

            plot_forces(plot, found, read.name)
    typer.echo(f"{out}: {sum(len(each.forces.parts) for each in found)} rows")
    if plot is not None:
        typer.echo(f"{plot}: drawn")
