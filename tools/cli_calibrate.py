"""`duocap calibrate`: measure what stays the same during a session."""

from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import BACKGROUND, DATABASE, FPS, LEFT, RIG, RIGHT, TIMESTAMPS, check_folders, check_sources, seconds_range
from tools.cli_calibrate_convert import convert
from tools.cli_calibrate_wand import wand
from tools.options import with_settings

app = typer.Typer()
app.command("convert")(convert)
app.command("wand")(wand)

Markers = Annotated[
    str,
    typer.Option(
        "--markers",
        metavar="SET",
        help="A markers.toml, or locomotion, boxing, kendo, dark_room, all_around.",
        show_default=False,
    ),
]
From = Annotated[
    float,
    typer.Option("--from", metavar="S", help="Time of the recording from which the T-pose is held [s].", show_default=False),
]
To = Annotated[float, typer.Option("--to", metavar="S", help="Time until which it is held [s].", show_default=False)]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write subject.toml.", show_default=False)]


@app.command()
@with_settings
def subject(
    settings: Settings,
    left: LEFT,
    rig: RIG,
    markers: Markers,
    start: From,
    end: To,
    out: Out,
    right: RIGHT = None,
    database: DATABASE = None,
    timestamps: TIMESTAMPS = None,
    fps: FPS = None,
    background: BACKGROUND = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Who the performer is.")] = "performer",
) -> None:
    """Fit a performer's skeleton and marker places from a T-pose."""
    from calibration.rig_file import read_rig
    from calibration.subject_toml import write_subject
    from capture.recording import Recording, RecordingSpec
    from capture.session_files import is_session
    from config.markers import read_marker_set
    from tools.databases import open_or_default
    from tools.progress import progress_bar
    from tools.subject_session import subject_from_recording, summary_lines

    check_folders(out)
    check_sources(left, right)
    if right is None and not is_session(Path(left)):
        raise DuocapError(
            f"{left}: one camera cannot measure depth, which a performer's size takes; give both recordings of the T-pose: "
            "the subject.toml they give serves replays with one camera too"
        )
    if not 0 <= start < end:
        raise typer.BadParameter(f"{start:g} to {end:g}: the second time must come after the first", param_hint="--from/--to")
    cameras, worn = read_rig(rig), read_marker_set(markers)
    poses = open_or_default(database)
    spec = RecordingSpec(left, right, timestamps, fps, seconds_range(background, "--background"))
    recording = Recording(spec, settings.detector, worn)
    with progress_bar("T-pose") as progress:
        result = subject_from_recording(name, recording, (start, end), cameras, worn, poses, settings, progress)
    write_subject(out, result.subject)
    typer.echo("\n".join([*summary_lines(result), f"written to {out}"]))
