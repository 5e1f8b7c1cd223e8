"""`duocap sparse drag`: a natural pose from one that was dragged freely."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.options import ImportOptions, PoseAtoms, TakeFile, TakeFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseDragOptions:
    """Options of `duocap sparse drag`."""

    take: TakeFile
    dictionary: Annotated[Path, typer.Option(metavar="FILE.sparse", help="A dictionary (duocap sparse train).")]
    move: Annotated[
        list[str],
        typer.Option(
            metavar="JOINT=X,Y,Z", help="Drag a joint by so many metres in the world, however long its bones; repeatable."
        ),
    ]
    out: TakeFiles
    at: Annotated[float, typer.Option(metavar="S", help="Second of the take whose pose is dragged.")] = 0.0
    atoms: PoseAtoms = None
    imported: ImportOptions


@add_settings_options
def drag(settings: Settings, options: SparseDragOptions) -> None:
    """Find the natural pose nearest to one that was dragged: all joints count, dragged ones no more than others."""
    from stream.take.read import read_take
    from tools.export import plan_export_files, write_takes
    from tools.sparse.drag import drag_pose, parse_moves

    files = plan_export_files(options.take, options.out, ())
    moves = parse_moves(options.move)
    take = read_take(options.take, options.imported.read_hints(), typer.echo)
    result = drag_pose(take, options.at, moves, options.dictionary, options.atoms)
    for line in result.lines:
        typer.echo(line)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: 1 pose ({wanted.format})")
