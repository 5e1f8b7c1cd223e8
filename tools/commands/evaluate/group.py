"""`duocap evaluate`: errors on clips of one's own and on published motions, beside other methods in the same run."""

from collections.abc import Iterable
from time import perf_counter

import typer

from config.files import write_together
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.evaluate.clips import ClipPart, asked_parts, measure_parts, write_asked
from tools.commands.evaluate.forces import forces
from tools.commands.evaluate.missing import labels, missing
from tools.commands.evaluate.options import (
    AnyClips,
    C3d,
    Cameras,
    Database,
    EvaluationWorkers,
    Json,
    Markers,
    Methods,
    Motion,
    Occlude,
    OccludeEach,
    Plot,
    Seconds,
    Seed,
    Sets,
    Skeleton,
    TrueSubject,
    Variants,
    evaluation_plan,
)
from tools.commands.options import Scheduler, add_settings_options

app = typer.Typer()
app.command()(forces)
app.command()(missing)
app.command()(labels)

# What moved to the benchmarks, with the tables that it is there.
MOVED = {
    "search": "search search-sizes",
    "dimensionality": "dimensionality",
    "filtering": "filters prediction smoother",
    "feet": "feet",
    "acquisition": "acquisition",
    "posing": "posing posing-reach",
    "poses": "restoring-1 restoring-2 restoring-3 restoring-4",
}
ANY_WORDS = {"ignore_unknown_options": True, "allow_extra_args": True}


def _register_moved(name: str, tables: str) -> None:
    """Add a command that says where the one of its name went; it takes any words and is not in the help."""

    @app.command(name, hidden=True, add_help_option=False, context_settings=ANY_WORDS)
    def moved() -> None:
        command = f"python -m benchmarks.papers {tables} --motion DIR"
        typer.echo(f"duocap evaluate {name} is now among the benchmarks, run from the source folder: {command}", err=True)
        raise typer.Exit(2)


for _name, _tables in MOVED.items():
    _register_moved(_name, _tables)


@app.command()
@add_settings_options
def synthesis(
    settings: Settings,
    motion: Motion = None,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    seconds: Seconds = 20.0,
    markers: Markers = "boxing",
    variant: Variants = None,
    method: Methods = None,
    c3d: C3d = None,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """Error of the poses per behaviour: nearest neighbour, regression, the paper's model, ours."""
    from tools.evaluate.methods import check_methods
    from tools.evaluate.queries import check_variants
    from tools.evaluate.synthesis.measure import SynthesisOptions, measure_synthesis
    from tools.evaluate.synthesis.table import report
    from tools.evaluate.synthesis.vicon import find_c3d

    check_folders(json)
    check_variants(variant or ())
    check_methods(method or ())
    plan = evaluation_plan(workers, scheduler)
    what = (seconds, markers, tuple(variant or ()), tuple(method or ()))

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        options = SynthesisOptions(motion, part.database, part.clips, *what, c3d or find_c3d(motion), plan, seed)
        runs = measure_synthesis(options, settings.solve)
        if plot is not None:
            from tools.evaluate.synthesis.plot import plot_runs

            plot_runs(runs, plot / part.title)
        return report(runs, perf_counter() - begin_s), [run.as_json() for run in runs]

    parts = asked_parts(motion, database, clip, sets, skeleton)  # first: a database that is built for them is read again
    with write_together():
        write_asked(json, measure_parts(parts, measure))


@app.command(name="end-to-end")
@add_settings_options
def end_to_end(
    settings: Settings,
    motion: Motion = None,
    database: Database = None,
    json: Json = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    seconds: Seconds = 20.0,
    markers: Markers = "boxing",
    cameras: Cameras = 2,
    occlude: Occlude = None,
    occlude_each: OccludeEach = False,
    true_subject: TrueSubject = False,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """Real motions rendered as videos of one to eight cameras and reconstructed again."""
    from config.errors import DuocapError
    from tools.evaluate.rendered import RenderedOptions, measure_rendered, report

    check_folders(json)
    shares = tuple(occlude or (0.0,))
    options = RenderedOptions(markers, seconds, 0.0, true_subject, seed, cameras, occlude_each)
    plan = evaluation_plan(workers, scheduler)
    failed: list[str] = []

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        found = measure_rendered(motion, part.database, settings, options, clips=part.clips, occlude=shares, workers=plan)
        failed.extend(found.failed if not found.results else ())
        return report(found), found.results

    write_asked(json, measure_parts(asked_parts(motion, database, clip, sets, skeleton), measure))
    if failed:
        raise DuocapError(f"no clip could be measured; {failed[0]}")
