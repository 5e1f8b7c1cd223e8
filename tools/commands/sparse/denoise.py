"""`duocap sparse denoise`: clean the poses of a take."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import add_settings_options, check_folders
from tools.progress import open_progress_bar

TakeFile = Annotated[
    Path, typer.Argument(metavar="TAKE", help="A motion (.bvh, .amc with its .asf) or recording (.mcap).", show_default=False)
]
DictionaryFile = Annotated[
    Path,
    typer.Option("--dictionary", metavar="FILE.sparse", help="A dictionary (duocap sparse train).", show_default=False),
]
Out = Annotated[
    list[Path],
    typer.Option("--out", metavar="FILE", help="Write .bvh, .csv, .glb, .vrma or .trc; repeatable.", show_default=False),
]
Noise = Annotated[
    float | None,
    typer.Option("--noise", metavar="MM", help="Deviation of the noise of a joint; default as estimated.", show_default=False),
]


@add_settings_options
def denoise(settings: Settings, take: TakeFile, dictionary: DictionaryFile, out: Out, noise: Noise = None) -> None:
    """Clean a take: noise in all joints, and single joints that are wild. Says what it changed."""
    from config.errors import DuocapError
    from stream.export.read import read_take
    from tools.export import plan_export_files, write_takes
    from tools.sparse.denoise import denoise_take

    check_folders(*out)
    files = plan_export_files(take, out, ())
    if noise is not None and not 0.1 <= noise <= 500.0:
        raise DuocapError(f"--noise {noise:g}: must be from 0.1 to 500 mm")
    before = read_take(take)
    with open_progress_bar("cleaning") as show:
        result = denoise_take(before, dictionary, None if noise is None else 1e-3 * noise, show)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} frames ({wanted.format})")
