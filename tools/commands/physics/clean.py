"""`duocap physics clean`: a take made physically sound."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from reconstruct.models.physics.anthropometry import Anthropometry
from tools.arguments import add_settings_options, check_folders
from tools.commands.physics.options import Contacts, Friction, Mass, MotionFile, Segments, Subject, Table
from tools.progress import open_progress_bar

Out = Annotated[
    list[Path],
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write .bvh, .csv, .glb, .vrma, .trc, or with forces .mcap or .c3d; repeatable.",
        show_default=False,
    ),
]


@add_settings_options
def clean(
    settings: Settings,
    take: MotionFile,
    out: Out,
    mass: Mass = None,
    segment: Segments = None,
    table: Table = Anthropometry.MEAN,
    subject: Subject = None,
    contacts: Contacts = None,
    friction: Friction = 0.8,
) -> None:
    """Make a take obey physics: feet that stand and bear the weight. Interrupted, it goes on next time."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.friction import build_cone_basis
    from tools.export import plan_export_files, write_takes
    from tools.physics.clean import BodyOptions, clean_motion
    from tools.physics.forces import read_contacts
    from tools.physics.motion import read_motion

    check_folders(*out)
    files = plan_export_files(take, out, ())
    import_pinocchio()
    build_cone_basis(friction)
    with open_progress_bar("cleaning") as show:
        motion = read_motion(take, subject, show)
        parts = None if contacts is None else read_contacts(contacts, motion)
        part = files[0].file.with_name(f".{files[0].file.name}.clean.part")
        result = clean_motion(motion, BodyOptions(mass, table, friction, tuple(segment or ())), part, show, parts)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} frames ({wanted.format})")
