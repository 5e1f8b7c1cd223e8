"""`duocap sparse complete`: whole poses from a few points."""

from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, with_settings

DictionaryFile = Annotated[
    Path, typer.Argument(metavar="FILE.sparse", help="A dictionary (duocap sparse train).", show_default=False)
]
ConstraintsFile = Annotated[
    Path,
    typer.Option("--constraints", metavar="FILE", help="What is asked: a TOML as in docs/style.md.", show_default=False),
]
Out = Annotated[
    list[Path],
    typer.Option("--out", metavar="FILE", help="Write .bvh, .csv, .glb, .vrma or .trc; repeatable.", show_default=False),
]
RigFile = Annotated[
    Path | None, typer.Option("--rig", metavar="FILE", help="The cameras that image points are in: rig.toml.", show_default=False)
]
SkeletonFile = Annotated[
    Path | None,
    typer.Option("--skeleton", metavar="FILE", help="Pose this body instead: subject.toml.", show_default=False),
]
Fps = Annotated[float, typer.Option("--fps", min=1.0, max=240.0, help="Frames a second of what is written.")]


@with_settings
def complete(
    settings: Settings,
    dictionary: DictionaryFile,
    constraints: ConstraintsFile,
    out: Out,
    rig: RigFile = None,
    skeleton: SkeletonFile = None,
    fps: Fps = 30.0,
) -> None:
    """Complete poses of which a few points are known, in space or in pictures."""
    from tools.export import wanted_files, write_take
    from tools.sparse.complete import CompletionTask, completed

    check_folders(*out)
    files = wanted_files(dictionary, out, ())
    if any(file.resolve() == constraints.resolve() for file in out):
        raise DuocapError("--out would replace the file of constraints; choose another name with --out")
    result = completed(CompletionTask(dictionary, constraints, rig, skeleton, fps))
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    for wanted in files:
        write_take(wanted, result.take, result.up)
        typer.echo(f"{wanted.file}: {len(result.take)} pose{'s' if len(result.take) > 1 else ''} ({wanted.format})")
