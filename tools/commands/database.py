"""`duocap database`: get, build and extend motion databases, look into one, and choose which one all commands use."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from config.settings import Settings
from config.words import format_count
from tools.cli import Command
from tools.commands.declaration import add_settings_options
from tools.commands.options import ImportOptions, Scheduler, WorkerCount
from tools.progress import open_progress_bar, print_note

if TYPE_CHECKING:
    from tools.database.published import MotionCollection

app = typer.Typer()

Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE...", help="Motions (.amc, .bvh, .glb, .vrma), markers (.c3d, .trc), recordings, or folders of motions."
    ),
]
Fps = Annotated[float, typer.Option(help="Poses a second; best what the cameras give.")]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(metavar="CLIP...", help="Clips by file name (14_31, 32_*) or frames from 1 (14_02:3001-)."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be read, with a warning.")]
Processes = Annotated[int, typer.Option(help="How many files are read at once.")]
Mirrored = Annotated[
    bool, typer.Option("--mirrored", help="Search the mirror image of every pose, too; it takes no room in the database.")
]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseGetOptions:
    """Options of `duocap database get`."""

    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which collection, as --list says.")] = None
    listed: Annotated[bool, typer.Option("--list", help="List what there is: sizes, licences, contents.")] = False
    given: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="Archive on this disk, or folder of them; repeatable."),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", help="Agree to the licence.")] = False
    fps: Fps = 60.0
    processes: Processes = 2


@app.command()
@add_settings_options
def get(settings: Settings, options: DatabaseGetOptions) -> None:
    """Download published motions, build a database of them and make it the default of all commands; stopped, it goes on."""
    from database.store import open_database
    from tools.database.get import GetTask, get_database
    from tools.database.published import COLLECTIONS
    from tools.interrupt import raise_on_interrupt

    if options.listed:
        typer.echo("\n".join(_collection_lines()))
        return
    collection = COLLECTIONS.get(options.name or "")
    if collection is None:
        raise typer.BadParameter(f"expected one of {', '.join(COLLECTIONS)} (duocap database get --list)", param_hint="NAME")
    _agree(collection, options.yes)
    task = GetTask(collection, tuple(options.given or ()), settings.database.mirror, options.fps, options.processes)
    try:
        with raise_on_interrupt(), open_progress_bar("reading") as show:
            out = get_database(task, show, print_note)
    except KeyboardInterrupt:
        typer.echo(f"stopped; `duocap database get {collection.name}` goes on from there", err=True)
        raise
    _tell(out, [*open_database(out).notes])
    typer.echo(f"{collection.name} is the default of all commands now; another one: duocap database use")


def _collection_lines() -> list[str]:
    """Return what can be got, two lines a collection and its terms."""
    from tools.database.published import COLLECTIONS

    lines: list[str] = []
    for collection in COLLECTIONS.values():
        size = f"about {collection.download_mb} MB to download, {collection.unpacked_mb} MB while it is built"
        lines += [f"{collection.name}: {collection.contents}", f"    {size}; {collection.publisher}", f"    {collection.terms}"]
    return lines


def _agree(collection: "MotionCollection", yes: bool) -> None:
    """Show the licence, once, and have it agreed to. Raises DatabaseError: it is not."""
    from config.errors import DatabaseError
    from tools.database.get import make_collection_folder, read_collection_record

    folder = make_collection_folder(collection)
    record = read_collection_record(folder)
    if record.agreed:
        return
    typer.echo("\n".join(collection.licence_lines()), err=True)
    if not yes:
        if not sys.stdin.isatty():
            raise DatabaseError(f"{collection.name}: its licence is not agreed to; read it above, and say so with --yes")
        if typer.prompt("Agreed? Type yes", default="no", err=True).strip().lower() != "yes":
            raise DatabaseError(f"{collection.name}: its licence is not agreed to; nothing is downloaded")
    record.agreed = True
    record.write(folder)


@app.command()
@add_settings_options
def use(_settings: Settings, name: Annotated[str, typer.Argument(help="A name of `list`, a file, or builtin.")]) -> None:
    """Make a database the default of all commands."""
    from tools.database.installed import BUILTIN, choose_database, find_database

    path = None if name == BUILTIN else find_database(name)
    choose_database(path)
    typer.echo(f"default of all commands: {'the built-in motions' if path is None else f'{path}: {_size(path)}'}")


@app.command(name="list")
@add_settings_options
def list_databases(_settings: Settings) -> None:
    """List the databases in the user's folder; the default of all commands has a star."""
    from tools.database.installed import BUILTIN, find_chosen_database, find_databases, find_databases_folder

    chosen = find_chosen_database()
    paths = find_databases()
    typer.echo(f"{'*' if chosen is None else ' '} {BUILTIN}: enough to try things out")
    for path in paths if chosen is None or chosen in paths else [*paths, chosen]:
        typer.echo(f"{'*' if path == chosen else ' '} {path.stem}: {_size(path)} ({path})")
    typer.echo(f"folder: {find_databases_folder()}")


def _size(path: Path) -> str:
    """Return how large a database is, or what is wrong with it."""
    from config.errors import DatabaseError
    from database.store import open_database

    try:
        database = open_database(path)
    except DatabaseError as error:
        return str(error)
    clips, poses = format_count(database.n_clips, "clip"), format_count(database.n_poses, "pose")
    size = f"{clips}, {poses} at {database.fps:g} Hz, {_bytes_of(path) / 1e6:.1f} MB"
    files = f", {format_count(len(database.parts), 'file')}" if database.parts else ""
    thinned = _thinning(path)
    return f"{size}{files}{', mirrored' * database.mirrored}{', thinned ' * bool(thinned)}{thinned}"


def _thinning(path: Path) -> str:
    """Return to what a database was thinned, empty: it was not."""
    import math

    from database.parts import read_thinning_rad

    found = read_thinning_rad(path)
    text = " and ".join(f"{math.degrees(angle):g}" for angle in found if angle)
    return f"to {text} degrees{', some files not' if found[0] == 0.0 else ''}" if text else ""


@app.command()
@add_settings_options
def remove(_settings: Settings, name: Annotated[str, typer.Argument(help="A name of `list`.")]) -> None:
    """Remove a database of the user's folder, and the archives it was made of."""
    from tools.database.installed import remove_database

    typer.echo("\n".join(remove_database(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseBuildOptions:
    """Options of `duocap database build`."""

    sources: Sources
    out: Annotated[Path, typer.Option(metavar="FILE", help="The database to write.")]
    fps: Fps = 60.0
    leave_out: LeaveOut = None
    skip_bad: SkipBad = False
    processes: Processes = 2
    no_graph: Annotated[
        bool, typer.Option("--no-graph", help="Leave the neighbour graph out; every search then looks at all poses.")
    ] = False
    thin: Annotated[
        str, typer.Option(metavar="ANGLE", help="Leave out poses nearer than this, in every joint, to one kept, such as 2deg.")
    ] = "0deg"
    parts: Annotated[int, typer.Option(min=1, help="Files to divide it among; less memory, and stopped, it goes on.")] = 1
    mirrored: Mirrored = False
    workers: WorkerCount = None
    scheduler: Scheduler = ""
    imported: ImportOptions


@app.command(cls=_ListCommand)
@add_settings_options
def build(_settings: Settings, options: DatabaseBuildOptions) -> None:
    """Build one database from motion files; with --workers or --scheduler its --parts are shared among processes."""
    from database.build import build_database
    from database.parts import BuildOptions, build_in_parts
    from tools.database.recorded import open_sources

    thin_rad, share = _angle_rad(options.thin), None
    if options.workers is not None or options.scheduler:
        from tools.cluster import WorkerPlan
        from tools.database.shared import create_worker_build

        if options.parts == 1:
            raise typer.BadParameter("expected --parts, the files that are shared among workers", param_hint="--workers")
        share = create_worker_build(WorkerPlan(options.workers, options.scheduler))
    with open_sources(options.sources, options.imported.read_hints()) as sources, open_progress_bar("reading") as show:
        if options.parts > 1 or options.mirrored:
            how = BuildOptions(options.fps, options.skip_bad, options.processes, not options.no_graph, thin_rad)
            report = build_in_parts(
                sources, options.out, options.parts, how, options.leave_out or [], show, options.mirrored, share
            )
        else:
            report = build_database(
                sources,
                options.out,
                options.fps,
                options.leave_out or [],
                show,
                options.skip_bad,
                options.processes,
                not options.no_graph,
                thin_rad,
            )
    _tell(options.out, report.lines())


def _angle_rad(text: str) -> float:
    """Return an angle such as `2deg` [rad]."""
    import math

    try:
        degrees = float(text.strip().removesuffix("deg"))
    except ValueError:
        degrees = math.nan
    if not 0.0 <= degrees <= 45.0:
        raise typer.BadParameter(f"{text}: expected degrees from 0 to 45, such as 2deg", param_hint="--thin")
    return math.radians(degrees)


@app.command()
@add_settings_options
def join(
    _settings: Settings,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The database to make.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Databases at one rate; they stay where they are.")],
    mirrored: Mirrored = False,
) -> None:
    """Make one database of several, which are searched as one."""
    from database.store import list_database_files, write_parts

    write_parts(out, [part for file in files for part in list_database_files(file)], mirrored)
    _tell(out, [])


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddOptions:
    """Options of `duocap database add`."""

    file: File
    sources: Sources
    leave_out: LeaveOut = None
    skip_bad: SkipBad = False
    processes: Processes = 2
    imported: ImportOptions


@app.command(cls=_ListCommand)
@add_settings_options
def add(_settings: Settings, options: DatabaseAddOptions) -> None:
    """Add motion files to a database, and take them into its neighbour graph."""
    from database.build import add_to_database
    from database.parts import add_part
    from database.store import is_of_parts
    from tools.database.recorded import open_sources

    with open_sources(options.sources, options.imported.read_hints()) as sources, open_progress_bar("reading") as show:
        extend = add_part if is_of_parts(options.file) else add_to_database
        report = extend(options.file, sources, options.leave_out or [], show, options.skip_bad, options.processes)
    _tell(options.file, report.lines())


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseGraphOptions:
    """Options of `duocap database graph`."""

    file: File
    camera_fps: Annotated[float, typer.Option(help="Frames a second of the cameras (f_c of eq. 4).")] = 60.0
    degree: Annotated[int, typer.Option(min=0, max=1000, help="Neighbours drawn for each pose from those in reach.")] = 16
    seed: Annotated[int, typer.Option(min=0, help="What decides which are drawn.")] = 0


@app.command()
@add_settings_options
def graph(_settings: Settings, options: DatabaseGraphOptions) -> None:
    """Build the neighbour graph of a database anew, or of one that has none."""
    from database.graph.build import store_graph

    with open_progress_bar("reading") as show:
        store_graph(options.file, options.camera_fps, options.degree, options.seed, show)
    _tell(options.file, [])


def _tell(file: Path, lines: list[str]) -> None:
    """Print what was done and what the database has become."""
    from database.graph.neighbours import find_graph, summarise_graph
    from database.store import open_database

    database = open_database(file)
    neighbours = find_graph(database)
    if neighbours is not None:
        lines = [*lines, f"neighbour graph: {summarise_graph(neighbours).line()}"]
    for line in lines:
        typer.echo(line)
    mirrored = ", searched in their mirror images, too" if database.mirrored else ""
    typer.echo(f"{file}: {database.n_poses} poses at {database.fps:g} Hz{mirrored}, {_bytes_of(file) / 1e6:.1f} MB")


def _bytes_of(file: Path) -> int:
    """Return the size of a database with its parts."""
    from database.store import list_database_files

    return sum(path.stat().st_size for path in {file, *list_database_files(file)})


@app.command()
@add_settings_options
def info(_settings: Settings, file: File) -> None:
    """Show what a database holds, and whether it is whole."""
    from config.errors import DatabaseError
    from database.graph.neighbours import NAMES, find_graph, summarise_graph
    from database.store import find_damaged_arrays, open_database

    database = open_database(file)
    made_here = int(database.generated.sum())
    neighbours = find_graph(database)
    heights = sorted(skeleton.height_m for skeleton in database.skeletons)
    rows = {
        "clips": f"{database.n_clips - made_here} captured, {made_here} generated",
        "poses": f"{database.n_poses} at {database.fps:g} Hz ({database.n_poses / database.fps / 60:.1f} minutes)",
        "skeletons": f"{len(heights)}, {heights[0]:.2f} to {heights[-1]:.2f} m tall",
        "thinned": _thinning(file) or "no",
        "mirrored": "searched in the mirror images of its poses, too" if database.mirrored else "no",
        "files": ", ".join(f"{part.path} ({part.n_poses} poses)" for part in database.parts) or "this one",
        "size": f"{_bytes_of(file) / 1e6:.1f} MB",
        "graph": "none" if neighbours is None else summarise_graph(neighbours).line(),
        "more": ", ".join(sorted(set(database.extra) - set(NAMES))) or "nothing",
    }
    for name, value in rows.items():
        typer.echo(f"{name:<10} {value}")
    for note in database.notes:
        typer.echo(f"{'note':<10} {note}")
    damaged = find_damaged_arrays(file)
    if damaged:
        raise DatabaseError(f"{file}: {', '.join(damaged)} differ from their checksums; copy or build it again")
    typer.echo(f"{'checksum':<10} ok")
