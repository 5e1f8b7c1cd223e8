"""`duocap sync`: the time offsets between the cameras of a recording."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import BACKGROUND, FPS, TIMESTAMPS, VIEWS, add_settings_options

RigFile = Annotated[
    Path | None, typer.Option("--rig", metavar="FILE", help="The cameras: rig.toml; for --by epipolar.", show_default=False)
]
By = Annotated[
    Literal["epipolar", "flash", "jump"] | None,
    typer.Option(
        "--by",
        help="epipolar: any movement, needs --rig; flash: a light switched on and off; jump: one jump or clap.",
        show_default=False,
    ),
]
Markers = Annotated[str, typer.Option("--markers", metavar="FILE", help="markers.toml or a preset, for its colours.")]


@add_settings_options
def sync(
    settings: Settings,
    views: VIEWS,
    timestamps: TIMESTAMPS = None,
    by: By = None,
    rig: RigFile = None,
    fps: FPS = None,
    background: BACKGROUND = None,
    markers: Markers = "boxing",
) -> None:
    """Say how late the other cameras' stamps are beside the first one's, and how to correct them."""
    from calibration.formats.rig_file import read_rig
    from capture.recording.recording import CaptureRecording, RecordingSpec
    from capture.recording.session import is_session
    from config.errors import DuocapError
    from config.markers import read_marker_set
    from tools.arguments import check_sources, parse_seconds_range
    from tools.sync import collect_sync_samples, estimate_sync_offset, format_sync_result, format_sync_usage

    check_sources(*views)
    way = by or ("jump" if rig is None else "epipolar")
    if way == "epipolar" and rig is None:
        raise DuocapError("--by epipolar needs the cameras: give --rig rig.toml, or --by flash or jump")
    if len(views) == 1 and not is_session(Path(views[0])):
        raise DuocapError(f"{views[0]}: an offset is between cameras; give the recordings of all, or the folder of a session")
    spec = RecordingSpec(tuple(views), timestamps, fps, parse_seconds_range(background, "--background"))
    recording = CaptureRecording(spec, settings.detector, read_marker_set(markers))
    cameras = None if rig is None else read_rig(rig, n_views=len(recording.sizes))
    seen = collect_sync_samples(recording, cameras)
    found = [estimate_sync_offset(seen, way, camera) for camera in range(1, len(recording.sizes))]
    for camera, one in enumerate(found, 1):
        typer.echo("\n".join(format_sync_result(one, way, camera)))
    for line in format_sync_usage(found):
        typer.echo(line)
