"""`duocap evaluate missing` and `labels`: poses, and labels, while markers are missing and after."""

from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from config.files import write_together
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.evaluate.clips import ClipPart, asked_parts, measure_parts, write_asked
from tools.commands.evaluate.options import (
    AnyClips,
    Cases,
    Database,
    EvaluationWorkers,
    Json,
    MarkerSets,
    Motion,
    Plot,
    Seconds,
    Seed,
    Sets,
    Skeleton,
    evaluation_plan,
)
from tools.commands.options import Scheduler, add_settings_options


@add_settings_options
def missing(
    settings: Settings,
    motion: Motion = None,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    markers: MarkerSets = None,
    case: Cases = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="hold, linear, local, synthesis, fixed, style, sparse, choice, offline; repeatable.",
            show_default=False,
        ),
    ] = None,
    style: Annotated[
        list[str] | None,
        typer.Option(
            "--style",
            metavar="KIND",
            help="Learned from the same motion (known), another (unknown) or nothing (none).",
            show_default=False,
        ),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dictionary",
            metavar="FILE",
            help="Dictionary of sparse and choice; left out: learned as the styles are.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Markers without noise.")] = False,
    seconds: Seconds = 8.0,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """Error of missing markers and of the pose without them, by the local model alone and with other pose models."""
    from tools.evaluate.missing.masks import cases_named
    from tools.evaluate.missing.measure import MissingOptions, measure_missing
    from tools.evaluate.missing.table import report

    check_folders(json)
    plan = evaluation_plan(workers, scheduler)
    what = (tuple(markers or ("boxing", "all_around")), seconds, cases_named(case or ()))
    # With clips of a set nothing is learned unless it is asked for.
    learned = (tuple(method or (("local",) if sets else ())), tuple(style or (("none",) if sets else ("known",))))

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        options = MissingOptions(motion, part.database, part.clips, *what, *learned, exact, dictionary, plan, seed)
        runs = measure_missing(options, settings)
        if plot is not None and runs:
            from tools.evaluate.missing.plot import plot_missing_markers

            plot_missing_markers(runs, plot / part.title)
        return report(runs, exact, perf_counter() - begin_s), [run.as_json() for run in runs]

    parts = asked_parts(motion, database, clip, sets, skeleton)  # first: a database that is built for them is read again
    with write_together():
        write_asked(json, measure_parts(parts, measure))


@add_settings_options
def labels(
    settings: Settings,
    motion: Motion = None,
    database: Database = None,
    json: Json = None,
    clip: AnyClips = None,
    sets: Sets = None,
    skeleton: Skeleton = None,
    markers: MarkerSets = None,
    case: Cases = None,
    style: Annotated[
        list[str] | None,
        typer.Option(
            "--style",
            metavar="KIND",
            help="Learned from the same motion (known) or nothing (none); repeatable; default both, of sets none.",
            show_default=False,
        ),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Labels with past and future, as duocap replay.")] = False,
    cameras: Annotated[int, typer.Option("--cameras", min=2, max=8, help="Cameras that look on.")] = 2,
    seconds: Seconds = 8.0,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
    seed: Seed = 1,
) -> None:
    """Whether markers that come back after a gap get their labels, without a style learned of the motion and with one."""
    from tools.evaluate.missing.labels import LabelOptions, measure_labels, report
    from tools.evaluate.missing.masks import cases_named

    check_folders(json)
    plan = evaluation_plan(workers, scheduler)
    what = (tuple(markers or ("boxing", "all_around")), seconds, cases_named(case or ()))
    # With clips of a set nothing is learned unless it is asked for; nor is a style used offline.
    kinds = {"none": False, "known": True}
    for kind in style or ():
        if kind not in kinds or (offline and kinds[kind]):
            raise typer.BadParameter(f"{kind!r}; expected none or known, none with --offline", param_hint="--style")
    styles = tuple(kinds[kind] for kind in style or (("none",) if sets or offline else kinds))

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        options = LabelOptions(motion, part.database, part.clips, *what, styles, plan, seed, offline, cameras)
        runs = measure_labels(options, settings)
        return report(runs, perf_counter() - begin_s), [run.as_json() for run in runs]

    write_asked(json, measure_parts(asked_parts(motion, database, clip, sets, skeleton), measure))
