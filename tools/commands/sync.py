"""`duocap sync`: the time offset between the two cameras of a recording."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import BACKGROUND, FPS, LEFT, RIGHT, TIMESTAMPS, with_settings

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


@with_settings
def sync(
    settings: Settings,
    left: LEFT,
    right: RIGHT = None,
    timestamps: TIMESTAMPS = None,
    by: By = None,
    rig: RigFile = None,
    fps: FPS = None,
    background: BACKGROUND = None,
    markers: Markers = "boxing",
) -> None:
    """Say how late the right camera's stamps are, and how to correct them."""
    from calibration.formats.rig_file import read_rig
    from capture.recording.recording import CaptureRecording, RecordingSpec
    from capture.recording.session import is_session
    from config.errors import DuocapError
    from config.markers import read_marker_set
    from tools.arguments import check_sources, seconds_range
    from tools.sync import found_offset, look, sync_lines

    files = (left,) if right is None else (left, right)
    check_sources(*files)
    way = by or ("jump" if rig is None else "epipolar")
    if way == "epipolar" and rig is None:
        raise DuocapError("--by epipolar needs the cameras: give --rig rig.toml, or --by flash or jump")
    if right is None and not is_session(Path(left)):
        raise DuocapError(f"{left}: an offset is between two cameras; give both recordings, or the folder of a session")
    cameras = None if rig is None else read_rig(rig, n_views=2)
    spec = RecordingSpec(files, timestamps, fps, seconds_range(background, "--background"))
    seen = look(CaptureRecording(spec, settings.detector, read_marker_set(markers)), cameras)
    found = found_offset(seen, way)
    typer.echo("\n".join(sync_lines(seen, found, way)))
