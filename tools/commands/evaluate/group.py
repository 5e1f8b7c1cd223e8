"""`duocap evaluate`: the papers' tables and figures on real motions, against other methods in the same run."""

import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from config.files import write_together
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.evaluate.clips import ClipPart, asked_parts, measure_parts, print_lines, write_asked
from tools.commands.evaluate.forces import forces
from tools.commands.evaluate.missing import labels, missing
from tools.commands.evaluate.options import (
    AnyClips,
    C3d,
    Cameras,
    Clips,
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
from tools.commands.evaluate.poses import poses
from tools.commands.options import Scheduler, add_settings_options

app = typer.Typer()
app.command()(poses)
app.command()(forces)
app.command()(missing)
app.command()(labels)


@app.command()
@add_settings_options
def synthesis(
    settings: Settings,
    motion: Motion,
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


@app.command()
@add_settings_options
def search(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    sizes: Annotated[
        bool, typer.Option("--sizes", help="Also the cost against the size of the database, to 433,622 poses.")
    ] = False,
) -> None:
    """Nodes examined per query and error against exhaustive search: the paper's Table 1."""
    from database.store import open_database
    from tools.evaluate.protocol import protocol_database
    from tools.evaluate.search.measure import cost_lines, costs_by_size, measure_search, table_lines

    check_folders(json)
    table = open_database(protocol_database(motion, database))
    results = measure_search(motion, table, settings.solve, clip or ())
    print_lines(table_lines(results, table.n_poses, settings.solve.neighbours))
    costs = costs_by_size(motion, settings.solve) if sizes else ()
    if costs:
        print_lines(cost_lines(costs))
    with write_together():
        write_asked(json, {"clips": results, "sizes": costs})
        if plot is not None:
            from tools.evaluate.search.plot import plot_search

            print(f"wrote {plot_search(results, costs, plot)}")


@app.command()
@add_settings_options
def dimensionality(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer poses, rougher figures, in a minute.")] = False,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
) -> None:
    """Error against dimensions of global, clustered and local models: the paper's Figure 5."""
    from tools.evaluate.dimensionality.measure import measure_dimensionality, table
    from tools.evaluate.protocol import protocol_database

    check_folders(json)
    path, plan = protocol_database(motion, database), evaluation_plan(workers, scheduler)
    panels = measure_dimensionality(motion, path, settings.solve, clips=tuple(clip or ()), quick=quick, workers=plan)
    print_lines(table(panels))
    with write_together():
        write_asked(json, [panel.as_json() for panel in panels])
        if plot is not None:
            from tools.evaluate.dimensionality.plot import plot_dimensionality

            print(f"wrote {plot_dimensionality(panels, plot)}")


@app.command(name="end-to-end")
@add_settings_options
def end_to_end(
    settings: Settings,
    motion: Motion,
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


@app.command()
@add_settings_options
def filtering(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    seconds: Seconds = 5.0,
    markers: Markers = "boxing",
    recording: Annotated[
        Path | None,
        typer.Option(
            "--recording",
            metavar="DIR",
            help="A recorded T-pose: left.avi, right.avi, timestamps.csv, rig.toml, markers.toml.",
            show_default=False,
        ),
    ] = None,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """Jitter against delay of the output filter, error of predictions, gain of the smoother."""
    from tools.evaluate.filtering.measure import FilteringOptions, measure_filtering, report
    from tools.evaluate.protocol import protocol_database

    check_folders(json)
    path, plan = protocol_database(motion, database), evaluation_plan(workers, scheduler)
    options = FilteringOptions(motion, path, tuple(clip or ()), seconds, markers, recording, seed, plan)
    result = measure_filtering(options, settings)
    print_lines(report(result))
    with write_together():
        write_asked(json, result)
        if plot is not None:
            from tools.evaluate.filtering.plot import plot_filtering

            plot_filtering(result, plot)


@app.command()
@add_settings_options
def feet(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    seconds: Seconds = 10.0,
    markers: Markers = "boxing",
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """How far feet slide on the ground, before and after they are held, and what holding them costs."""
    from tools.evaluate.feet import FeetOptions, measure_feet, report

    check_folders(json)
    plan = evaluation_plan(workers, scheduler)

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        runs = measure_feet(FeetOptions(motion, part.database, part.clips, markers, seconds, seed, plan), settings)
        return report(runs, settings), runs

    write_asked(json, measure_parts(asked_parts(motion, database, clip, sets, skeleton), measure))


@app.command()
@add_settings_options
def acquisition(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    markers: Annotated[
        list[str] | None,
        typer.Option(
            "--markers",
            metavar="SET",
            help="Marker preset or markers.toml; repeatable; default boxing, locomotion, all_around.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, metavar="N", help="Returns tried of every case in every clip.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Only the plainest three cases.")] = False,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 0,
) -> None:
    """How soon and how rightly a performer is found among unlabelled points, at the start and after a loss."""
    from tools.evaluate.acquisition import CASES, HEAD, QUICK_CASES, AcquisitionOptions, measure_acquisition, row

    check_folders(json)
    cases, plan = QUICK_CASES if quick else CASES, evaluation_plan(workers, scheduler)

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        options = AcquisitionOptions(motion, part.database, part.clips, tuple(markers or ()), trials, cases, seed, plan)
        lines, entries = [HEAD], []
        for preset, found in measure_acquisition(options, settings):
            lines += [row(preset, case, found[case]) for case in cases]
            entries += [{"markers": preset, "case": str(case), "trials": tries} for case, tries in found.items()]
        return lines, entries

    write_asked(json, measure_parts(asked_parts(motion, database, clip, sets, skeleton), measure))


@app.command()
@add_settings_options
def posing(
    settings: Settings,
    motion: Motion,
    behaviour: Annotated[
        list[str] | None,
        typer.Option("--behaviour", metavar="NAME", help="Such as '07 walking'; repeatable; default all.", show_default=False),
    ] = None,
    poses: Annotated[int, typer.Option("--poses", min=1, metavar="N", help="Held-out poses of each behaviour.")] = 40,
    json: Json = None,
    plot: Plot = None,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
) -> None:
    """Whole poses from a few points in space or in an image: a style against nearest neighbour and plain inverse kinematics."""
    from tools.evaluate.posing.measure import PosingOptions, measure_posing
    from tools.evaluate.posing.table import report

    check_folders(json)
    outcomes = measure_posing(motion, PosingOptions(tuple(behaviour or ()), poses, workers=evaluation_plan(workers, scheduler)))
    print_lines(report(outcomes))
    with write_together():
        write_asked(json, [outcome.as_json() for outcome in outcomes])
        if plot is not None:
            from tools.evaluate.posing.plot import plot_outcomes

            for file in plot_outcomes(outcomes, plot):
                print(file, file=sys.stderr)
