"""`duocap sync`: the time offsets between the cameras of a recording."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.options import VideoOptions, Views


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """Options of `duocap sync`."""

    views: Views
    videos: VideoOptions
    by: Annotated[
        Literal["epipolar", "flash", "jump"] | None,
        typer.Option(
            help="epipolar: any movement, needs --rig; flash: a light switched on and off; jump: one jump or clap.",
        ),
    ] = None
    rig: Annotated[Path | None, typer.Option(metavar="FILE", help="The cameras: rig.toml; for --by epipolar.")] = None
    markers: Annotated[str, typer.Option(metavar="FILE", help="markers.toml or a preset, for its colours.")] = "boxing"


@add_settings_options
def sync(settings: Settings, options: SyncOptions) -> None:
    """Say how late the other cameras' stamps are beside the first one's, and how to correct them."""
    from calibration.formats.rig_file import read_rig
    from capture.recording.recording import CaptureRecording
    from capture.recording.session import is_session
    from config.errors import DuocapError
    from config.markers import read_marker_set
    from tools.arguments import check_sources
    from tools.sync import collect_sync_samples, estimate_sync_offset, format_sync_result, format_sync_usage

    check_sources(*options.views)
    way = options.by or ("jump" if options.rig is None else "epipolar")
    if way == "epipolar" and options.rig is None:
        raise DuocapError("--by epipolar needs the cameras: give --rig rig.toml, or --by flash or jump")
    if len(options.views) == 1 and not is_session(Path(options.views[0])):
        raise DuocapError(
            f"{options.views[0]}: an offset is between cameras; give the recordings of all, or the folder of a session"
        )
    spec = options.videos.create_spec(options.views)
    recording = CaptureRecording(spec, settings.detector, read_marker_set(options.markers))
    cameras = None if options.rig is None else read_rig(options.rig, n_views=len(recording.sizes))
    seen = collect_sync_samples(recording, cameras)
    found = [estimate_sync_offset(seen, way, camera) for camera in range(1, len(recording.sizes))]
    for camera, one in enumerate(found, 1):
        typer.echo("\n".join(format_sync_result(one, way, camera)))
    for line in format_sync_usage(found):
        typer.echo(line)
