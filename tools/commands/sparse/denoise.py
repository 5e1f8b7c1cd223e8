"""`duocap sparse denoise`: clean the poses of a take."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import ImportOptions, TakeFile, TakeFiles
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseDenoiseOptions:
    """Options of `duocap sparse denoise`."""

    take: TakeFile
    dictionary: Annotated[
        Path,
        typer.Option(metavar="FILE.sparse", help="A dictionary (duocap sparse train)."),
    ]
    out: TakeFiles
    noise: Annotated[
        float | None,
        typer.Option(metavar="MM", help="Deviation of the noise of a joint; default as estimated."),
    ] = None
    imported: ImportOptions


@add_settings_options
def denoise(settings: Settings, options: SparseDenoiseOptions) -> None:
    """Clean a take: noise in all joints, and single joints that are wild. Says what it changed."""
    from config.errors import DuocapError
    from stream.take.read import read_take
    from tools.export import plan_export_files, write_takes
    from tools.sparse.denoise import denoise_take

    check_folders(*options.out)
    files = plan_export_files(options.take, options.out, ())
    if options.noise is not None and not 0.1 <= options.noise <= 500.0:
        raise DuocapError(f"--noise {options.noise:g}: must be from 0.1 to 500 mm")
    before = read_take(options.take, options.imported.read_hints(), typer.echo)
    with open_progress_bar("cleaning") as show:
        result = denoise_take(before, options.dictionary, None if options.noise is None else 1e-3 * options.noise, show)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} frames ({wanted.format})")
