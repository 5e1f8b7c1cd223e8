"""`duocap evaluate posing`, `missing` and `labels`: what a learned style is good for (Grochow et al. 2004)."""

from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.cli_evaluate_options import Cases, Clips, Database, Json, MarkerSets, Motion, Plot, Processes, Seconds, Seed
from tools.options import with_settings


@with_settings
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
    processes: Processes = 2,
) -> None:
    """Whole poses from a few points in space or in an image: a style against nearest neighbour and plain inverse kinematics."""
    from tools.evaluation.posing import PosingOptions, evaluate_posing

    check_folders(json)
    evaluate_posing(motion, PosingOptions(tuple(behaviour or ()), poses, processes=processes), json, plot)


@with_settings
def missing(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    markers: MarkerSets = None,
    case: Cases = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", metavar="NAME", help="hold, linear, local, style, both, chosen; repeatable.", show_default=False
        ),
    ] = None,
    style: Annotated[
        list[str] | None,
        typer.Option(
            "--style", metavar="KIND", help="Learned from the same motion (known) or another (unknown).", show_default=False
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Markers without noise.")] = False,
    seconds: Seconds = 8.0,
    processes: Processes = 2,
    seed: Seed = 1,
) -> None:
    """Error of missing markers and of the pose without them, with and without a learned style."""
    from tools.evaluation.missing import MissingOptions, cases_named, evaluate_missing
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    asked = (tuple(clip or ()), tuple(markers or ("boxing", "all_around")), seconds, cases_named(case or ()))
    options = MissingOptions(
        motion,
        protocol_database(motion, database),
        *asked,
        tuple(method or ()),
        tuple(style or ("known",)),
        exact,
        processes,
        seed,
    )
    evaluate_missing(options, settings, json, plot)


@with_settings
def labels(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: Clips = None,
    markers: MarkerSets = None,
    case: Cases = None,
    seconds: Seconds = 8.0,
    processes: Processes = 2,
    seed: Seed = 1,
) -> None:
    """Whether markers that come back after a gap get their labels, without a learned style and with one."""
    from tools.evaluation.labels import LabelOptions, evaluate_labels
    from tools.evaluation.missing import cases_named
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    asked = (tuple(clip or ()), tuple(markers or ("boxing", "all_around")), seconds, cases_named(case or ()))
    options = LabelOptions(motion, protocol_database(motion, database), *asked, processes=processes, seed=seed)
    evaluate_labels(options, settings, json)
