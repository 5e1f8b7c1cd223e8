"""`duocap physics`: forces, and motion that obeys them (Wei et al. 2011)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from config.words import format_count
from reconstruct.models.physics.anthropometry import Anthropometry
from tools.arguments import check_folders, check_suffix
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import ImportOptions, MarkersSubject, ModelName
from tools.progress import open_progress_bar, print_warnings

app = typer.Typer()

ForceTakeFiles = Annotated[
    list[Path],
    typer.Option(metavar="FILE", help="Write .bvh, .csv, .glb, .vrma, .trc, or with forces .mcap or .c3d; repeatable."),
]
MotionFile = Annotated[
    Path,
    typer.Argument(metavar="MOTION", help="A motion (.bvh, .amc, .glb, .vrma), recording (.mcap), or markers (.trc, .c3d)."),
    InProject("take"),
]
Mass = Annotated[float | None, typer.Option(metavar="KG", help="Of the whole body; default usual for its height.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsBodyOptions:
    """The body of a motion, the ground and their contacts."""

    mass: Mass = None
    segment: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=KG", help="Mass of a segment, leftFoot=3, or more of it, leftFoot=+2; repeatable."),
    ] = None
    table: Annotated[Anthropometry, typer.Option(help="Masses of segments: of women, of men, or the mean (de Leva 1996).")] = (
        Anthropometry.MEAN
    )
    subject: MarkersSubject = None
    contacts: Annotated[Path | None, typer.Option(metavar="FILE", help="Contacts from such a table; default as detected.")] = None
    friction: Annotated[float, typer.Option(metavar="MU", help="Coefficient of the ground's friction.")] = 0.8


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
    if text == "auto":
        return None
    try:
        hz = float(text)
    except ValueError:
        hz = -1.0
    if not hz >= 0.0:
        raise DuocapError(f"--cutoff {text}: expected a frequency in Hz, auto, or 0 for no filter")
    return hz or float("inf")


@app.command()
@add_settings_options
def forces(settings: Settings, options: PhysicsForcesOptions) -> None:
    """Forces of a motion: on the feet, in the joints, and what no contact explains.

    Of a recording that has forces, as `clean` and `animate` write them, these; options but --out and --plot compute them.
    """
    from functools import partial

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
    from tools.physics.plot import plot_forces, plot_recorded_forces

    check_folders(options.out, options.plot)
    check_suffix("--out", options.out, ".csv")
    check_suffix("--plot", options.plot, ".png", ".svg", ".pdf")
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
    with open_progress_bar("forces") as show, write_together():
        read = read_motion(options.motion, options.body.subject, options.imported.read_hints(), show)
        if read.take.forces is not None and task == ForcesTask(options.motion) and not options.anew:
            n_rows, warnings = int(read.take.forces.known.sum()), list[str]()
            lines = write_recorded_forces(options.out, read.take)
            draw = partial(plot_recorded_forces, take=read.take)
        else:
            found = find_forces(read, task, show)
            n_rows, warnings = sum(len(one.forces.parts) for one in found), format_force_warnings(found)
            lines = format_forces(read, found)
            write_forces(options.out, found)
            draw = partial(plot_forces, found=found)
        if options.plot is not None:
            draw(options.plot, title=read.name)
    typer.echo("\n".join((*lines, f"{options.out}: {format_count(n_rows, 'row')}")))
    print_warnings(warnings)
    if options.plot is not None:
        typer.echo(f"{options.plot}: drawn")


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


@app.command()
@add_settings_options
def train(_settings: Settings, options: PhysicsTrainOptions) -> None:
    """Learn which forces a way of moving uses in each state."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.field.file import SUFFIX
    from reconstruct.models.physics.field.train import FieldOptions
    from tools.physics.train import FieldTask, read_motions, train_field_file

    check_suffix("--out", options.out, SUFFIX)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsAnimateOptions:
    """Options of `duocap physics animate`."""

    script: Annotated[Path, typer.Argument(metavar="SCRIPT.toml", help="What is wanted: docs/animate.md.")]
    out: ForceTakeFiles
    motions: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Where motions are; default with the script; repeatable."),
    ] = None
    field: Annotated[
        Path | None,
        typer.Option(metavar="FILE.forces", help="Another force field than the script's."),
    ] = None
    before: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the motion without physics as well."),
    ] = None
    strip: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw it, without physics and with it, with forces."),
    ] = None
    film: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mp4", help="Film it, with forces and key poses."),
    ] = None
    steps: Annotated[int, typer.Option(min=1, max=1000, help="Steps of the search in each window, at most.")] = 30


@app.command()
@add_settings_options
def animate(_settings: Settings, options: PhysicsAnimateOptions) -> None:
    """Make a motion from a few key poses that obeys the laws of motion. Ctrl-C keeps what is there."""
    from dataclasses import replace

    from config.files import write_together
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.synthesis.animate import AnimateOptions
    from tools.export import plan_export_files, print_written, write_takes
    from tools.physics.animate import AnimateTask, animate_script, format_animation
    from tools.physics.script import read_script

    check_folders(*options.out, options.before, options.strip, options.film)
    check_suffix("--strip", options.strip, ".png")
    check_suffix("--film", options.film, ".mp4")
    files = plan_export_files(options.script, options.out, ())
    others = [] if options.before is None else plan_export_files(options.script, [options.before], ())
    import_pinocchio()
    task = AnimateTask(
        read_script(options.script),
        options.motions or [options.script.parent],
        options.field,
        options=AnimateOptions(options.steps, options.steps),
    )
    with open_progress_bar("animating") as show:
        made = animate_script(task, lambda done, total: show(done, total))
    typer.echo("\n".join(format_animation(made)))
    print_warnings((*(("interrupted: the motion so far is kept",) if made.interrupted else ()), *made.notes))
    with write_together():
        write_takes(files, made.take(options.script.stem))
        write_takes(others, replace(made, q=made.start).take(options.script.stem))
    print_written(files, len(made.q))
    for wanted in others:
        typer.echo(f"{wanted.file}: {len(made.q)} frames, without physics ({wanted.format})")
    if options.strip is not None:
        from tools.physics.strip import draw_strip

        draw_strip(options.strip, made, options.script.stem)
        typer.echo(f"{options.strip}: drawn")
    if options.film is not None:
        from tools.physics.film import write_film

        write_film(options.film, made)
        typer.echo(f"{options.film}: {len(made.q) / made.problem.fps:.1f} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsCleanOptions:
    """Options of `duocap physics clean`."""

    take: MotionFile
    out: ForceTakeFiles
    body: PhysicsBodyOptions
    imported: ImportOptions


@app.command()
@add_settings_options
def clean(settings: Settings, options: PhysicsCleanOptions) -> None:
    """Make a take obey physics: feet that stand and bear the weight. Interrupted, it goes on next time."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.friction import build_cone_basis
    from tools.export import finish_take, plan_export_files
    from tools.physics.clean import BodyOptions, clean_motion
    from tools.physics.forces import read_contacts
    from tools.physics.motion import read_motion

    check_folders(*options.out)
    files = plan_export_files(options.take, options.out, ())
    import_pinocchio()
    body, hints = options.body, options.imported.read_hints()
    build_cone_basis(body.friction)
    with open_progress_bar("cleaning") as show:
        motion = read_motion(options.take, body.subject, hints, show)
        parts = None if body.contacts is None else read_contacts(body.contacts, motion)
        part = files[0].file.with_name(f".{files[0].file.name}.clean.part")
        given = BodyOptions(body.mass, body.table, body.friction, tuple(body.segment or ()))
        result = clean_motion(motion, given, part, show, parts)
    finish_take(files, result)


@app.callback()
def physics() -> None:
    """Forces of motions, and motions that obey them."""
