"""`duocap physics clean`: a take made physically sound."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders, with_settings
from tools.commands.physics.options import Friction, Mass, Sex, Subject, Table
from tools.progress import progress_bar

TakeFile = Annotated[
    Path,
    typer.Argument(
        metavar="TAKE", help="A motion (.bvh, .amc with its .asf), recording (.mcap), or markers (.trc).", show_default=False
    ),
]
Out = Annotated[
    list[Path],
    typer.Option("--out", metavar="FILE", help="Write .bvh, .csv, .glb, .vrma, .c3d or .trc; repeatable.", show_default=False),
]


@with_settings
def clean(
    settings: Settings,
    take: TakeFile,
    out: Out,
    mass: Mass = None,
    table: Table = Sex.MEAN,
    subject: Subject = None,
    friction: Friction = 0.8,
) -> None:
    """Make a take obey physics: feet that stand and bear the weight. Interrupted, it goes on next time."""
    from reconstruct.models.physics.anthropometry import Anthropometry
    from reconstruct.models.physics.friction import cone_basis
    from reconstruct.models.physics.library import pinocchio
    from tools.export import wanted_files, write_take
    from tools.physics.clean import BodyOptions, clean_motion
    from tools.physics.motion import UP, read_motion

    check_folders(*out)
    files = wanted_files(take, out, ())
    pinocchio()
    cone_basis(friction)
    with progress_bar("cleaning") as show:
        motion = read_motion(take, subject, show)
        part = files[0].file.with_name(f".{files[0].file.name}.clean.part")
        result = clean_motion(motion, BodyOptions(mass, Anthropometry(table), friction), part, show)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    for wanted in files:
        write_take(wanted, result.take, UP)
        typer.echo(f"{wanted.file}: {len(result.take)} frames ({wanted.format})")
