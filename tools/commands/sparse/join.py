"""`duocap sparse join`: one dictionary of several."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import DictionaryFile, ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseJoinOptions:
    """Options of `duocap sparse join`."""

    dictionaries: Annotated[
        list[Path], typer.Argument(metavar="FILE.sparse...", help="Dictionaries; the body is the first one's.")
    ]
    out: DictionaryFile
    name: ModelName = None


@add_settings_options
def join(_settings: Settings, options: SparseJoinOptions) -> None:
    """Join dictionaries that were learned apart: it knows the poses of all."""
    from config.errors import DuocapError
    from reconstruct.models.sparse.model import SUFFIX, join_pose_dictionaries, read_dictionary, write_dictionary

    if len(options.dictionaries) < 2:
        raise DuocapError("one dictionary has nothing to be joined with; give two or more")
    if options.out.suffix.lower() != SUFFIX:
        raise DuocapError(f"--out {options.out}: a dictionary's file ends with {SUFFIX}; give a name such as all{SUFFIX}")
    check_folders(options.out)
    joined = join_pose_dictionaries([read_dictionary(file) for file in options.dictionaries], options.name or options.out.stem)
    write_dictionary(options.out, joined)
    typer.echo(
        f"{options.out}: {len(joined.dictionary)} atoms of {len(options.dictionaries)} dictionaries, {joined.n_poses} poses"
    )
