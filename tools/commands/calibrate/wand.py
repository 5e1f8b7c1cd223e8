"""`duocap calibrate wand`: where cameras stand, from one or two markers waved through the volume."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, check_range, check_sources
from tools.calibrate.names import choose_camera_names
from tools.calibrate.outcome import choose_picture_file, print_report, write_outcome
from tools.commands.declaration import add_settings_options
from tools.commands.options import NoPicture, VerdictPicture, VideoOptions

LENGTH_RANGE_MM, DISTANCE_RANGE_MM = (20.0, 5000.0), (20.0, 50000.0)
FOV_RANGE_DEG = (10.0, 150.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WandOptions:
    """Options of `duocap calibrate wand`."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="CAM...",
            help="Two to eight cameras, of two the left one first: each a video file or a folder of images; or a session's "
            "folder, alone. Any two that see the wand together are a link.",
        ),
    ]
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write rig.toml.")]
    length: Annotated[float | None, typer.Option(metavar="MM", help="Of a wand of two markers, from middle to middle.")] = None
    distance: Annotated[
        float | None,
        typer.Option(metavar="MM", help="Between the first two cameras' lenses: the scale, where there is one marker."),
    ] = None
    intrinsics: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The lenses, from an earlier calibration; or a file of each camera, in their order."),
    ] = None
    fov: Annotated[float | None, typer.Option(metavar="DEG", help="Horizontal field of view, where no calibration is there.")] = (
        None
    )
    focal: Annotated[
        bool, typer.Option("--focal", help="Solve for the focal lengths too; kept where they are well determined.")
    ] = False
    synchronised: Annotated[
        bool, typer.Option("--synchronised", help="The cameras look at the same moments: seek no time offset.")
    ] = False
    markers: Annotated[int | None, typer.Option(min=1, max=2, help="Of the wand; default 2 with --length, else 1.")] = None
    videos: VideoOptions
    picture: VerdictPicture = None
    no_picture: NoPicture = False


@add_settings_options
def wand(settings: Settings, options: WandOptions) -> None:
    """Find where cameras stand from a wand waved before them."""
    from calibration.formats.rig_toml import write_rig_toml
    from calibration.wand.picture import draw_wand
    from capture.recording.recording import CaptureRecording
    from tools.calibrate.wand import WandTask, add_verdict, build_uncolored_markers, calibrate_wand
    from tools.progress import open_progress_bar

    drawn = choose_picture_file(options.out, options.picture, options.no_picture)
    _check(options.length, options.distance, options.intrinsics, options.fov, options.markers)
    check_folders(options.out, drawn)
    check_sources(*options.sources)
    names = choose_camera_names(options.sources)
    for file in options.intrinsics or ():
        if not file.exists():
            raise DuocapError(f"{file}: no such file; give a calibration of these cameras, such as the rig.toml of a board")
    n_markers = options.markers or (2 if options.length is not None else 1)
    wishes = WandTask(
        length_m=None if options.length is None else 1e-3 * options.length,
        distance_m=None if options.distance is None else 1e-3 * options.distance,
        n_markers=n_markers,
        intrinsics=tuple(options.intrinsics or ()),
        fov_deg=options.fov,
        focal=options.focal,
        synchronised=options.synchronised,
        late_s=1e-3 * settings.time.offset_ms,
    )
    spec = options.videos.create_spec(options.sources)
    recording = CaptureRecording(spec, settings.detector, build_uncolored_markers(), min_markers=1)
    with open_progress_bar("wand") as progress:
        solution, report = calibrate_wand(recording, wishes, names, progress)
    print_report(report)
    for note in solution.notes:
        typer.echo(f"  note {note}")
    draw, write = partial(draw_wand, solution, report), partial(write_rig_toml, options.out, add_verdict(solution, report))
    write_outcome(report, options.out, drawn, draw, write, typer.echo)


def _check(
    length: float | None, distance: float | None, intrinsics: list[Path] | None, fov: float | None, markers: int | None
) -> None:
    """Raise typer.BadParameter where the options do not go together or say what cannot be."""
    check_range("--length", length, LENGTH_RANGE_MM)
    check_range("--distance", distance, DISTANCE_RANGE_MM)
    check_range("--fov", fov, FOV_RANGE_DEG, "degrees")
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
