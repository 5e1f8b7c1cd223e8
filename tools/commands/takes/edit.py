"""`duocap edit`: parts of a take, smoothed, filled, relabelled, as a new recording; other names, deleting and bringing back."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import Settings
from config.words import format_count
from tools.arguments import open_database_or_default
from tools.commands.declaration import add_settings_options
from tools.commands.options import Database

if TYPE_CHECKING:
    from stream.edit.edits import Edit

SpanS = tuple[float, float]
TIMES = "SECONDS SECONDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """Options of `duocap edit`."""

    take: Annotated[Path, typer.Argument(metavar="TAKE", help="A recording (.mcap), a session's folder, or a motion file.")]
    trim: Annotated[SpanS | None, typer.Option(metavar=TIMES, help="Keep what is between two times.")] = None
    cut: Annotated[SpanS | None, typer.Option(metavar=TIMES, help="Take out what is between two times.")] = None
    split: Annotated[float | None, typer.Option(metavar="SECONDS", help="Write two takes, before and from a time on.")] = None
    smooth: Annotated[float | None, typer.Option(metavar="SECONDS", help="Smooth over this window, such as 0.2.")] = None
    fill: Annotated[SpanS | None, typer.Option(metavar=TIMES, help="Replace the poses between two times; how: --by.")] = None
    by: Annotated[
        Literal["motion", "database"],
        typer.Option(help="Fill by the motion on both sides, or by the markers and the nearest poses of the database."),
    ] = "motion"
    relabel: Annotated[
        SpanS | None, typer.Option(metavar=TIMES, help="Exchange the labels of --markers between two times, and solve again.")
    ] = None
    markers: Annotated[
        str | None, typer.Option(metavar="NAME[=NAME]", help="With --relabel: the two markers; one alone is dropped.")
    ] = None
    database: Database = None
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The new recording; by default beside the take.")] = None
    rename: Annotated[str | None, typer.Option(metavar="NAME", help="Give the take another name.")] = None
    delete: Annotated[bool, typer.Option("--delete", help="Move the take to the folder `deleted` beside it.")] = False
    restore: Annotated[bool, typer.Option("--restore", help="Bring a take back out of the folder `deleted`.")] = False


@add_settings_options
def edit(settings: Settings, options: EditOptions) -> None:
    """Edit a take: trim, cut, split, smooth, fill, relabel; the original stays, the result is a new recording."""
    edits = _collect_edits(options)
    moved = sum((options.rename is not None, options.delete, options.restore))
    if moved > 1 or (moved and (edits or options.split is not None)):
        raise typer.BadParameter("--rename, --delete and --restore are each given alone")
    if moved:
        typer.echo(_move(options))
        return
    if not edits and options.split is None:
        raise DuocapError("nothing to do; give --trim 2 8, --cut, --split, --smooth, --fill, --relabel, --rename or --delete")
    _edit_take(options, edits)


def _edit_take(options: EditOptions, edits: "Sequence[Edit]") -> None:
    """Write a take after edits to a new recording, or to two, and say what was done. Raises DuocapError."""
    from stream.edit.edits import apply_edit, describe_edit, split_recording, write_edited
    from stream.edit.files import find_free_file, name_edited_file
    from stream.recording.recording import open_recording
    from stream.take.read import find_recording

    with tempfile.TemporaryDirectory(prefix="duocap-edit-") as folder:
        recording = open_recording(find_recording(options.take, Path(folder)))
        for edit in edits:
            recording = apply_edit(recording, edit, partial(open_database_or_default, options.database))
        parts = [recording] if options.split is None else list(split_recording(recording, options.split))
        file = options.out or name_edited_file(options.take)
        written = [write_edited(file, parts[0])]
        written += [write_edited(find_free_file(file), part) for part in parts[1:]]
        for edit in edits:
            typer.echo(describe_edit(edit))
        for path, part in zip(written, parts, strict=True):
            typer.echo(f"{path}: {format_count(len(part.poses), 'pose')}, {part.duration_s:.2f} s")


def _collect_edits(options: EditOptions) -> "list[Edit]":
    """Return the edits in an order in which all times are those of the take as it is given."""
    from stream.edit.edits import Cut, Fill, Relabel, Smooth, SpanFill, Trim

    if (options.relabel is None) != (options.markers is None):
        raise typer.BadParameter("--relabel and --markers belong together: --relabel 2 3 --markers left_hand=right_hand")
    edits: list[Edit] = []
    if options.relabel is not None and options.markers is not None:
        marker, _, other = options.markers.partition("=")
        edits.append(Relabel(*options.relabel, marker.strip(), other.strip()))
    if options.fill is not None:
        edits.append(Fill(*options.fill, SpanFill(options.by)))
    if options.smooth is not None:
        edits.append(Smooth(options.smooth))
    if options.cut is not None:
        edits.append(Cut(*options.cut))
    if options.trim is not None:
        edits.append(Trim(*options.trim))
    return edits


def _move(options: EditOptions) -> str:
    """Rename, delete or bring back, and say what was done."""
    from stream.edit.files import delete_take, rename_take, restore_take

    if not options.take.exists():
        raise DuocapError(f"{options.take}: no such take")
    if options.rename is not None:
        return f"now {rename_take(options.take, options.rename)}"
    if options.restore:
        return f"brought back: {restore_take(options.take)}"
    place = delete_take(options.take)
    return f"moved to {place}; bring it back with: duocap edit '{place}' --restore"
