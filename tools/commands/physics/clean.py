"""`duocap physics clean`: a take made physically sound."""

from dataclasses import dataclass

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import ForceTakeFiles, ImportOptions
from tools.commands.physics.options import MotionFile, PhysicsBodyOptions
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsCleanOptions:
    """Options of `duocap physics clean`."""

    take: MotionFile
    out: ForceTakeFiles
    body: PhysicsBodyOptions
    imported: ImportOptions


@add_settings_options
def clean(settings: Settings, options: PhysicsCleanOptions) -> None:
    """Make a take obey physics: feet that stand and bear the weight. Interrupted, it goes on next time."""
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.friction import build_cone_basis
    from tools.export import plan_export_files, write_takes
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
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} frames ({wanted.format})")
