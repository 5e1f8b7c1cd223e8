"""`duocap record`: all cameras to a session folder, with the poses where there are a rig and a subject."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_session_path, set_model
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.live.run import order_cameras, run_beside_line
from tools.commands.options import CameraOptions, Database, LandmarkModel, Model, VideoFps
from tools.progress import open_status_line, print_note


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of `duocap record`."""

    cameras: CameraOptions
    rig: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The cameras: rig.toml; with --subject poses as well."),
        InProject("rig of poses"),
    ] = None
    subject: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The performer: subject.toml; with --rig."),
        InProject("subject of poses"),
    ] = None
    database: Database = None
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The new folder; by default named by the time, among your recordings."),
    ] = None
    seconds: Annotated[float | None, typer.Option(min=0.1, help="Record for so long.", show_default="until Ctrl-C")] = None
    fps: VideoFps = None
    model: Model = None
    landmarks: LandmarkModel = None


@add_settings_options
def record(settings: Settings, options: RecordOptions) -> None:
    """Record one to eight cameras: videos, stamps and detections, and with a rig and a subject the poses; Ctrl-C ends."""
    from tools.run.record_only import record_cameras

    if (options.rig is None) != (options.subject is None):
        missing = "--rig" if options.rig is None else "--subject"
        raise typer.BadParameter("poses need both --rig and --subject", param_hint=missing)
    settings = set_landmarks(settings, options.landmarks)
    cameras, folder = order_cameras(options.cameras), _folder(settings, options.out)
    if options.rig is None or options.subject is None:
        with open_status_line() as line:
            report = record_cameras(settings, cameras, folder, options.fps, options.seconds, line.tell, line.show)
        typer.echo("\n".join(report.lines()))
        return
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
    from stream.publish.publisher import choose_address
    from tools.database.installed import find_default_database
    from tools.run.run import LiveRun

    settings = choose_address(settings)
    what = LiveRun(
        cameras,
        read_rig(options.rig, n_views=len(cameras)),
        read_subject(options.subject),
        options.database or find_default_database(print_note),  # made here, once, rather than in a process that is waited for
        options.fps,
        record=folder,
        seconds=options.seconds,
    )
    with open_status_line() as line:
        done = run_beside_line(set_model(settings, options.model), what, line)
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
