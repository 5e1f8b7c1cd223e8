"""`duocap calibrate wand`: where cameras stand, from one or two markers waved through the volume."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import BACKGROUND, FPS, TIMESTAMPS, add_settings_options, check_folders, check_sources, parse_seconds_range
from tools.calibrate.names import choose_camera_names
from tools.calibrate.outcome import NO_PICTURE, PICTURE, choose_picture_file, print_report, write_outcome

LENGTH_RANGE_MM, DISTANCE_RANGE_MM = (20.0, 5000.0), (20.0, 50000.0)
FOV_RANGE_DEG = (10.0, 150.0)

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="CAM...",
        help="Two to eight cameras, of two the left one first: each a video file or a folder of images; or a session's folder, "
        "alone. Any two that see the wand together are a link.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write rig.toml.", show_default=False)]
Length = Annotated[
    float | None,
    typer.Option("--length", metavar="MM", help="Of a wand of two markers, from middle to middle.", show_default=False),
]
Distance = Annotated[
    float | None,
    typer.Option(
        "--distance",
        metavar="MM",
        help="Between the first two cameras' lenses: the scale, where there is one marker.",
        show_default=False,
    ),
]
Intrinsics = Annotated[
    list[Path] | None,
    typer.Option(
        "--intrinsics", metavar="FILE", help="The lenses, from an earlier calibration; or a file of each camera, in their order."
    ),
]
Fov = Annotated[
    float | None,
    typer.Option("--fov", metavar="DEG", help="Horizontal field of view, where no calibration is there.", show_default=False),
]
Focal = Annotated[bool, typer.Option("--focal", help="Solve for the focal lengths too; kept where they are well determined.")]
Synchronised = Annotated[bool, typer.Option("--synchronised", help="The cameras look at the same moments: seek no time offset.")]
Markers = Annotated[
    int | None,
    typer.Option("--markers", min=1, max=2, help="Of the wand; default 2 with --length, else 1.", show_default=False),
]


@add_settings_options
def wand(
    settings: Settings,
    sources: Sources,
    out: Out,
    length: Length = None,
    distance: Distance = None,
    intrinsics: Intrinsics = None,
    fov: Fov = None,
    focal: Focal = False,
    synchronised: Synchronised = False,
    markers: Markers = None,
    timestamps: TIMESTAMPS = None,
    fps: FPS = None,
    background: BACKGROUND = None,
    picture: PICTURE = None,
    no_picture: NO_PICTURE = False,
) -> None:
    """Find where cameras stand from a wand waved before them."""
    from calibration.formats.rig_toml import write_rig_toml
    from calibration.wand.picture import draw_wand
    from capture.recording.recording import CaptureRecording, RecordingSpec
    from tools.calibrate.wand import WandTask, add_verdict, build_uncolored_markers, calibrate_wand
    from tools.progress import open_progress_bar

    drawn = choose_picture_file(out, picture, no_picture)
    _check(length, distance, intrinsics, fov, markers)
    check_folders(out, drawn)
    check_sources(*sources)
    names = choose_camera_names(sources)
    for file in intrinsics or ():
        if not file.exists():
            raise DuocapError(f"{file}: no such file; give a calibration of these cameras, such as the rig.toml of a board")
    n_markers = markers or (2 if length is not None else 1)
    wishes = WandTask(
        length_m=None if length is None else 1e-3 * length,
        distance_m=None if distance is None else 1e-3 * distance,
        n_markers=n_markers,
        intrinsics=tuple(intrinsics or ()),
        fov_deg=fov,
        focal=focal,
        synchronised=synchronised,
        late_s=1e-3 * settings.time.offset_ms,
    )
    spec = RecordingSpec(tuple(sources), timestamps, fps, parse_seconds_range(background, "--background"))
    recording = CaptureRecording(spec, settings.detector, build_uncolored_markers(), min_markers=1)
    with open_progress_bar("wand") as progress:
        solution, report = calibrate_wand(recording, wishes, names, progress)
    print_report(report)
    for note in solution.notes:
        typer.echo(f"  note {note}")
    draw, write = partial(draw_wand, solution, report), partial(write_rig_toml, out, add_verdict(solution, report))
    write_outcome(report, out, drawn, draw, write, typer.echo)


def _check(
    length: float | None, distance: float | None, intrinsics: list[Path] | None, fov: float | None, markers: int | None
) -> None:
    """Raise typer.BadParameter where the options do not go together or say what cannot be."""
    for value, (low, high), name in ((length, LENGTH_RANGE_MM, "--length"), (distance, DISTANCE_RANGE_MM, "--distance")):
        if value is not None and not low <= value <= high:
            raise typer.BadParameter(f"{value:g} mm; expected {low:g} to {high:g} mm", param_hint=name)
    if fov is not None and not FOV_RANGE_DEG[0] <= fov <= FOV_RANGE_DEG[1]:
        raise typer.BadParameter(
            f"{fov:g} degrees; expected {FOV_RANGE_DEG[0]:g} to {FOV_RANGE_DEG[1]:g}: webcams have 50 to 90", param_hint="--fov"
        )
    if (fov is None) == (not intrinsics):
        raise typer.BadParameter(
            "give one of --intrinsics (an earlier calibration) and --fov (degrees across)", param_hint="--intrinsics/--fov"
        )
    if length is None and distance is None:
        raise typer.BadParameter(
            "nothing tells the scale; give the wand's length or the cameras' distance", param_hint="--length/--distance"
        )
    if markers == 1 and distance is None:
        raise typer.BadParameter(
            "one marker has no length: it takes the cameras' distance for the scale", param_hint="--distance"
        )
