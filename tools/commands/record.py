"""`duocap record`: all cameras to a session folder, with the poses where there are a rig and a subject."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import DATABASE, FPS, MODEL, add_settings_options, check_session_path, set_model
from tools.commands.run import CAMERAS, LEFT_CAMERA, RIGHT_CAMERA, given_cameras

RIG_FILE = Annotated[
    Path | None,
    typer.Option("--rig", metavar="FILE", help="The cameras: rig.toml; with --subject poses as well.", show_default=False),
]
SUBJECT_FILE = Annotated[
    Path | None, typer.Option("--subject", metavar="FILE", help="The performer: subject.toml; with --rig.", show_default=False)
]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="The new folder; by default named by the time, among your recordings.", show_default=False
    ),
]
SECONDS = Annotated[float | None, typer.Option("--seconds", min=0.1, help="Record for so long.", show_default="until Ctrl-C")]


@add_settings_options
def record(
    settings: Settings,
    camera: CAMERAS = None,
    left: LEFT_CAMERA = None,
    right: RIGHT_CAMERA = None,
    rig: RIG_FILE = None,
    subject: SUBJECT_FILE = None,
    database: DATABASE = None,
    out: OUT = None,
    seconds: SECONDS = None,
    fps: FPS = None,
    model: MODEL = None,
) -> None:
    """Record one to eight cameras: videos, stamps and detections, and with a rig and a subject the poses; Ctrl-C ends."""
    from tools.run.record_only import record_cameras

    if (rig is None) != (subject is None):
        raise typer.BadParameter("poses need both --rig and --subject", param_hint="--rig" if rig is None else "--subject")
    cameras, folder = given_cameras(camera, left, right), _folder(settings, out)
    if rig is None or subject is None:
        report = record_cameras(settings, cameras, folder, fps, seconds, _note)
        typer.echo("\n".join(report.lines()))
        return
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
    from capture.sockets.endpoints import find_key_settings
    from stream.publish.publisher import check_address
    from tools.database.installed import find_default_database
    from tools.run.report import format_status
    from tools.run.run import LiveRun, run_live

    check_address(settings.stream.address, find_key_settings(settings.stream))
    what = LiveRun(
        cameras,
        read_rig(rig, n_views=len(cameras)),
        read_subject(subject),
        database or find_default_database(_note),  # made here, once, rather than in a process that is waited for
        fps,
        record=folder,
        seconds=seconds,
    )
    done = run_live(
        set_model(settings, model), what, _note, lambda tally, status: _note(format_status(status, tally.recent_ms()))
    )
    typer.echo("\n".join(done.lines()))
    typer.echo(f"recorded {folder}; again: duocap replay {folder}")


def _folder(settings: Settings, out: Path | None) -> Path:
    """Return the folder to record to: the one that was named, or a new one of the time. Raises DuocapError: it cannot be made."""
    from stream.recording.folders import choose_session_folder, find_recordings_folder

    if out is not None:
        named = check_session_path(out)
        assert named is not None
        if named.suffix.lower() == ".mcap":
            raise typer.BadParameter("a session is a folder; choose a name without .mcap", param_hint="--out")
        return named
    return choose_session_folder(find_recordings_folder(settings.stream.recordings), datetime.now()).absolute()


def _note(words: str) -> None:
    """Print a line on standard error."""
    typer.echo(words, err=True)
