"""`duocap evaluate`: the papers' tables and figures on real motions, against other methods in the same run."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.options import with_settings

app = typer.Typer()

Motion = Annotated[
    Path,
    typer.Option("--motion", metavar="DIR", help="Unpacked CMU motions: cmu/subjects/NN/NN_TT.amc.", show_default=False),
]
Database = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="Database without the protocol's clips; default built from --motion, once.",
        show_default=False,
    ),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures.", show_default=False)]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="DIR", help="Draw the figures as PNG.", show_default=False)]
Clips = Annotated[
    list[str] | None, typer.Option("--clip", metavar="CLIP", help="A clip of the protocol; repeatable.", show_default=False)
]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="Longest part of a clip [s]; 0 for all.")]
Markers = Annotated[str, typer.Option("--markers", metavar="SET", help="Marker preset or markers.toml.")]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="exact, noise, missing, six; repeatable; default all.", show_default=False),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method", metavar="NAME", help="NN, LWR, average, paper, ours; repeatable; default all but average.", show_default=False
    ),
]
C3d = Annotated[
    Path | None,
    typer.Option(
        "--c3d", metavar="FILE", help="Vicon markers of clip 02_05; default cmu_02_05.c3d near --motion.", show_default=False
    ),
]
Processes = Annotated[int, typer.Option("--processes", metavar="N", help="How many clips are run at once.")]
Cameras = Annotated[int, typer.Option("--cameras", min=1, max=2, help="Cameras that look on after the T-pose.")]
Occlude = Annotated[
    list[float] | None,
    typer.Option("--occlude", metavar="SHARE", help="Share of the markers hidden, such as 0.2; repeatable.", show_default=False),
]
TrueSubject = Annotated[bool, typer.Option("--true-subject", help="Give the pipeline the true skeleton and marker places.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of noise and gaps.")]
MarkerSets = Annotated[
    list[str] | None,
    typer.Option(
        "--markers",
        metavar="SET",
        help="Marker preset or markers.toml; repeatable; default boxing, all_around.",
        show_default=False,
    ),
]
Cases = Annotated[
    list[str] | None,
    typer.Option(
        "--case", metavar="WHAT", help="Missing: 10%, 50%, 'a leg', 2s and so on; repeatable; default all.", show_default=False
    ),
]


@app.command()
@with_settings
def synthesis(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    seconds: Seconds = 20.0,
    markers: Markers = "boxing",
    variant: Variants = None,
    method: Methods = None,
    c3d: C3d = None,
    processes: Processes = 2,
    seed: Seed = 1,
) -> None:
    """Error of the poses per behaviour: nearest neighbour, regression, the paper's model, ours."""
    from tools.evaluation.protocol import protocol_database
    from tools.evaluation.synthesis import SynthesisOptions, evaluate_synthesis
    from tools.evaluation.vicon import found_c3d

    check_folders(json)
    path = protocol_database(motion, database)
    asked = (tuple(clip or ()), seconds, markers, tuple(variant or ()), tuple(method or ()))
    options = SynthesisOptions(motion, path, *asked, c3d or found_c3d(motion), processes, seed)
    evaluate_synthesis(options, settings, json, plot)


@app.command()
@with_settings
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
    from tools.evaluation.protocol import protocol_database
    from tools.evaluation.search import evaluate_search

    check_folders(json)
    path, clips = protocol_database(motion, database), tuple(clip or ())
    evaluate_search(motion, path, settings, clips=clips, json_file=json, plot=plot, sizes=sizes)


@app.command()
@with_settings
def dimensionality(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    plot: Plot = None,
    clip: Clips = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer poses, rougher figures, in a minute.")] = False,
) -> None:
    """Error against dimensions of global, clustered and local models: the paper's Figure 5."""
    from tools.evaluation.dimensionality import evaluate_dimensionality
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    path = protocol_database(motion, database)
    evaluate_dimensionality(motion, path, settings, clips=tuple(clip or ()), json_file=json, plot=plot, quick=quick)


@app.command(name="end-to-end")
@with_settings
def end_to_end(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: Clips = None,
    seconds: Seconds = 20.0,
    markers: Markers = "boxing",
    cameras: Cameras = 2,
    occlude: Occlude = None,
    true_subject: TrueSubject = False,
    processes: Processes = 2,
    seed: Seed = 1,
) -> None:
    """Real motions rendered as videos of two cameras, or one, and reconstructed again."""
    from tools.evaluation.protocol import protocol_database
    from tools.evaluation.rendered import Options, evaluate_end_to_end

    check_folders(json)
    path = protocol_database(motion, database)
    options = Options(markers, seconds, 0.0, true_subject, seed, cameras)
    shares = tuple(occlude or (0.0,))
    evaluate_end_to_end(
        motion, path, settings, options, clips=tuple(clip or ()), occlude=shares, processes=processes, json_file=json
    )


@app.command()
@with_settings
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
    seed: Seed = 1,
) -> None:
    """Jitter against delay of the output filter, error of predictions, gain of the smoother."""
    from tools.evaluation.filtering import FilteringOptions, evaluate_filtering
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    path = protocol_database(motion, database)
    options = FilteringOptions(motion, path, tuple(clip or ()), seconds, markers, recording, seed)
    evaluate_filtering(options, settings, json, plot)


@app.command()
@with_settings
def feet(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: Clips = None,
    seconds: Seconds = 10.0,
    markers: Markers = "boxing",
    seed: Seed = 1,
) -> None:
    """How far feet slide on the ground, before and after they are held, and what holding them costs."""
    from tools.evaluation.feet import evaluate_feet
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    path, clips = protocol_database(motion, database), tuple(clip or ())
    evaluate_feet(motion, path, settings, clips=clips, markers=markers, seconds=seconds, seed=seed, json_file=json)


@app.command()
@with_settings
def acquisition(
    settings: Settings,
    motion: Motion,
    database: Database = None,
    json: Json = None,
    clip: Clips = None,
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
    seed: Seed = 0,
) -> None:
    """How soon and how rightly a performer is found among unlabelled points, at the start and after a loss."""
    from tools.evaluation.acquisition import CASES, QUICK_CASES, evaluate_acquisition
    from tools.evaluation.protocol import protocol_database

    check_folders(json)
    path, cases = protocol_database(motion, database), QUICK_CASES if quick else CASES
    evaluate_acquisition(
        motion, path, settings, clips=clip or (), markers=markers or (), n_trials=trials, cases=cases, seed=seed, json_file=json
    )


@app.command()
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


@app.command()
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


@app.command()
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
