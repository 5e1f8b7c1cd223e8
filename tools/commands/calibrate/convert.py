"""`duocap calibrate convert`: a calibration of another program into ours, or ours into another's."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import with_settings

UNITS_M = {"m": 1.0, "cm": 0.01, "mm": 0.001}

Source = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file or folder of another program or of ours.", show_default=False)
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="What to write.", show_default=False)]
Format = Annotated[
    Literal["toml", "caliscope", "opencv", "easymocap", "qualisys"] | None,
    typer.Option(
        "--format",
        help="toml: ours, aniposelib's and Pose2Sim's; the others as named; default by --out: .toml, .yml and .xml (opencv), "
        ".qca.txt (qualisys), a folder (easymocap).",
        show_default=False,
    ),
]
Cameras = Annotated[
    str | None,
    typer.Option("--cameras", metavar="LEFT,RIGHT", help="Which of its cameras; one alone for one.", show_default=False),
]
Size = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="Of the images, where the file does not say.", show_default=False),
]
Unit = Annotated[Literal["m", "cm", "mm"], typer.Option("--unit", help="Of its translations; ours are in metres.")]
Up = Annotated[
    Literal["y", "z"] | None,
    typer.Option("--up", help="Its axis that points up, with the floor at 0; ours is y, that of Pose2Sim z.", show_default=False),
]
OutUp = Annotated[Literal["y", "z"], typer.Option("--out-up", help="The axis that shall point up in what is written.")]


@with_settings
def convert(
    settings: Settings,
    source: Source,
    out: Out,
    form: Format = None,
    cameras: Cameras = None,
    size: Size = None,
    unit: Unit = "m",
    up: Up = None,
    out_up: OutUp = "y",
) -> None:
    """Turn a calibration of another program into a rig, or a rig into theirs."""
    from calibration.formats.camera_file import ReadOptions
    from calibration.formats.rig_file import format_of, read_cameras, write_rig_file
    from tools.calibrate.convert import converted_lines, turned_for

    names = tuple(name.strip() for name in cameras.split(",")) if cameras else ()
    target = form or format_of(out)
    rig = read_cameras(source, ReadOptions(_size(size), UNITS_M[unit], up or "", names))
    written = write_rig_file(out, turned_for(rig, target, out_up), target)
    typer.echo("\n".join(converted_lines(rig, written)))


def _size(text: str | None) -> tuple[int, int] | None:
    """Read `640x480`. Raises typer.BadParameter."""
    if text is None:
        return None
    try:
        width, height = (int(side) for side in text.lower().split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a width and a height, such as 640x480", param_hint="--size") from None
    return width, height
