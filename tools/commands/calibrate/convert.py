"""`duocap calibrate convert`: a calibration of another program into ours, or ours into another's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options

if TYPE_CHECKING:
    from calibration.camera import Rig

UNITS_M = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """Options of `duocap calibrate convert`."""

    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file or folder of another program or of ours.")]
    out: Annotated[Path, typer.Option(metavar="FILE", help="What to write.")]
    form: Annotated[
        Literal["toml", "caliscope", "opencv", "kalibr", "easymocap", "qualisys"] | None,
        typer.Option(
            "--format",
            help="toml: ours, aniposelib's and Pose2Sim's; the others as named; default by --out: .toml, .yml and .xml (opencv), "
            ".qca.txt (qualisys), a folder (easymocap); kalibr and caliscope by name only.",
        ),
    ] = None
    cameras: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Which of its cameras, in this order, default all; best: the two that measure best where all look.",
        ),
    ] = None
    volume: Annotated[
        str | None,
        typer.Option(
            metavar="WxHxD",
            help="With --cameras best: width, height and depth that the performer needs [m]; default 1.6x1.9x1.2.",
        ),
    ] = None
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Of the images, where the file does not say.")] = None
    unit: Annotated[Literal["m", "cm", "mm", "inch"], typer.Option(help="Of its translations; ours are in metres.")] = "m"
    up: Annotated[
        Literal["y", "z"] | None,
        typer.Option(help="Its axis that points up, with the floor at 0; ours is y, that of Pose2Sim z."),
    ] = None
    out_up: Annotated[Literal["y", "z"], typer.Option(help="The axis that shall point up in what is written.")] = "y"


@add_settings_options
def convert(settings: Settings, options: ConvertOptions) -> None:
    """Turn a calibration of another program into a rig, or a rig into theirs."""
    from calibration.depth import VOLUME_M
    from calibration.formats.camera_file import ReadOptions
    from calibration.formats.rig_file import find_format, read_cameras, write_rig_file
    from tools.projects.project import BEST, find_best_calibrated_pair

    names = tuple(name.strip() for name in options.cameras.split(",")) if options.cameras else ()
    target = options.form or find_format(options.out)
    reading = ReadOptions(_size(options.size), UNITS_M[options.unit], options.up or "")
    if options.volume and names != (BEST,):
        raise typer.BadParameter("tells what the best pair is chosen for; add --cameras best", param_hint="--volume")
    if names == (BEST,):
        pair = find_best_calibrated_pair(options.source, reading, _sides_m(options.volume) if options.volume else VOLUME_M)
        names = (pair.rig.cameras[0].name, pair.rig.cameras[1].name)
        typer.echo(f"best pair {', '.join(names)}: {pair.words}")
    rig = read_cameras(options.source, replace(reading, names=names))
    written = write_rig_file(options.out, turned_for(rig, target, options.out_up), target)
    typer.echo("\n".join(converted_lines(rig, written)))


def turned_for(rig: "Rig", form: str, up: str) -> "Rig":
    """Return the rig in a world whose axis `up` points up; Qualisys' files are turned when they are written."""
    from calibration.formats.camera_file import Z_UP_TO_Y_UP, change_world_axes

    if up == "y" or form == "qualisys":
        return rig
    cameras = tuple(change_world_axes(camera, Z_UP_TO_Y_UP.T) for camera in rig.cameras)
    # What is left has Z up: our own readers must not take it for a floor at y = 0.
    return replace(rig, cameras=cameras, floor_known=False)


def converted_lines(rig: "Rig", written: Sequence[Path]) -> list[str]:
    """Return in words which cameras were read and where they were written."""
    lines = [f"{camera.name}: {camera.size[0]}x{camera.size[1]}, focal length {camera.focal_px:.1f} px" for camera in rig.cameras]
    if not rig.is_monocular:
        lines.append(
            f"{'up to ' * (len(rig) > 2)}{1e3 * rig.baseline_m:.1f} mm apart; floor {'known' if rig.floor_known else 'not known'}"
        )
    return [*lines, f"written to {' and '.join(str(path) for path in written)}"]


def _size(text: str | None) -> tuple[int, int] | None:
    """Read `640x480`. Raises typer.BadParameter."""
    if text is None:
        return None
    try:
        width, height = (int(side) for side in text.lower().split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a width and a height, such as 640x480", param_hint="--size") from None
    return width, height


def _sides_m(text: str) -> tuple[float, float, float]:
    """Read `3x2x3`. Raises typer.BadParameter."""
    try:
        width, height, depth = (float(side) for side in text.lower().split("x"))
    except ValueError:
        width = height = depth = 0.0
    if not all(0.1 <= side <= 50.0 for side in (width, height, depth)):
        raise typer.BadParameter(f"{text!r} is not width, height and depth in metres, such as 3x2x3", param_hint="--volume")
    return width, height, depth
