"""`duocap evaluate`: the papers' tables and figures on real motions, against other methods in the same run."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.cli_evaluate_options import (
    C3d,
    Cameras,
    Clips,
    Database,
    Json,
    Markers,
    Methods,
    Motion,
    Occlude,
    Plot,
    Processes,
    Seconds,
    Seed,
    TrueSubject,
    Variants,
)
from tools.cli_evaluate_styles import labels, missing, posing
from tools.options import with_settings

app = typer.Typer()


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


app.command()(posing)
app.command()(missing)
app.command()(labels)
