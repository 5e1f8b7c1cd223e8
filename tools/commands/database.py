"""`duocap database`: build a motion database, add to one, or look into one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from config.settings import Settings
from tools.arguments import with_settings
from tools.cli import Command

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
NoGraph = Annotated[bool, typer.Option("--no-graph", help="Leave the neighbour graph out; every search then looks at all poses.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A database.")]
LEAVE_OUT = "--leave-out"


def repeated(words: list[str]) -> list[str]:
    """Return `--leave-out A --leave-out B` for `--leave-out A B`; a word that names an existing file ends the list."""
    out: list[str] = []
    for word in words:
        listed = len(out) > 1 and out[-2] == LEAVE_OUT
        if listed and not word.startswith("-") and not Path(word).exists():
            out.append(LEAVE_OUT)
        out.append(word)
    return out


class _ListCommand(Command):
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
    no_graph: NoGraph = False,
) -> None:
    """Build one database from motion files."""
    from database.build import build_database

    with _bar() as show:
        report = build_database(sources, out, fps, leave_out or [], show, skip_bad, processes, not no_graph)
    _tell(out, report.lines())


@app.command(cls=_ListCommand)
@with_settings
def add(
    _settings: Settings,
    file: File,
    sources: Sources,
    leave_out: LeaveOut = None,
    skip_bad: SkipBad = False,
    processes: Processes = 2,
) -> None:
    """Add motion files to a database, and take them into its neighbour graph."""
    from database.build import add_to_database

    with _bar() as show:
        report = add_to_database(file, sources, leave_out or [], show, skip_bad, processes)
    _tell(file, report.lines())


@app.command()
@with_settings
def graph(
    _settings: Settings,
    file: File,
    camera_fps: Annotated[float, typer.Option(help="Frames a second of the cameras (f_c of eq. 4).")] = 60.0,
    degree: Annotated[int, typer.Option(min=0, max=1000, help="Neighbours drawn for each pose from those in reach.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="What decides which are drawn.")] = 0,
) -> None:
    """Build the neighbour graph of a database anew, or of one that has none."""
    from database.graph.build import store_graph

    with _bar() as show:
        store_graph(file, camera_fps, degree, seed, show)
    _tell(file, [])


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None]]:
    """Return a function that shows what is done, of how much, and the name of it."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)


def _tell(file: Path, lines: list[str]) -> None:
    """Print what was done and what the database has become."""
    from database.graph.neighbours import graph_of, graph_summary
    from database.store import open_database

    database = open_database(file)
    neighbours = graph_of(database)
    if neighbours is not None:
        lines = [*lines, f"neighbour graph: {graph_summary(neighbours).line()}"]
    for line in lines:
        typer.echo(line)
    typer.echo(f"{file}: {database.n_poses} poses at {database.fps:g} Hz, {file.stat().st_size / 1e6:.1f} MB")


@app.command()
@with_settings
def info(_settings: Settings, file: File) -> None:
    """Show what a database holds, and whether it is whole."""
    from config.errors import DatabaseError
    from database.graph.neighbours import NAMES, graph_of, graph_summary
    from database.store import damaged_arrays, open_database

    database = open_database(file)
    made_here = int(database.generated.sum())
    neighbours = graph_of(database)
    heights = sorted(skeleton.height_m for skeleton in database.skeletons)
    rows = {
        "clips": f"{database.n_clips - made_here} captured, {made_here} generated",
        "poses": f"{database.n_poses} at {database.fps:g} Hz ({database.n_poses / database.fps / 60:.1f} minutes)",
        "skeletons": f"{len(heights)}, {heights[0]:.2f} to {heights[-1]:.2f} m tall",
        "size": f"{file.stat().st_size / 1e6:.1f} MB",
        "graph": "none" if neighbours is None else graph_summary(neighbours).line(),
        "more": ", ".join(sorted(set(database.extra) - set(NAMES))) or "nothing",
    }
    for name, value in rows.items():
        typer.echo(f"{name:<10} {value}")
    for note in database.notes:
        typer.echo(f"{'note':<10} {note}")
    damaged = damaged_arrays(file)
    if damaged:
        raise DatabaseError(f"{file}: {', '.join(damaged)} differ from their checksums; copy or build it again")
    typer.echo(f"{'checksum':<10} ok")
