"""Arguments that several commands take, and how they are read."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from capture.network_address import without_secrets
from config.errors import DuocapError
from config.settings import Settings

LEFT = Annotated[
    str,
    typer.Argument(help="Left camera: a video file or folder of images; or a session's folder, alone.", show_default=False),
]
RIGHT = Annotated[str | None, typer.Argument(help="Right camera: likewise, of the same moments.", show_default=False)]
RIG = Annotated[Path, typer.Option("--rig", metavar="FILE", help="The cameras: rig.toml.", show_default=False)]
DATABASE = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="Motion database (duocap database build); default the built-in motions.",
        show_default=False,
    ),
]
TIMESTAMPS = Annotated[
    Path | None, typer.Option("--timestamps", metavar="FILE", help="CSV with the time of each frame.", show_default=False)
]
FPS = Annotated[float | None, typer.Option("--fps", help="Frames a second, instead of what the videos say.", show_default=False)]
BACKGROUND = Annotated[
    str | None,
    typer.Option("--background", metavar="S:S", help="Seconds without the performer, such as 0:2.", show_default=False),
]
MODEL = Annotated[
    Literal["gaussian", "paper"] | None,
    typer.Option(
        "--model", help="How poses are modelled, the same as --set solve.model; paper: as in the paper.", show_default=False
    ),
]

RECORD = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Record the stream to a new file, such as walk.mcap.", show_default=False),
]

RECORD_SESSION = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="NAME",
        help="Record to a new folder: videos, stamps, detections, poses; a NAME that ends in .mcap: the stream only.",
        show_default=False,
    ),
]


STYLE = Annotated[
    Path | None,
    typer.Option("--style", metavar="FILE", help="Begin with this style (duocap style train, --save-style).", show_default=False),
]
SAVE_STYLE = Annotated[
    Path | None,
    typer.Option("--save-style", metavar="FILE", help="Keep the last style that is learned, in FILE.style.", show_default=False),
]
NO_STYLE = Annotated[
    bool, typer.Option("--no-style", help="Learn no style of the motion and use none, the same as --set fill.style=false.")
]


def with_styles(settings: Settings, style: Path | None, save_style: Path | None, no_style: bool) -> Settings:
    """Give the settings, without styles if so asked; raise DuocapError for files that cannot be read or written."""
    if no_style:
        settings = replace(settings, fill=replace(settings.fill, style=False), given=settings.given | {"fill.style"})
    for option, file in {"--style": style, "--save-style": save_style}.items():
        if file is not None and not settings.fill.style:
            raise typer.BadParameter("styles are turned off; leave out --no-style and fill.style=false", param_hint=option)
    check_folders(save_style)
    if style is not None:
        from reconstruct.style.style_file import read_style

        read_style(style)
    return settings


def with_model(settings: Settings, model: Literal["gaussian", "paper"] | None) -> Settings:
    """Give the settings with the model asked for, which is stronger than what they say; None: as they are."""
    return settings if model is None else replace(settings, solve=replace(settings.solve, model=model))


def check_folders(*files: Path | None) -> None:
    """Raise DuocapError unless every file to be written has a folder to go to: better now than after the work."""
    for file in files:
        if file is not None and (file.is_dir() or not os.access(file.absolute().parent, os.W_OK)):
            raise DuocapError(f"{file}: cannot be written; choose a file name in an existing folder that you may write to")


def check_picture(option: str, file: Path | None) -> None:
    """Raise DuocapError unless a picture is to be named as one: PNG is written, and never over a file of another kind."""
    if file is not None and file.suffix.lower() != ".png":
        raise DuocapError(
            f"{option} {file}: a picture's file ends with .png; give a name such as {file.with_suffix('.png').name}"
        )


def checked_recording(file: Path | None) -> Path | None:
    """Give the file to record to as an absolute path with its suffix; raises DuocapError if it exists or has no folder."""
    if file is None:
        return None
    file = (file if file.suffix.lower() == ".mcap" else file.with_name(file.name + ".mcap")).absolute()
    check_folders(file)
    if file.exists():
        raise DuocapError(f"{file}: exists already, and a recording never replaces anything; choose another name")
    return file


def check_sources(*names: str | None) -> None:
    """Raise DuocapError unless every video, folder of images or session is there: before anything else is asked of the user."""
    for name in names:
        if name is not None and not Path(name).exists():
            raise DuocapError(_no_source(name))


def _no_source(name: str) -> str:
    """Say what is wrong with a recording that is not there: perhaps a camera was meant."""
    record = "record it first with `duocap record`, and give the folder that makes"
    if name.isdigit() or "://" in name or name.startswith("/dev/"):
        return f"{without_secrets(name)}: a camera that runs; this command works on recordings: {record}"
    wanted = "give a video, a folder of images, or the folder of a session"
    return f"{name}: no such file or folder; {wanted}; if it is a camera, {record}"


def checked_session(name: Path | None) -> Path | None:
    """Give where to record a run to, as an absolute path: a file that ends in .mcap, or a folder that is to be made.

    Raises DuocapError if it exists or has no folder.
    """
    if name is None or name.suffix.lower() == ".mcap":
        return checked_recording(name)
    name = name.absolute()
    if name.exists():
        raise DuocapError(f"{name}: exists already, and a recording never replaces anything; choose another name")
    if not os.access(name.parent, os.W_OK):
        raise DuocapError(f"{name}: cannot be made; choose a name in an existing folder that you may write to")
    return name


def seconds_range(text: str | None, option: str) -> tuple[float, float] | None:
    """Read `S:S` as two times in order. Raises typer.BadParameter."""
    if text is None:
        return None
    try:
        first, last = (float(part) for part in text.split(":"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not two numbers with a colon between, such as 0:2", param_hint=option) from None
    if not 0 <= first < last:
        raise typer.BadParameter(f"{text!r}: the second time must come after the first", param_hint=option)
    return first, last
