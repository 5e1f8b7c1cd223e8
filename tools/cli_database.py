"""`duocap database`: build a motion database, or look into one."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from config.settings import Settings
from tools.options import with_settings

app = typer.Typer()

Sources = Annotated[
    list[Path], typer.Argument(metavar="SOURCE...", help="Motion files (.amc, .bvh), or folders that are searched for them.")
]
Out = Annotated[Path, typer.Option(metavar="FILE", help="The database to write.")]
Fps = Annotated[float, typer.Option(help="Poses a second; best what the cameras give.")]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(metavar="CLIP...", help="Clips by file name (14_31, 32_*) or frames from 1 (14_02:3001-).", show_default=False),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be read, with a warning.")]
Processes = Annotated[int, typer.Option(help="How many files are read at once.")]
LEAVE_OUT = "--leave-out"


def repeated(words: list[str]) -> list[str]:
    """Give `--leave-out A --leave-out B` for `--leave-out A B`; a word that names an existing file ends the list."""
    out: list[str] = []
    for word in words:
        listed = len(out) > 1 and out[-2] == LEAVE_OUT
        if listed and not word.startswith("-") and not Path(word).exists():
            out.append(LEAVE_OUT)
        out.append(word)
    return out


class _ListCommand(TyperCommand):
    """A command whose --leave-out takes several values at once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spell the list out before the options are read."""
        return super().parse_args(ctx, repeated(args))


@app.command(cls=_ListCommand)
@with_settings
def build(
    _settings: Settings,
    sources: Sources,
    out: Out,
    fps: Fps = 60.0,
    leave_out: LeaveOut = None,
    skip_bad: SkipBad = False,
    processes: Processes = 2,
) -> None:
    """Build one database from motion files."""
    from rich.progress import Progress

    from database.build import build_database
    from database.store import open_database

    with Progress(transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        report = build_database(sources, out, fps, leave_out or [], show, skip_bad, processes)
    for line in report.lines():
        typer.echo(line)
    database = open_database(out)
    typer.echo(f"{out}: {database.n_poses} poses at {database.fps:g} Hz, {out.stat().st_size / 1e6:.1f} MB")


@app.command()
@with_settings
def info(_settings: Settings, file: Annotated[Path, typer.Argument(metavar="FILE", help="A database.")]) -> None:
    """Show what a database holds, and whether it is whole."""
    from config.errors import DatabaseError
    from database.store import damaged_arrays, open_database

    database = open_database(file)
    made_here = int(database.generated.sum())
    heights = sorted(skeleton.height_m for skeleton in database.skeletons)
    rows = {
        "clips": f"{database.n_clips - made_here} captured, {made_here} generated",
        "poses": f"{database.n_poses} at {database.fps:g} Hz ({database.n_poses / database.fps / 60:.1f} minutes)",
        "skeletons": f"{len(heights)}, {heights[0]:.2f} to {heights[-1]:.2f} m tall",
        "size": f"{file.stat().st_size / 1e6:.1f} MB",
        "graph": ", ".join(sorted(database.extra)) or "none",
    }
    for name, value in rows.items():
        typer.echo(f"{name:<10} {value}")
    for note in database.notes:
        typer.echo(f"{'note':<10} {note}")
    damaged = damaged_arrays(file)
    if damaged:
        raise DatabaseError(f"{file}: {', '.join(damaged)} differ from their checksums; copy or build it again")
    typer.echo(f"{'checksum':<10} ok")
