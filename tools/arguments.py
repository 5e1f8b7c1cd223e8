"""Arguments that several commands take, and how they are read.

The options every command has: --config FILE, --set key=value, --verbose, --log FILE.

How to write a command:

    @with_settings
    def simulate(settings: Settings, motion: Annotated[str, typer.Argument(help="...")], seconds: float = 5.0) -> None:
        \"\"\"One line that shows in the help.\"\"\"

Its first parameter receives the settings, loaded and checked; the others are ordinary typer parameters. The four
options appear after the command's own, and logs are started before its body runs (`logging.getLogger(__name__)`;
hand `config.logs.find_current_logs()` to child processes). Errors: raise a `DuocapError`, the launcher prints it.

Where it goes: a command of its own is a function of the command's name in tools/commands/<name>.py; a group
(`duocap database build`) is `app = typer.Typer()` in tools/commands/<group>.py or tools/commands/<group>/group.py, with
`@app.command()` above `@with_settings`.
Name either in COMMANDS of tools/cli.py. Import heavy modules (numba, cv2, scipy) inside the function, so that --help is quick.

The database a command works with: the one named, or the default one.
"""

import functools
import inspect
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from capture.sources.network.address import hide_secrets
from config.errors import DuocapError, SettingsError
from config.loading import load_settings
from config.logs import LogSettings, start_logs
from config.settings import LOCAL_MODELS, Settings

if TYPE_CHECKING:
    from database.store import PoseDatabase

LEFT = Annotated[
    str,
    typer.Argument(help="Left camera: a video file or folder of images; or a session's folder, alone.", show_default=False),
]
RIGHT = Annotated[str | None, typer.Argument(help="Right camera: likewise, of the same moments.", show_default=False)]
VIEWS = Annotated[
    list[str],
    typer.Argument(
        metavar="VIEW...",
        help="A video or a folder of images of each camera, one to eight, in the rig's order; or, alone, a session's folder.",
        show_default=False,
    ),
]
RIG = Annotated[Path, typer.Option("--rig", metavar="FILE", help="The cameras: rig.toml.", show_default=False)]
DATABASE = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="Motion database; default the one of `duocap database get` or `use`, else the built-in motions.",
        show_default=False,
    ),
]
TIMESTAMPS = Annotated[
    Path | None, typer.Option("--timestamps", metavar="FILE", help="CSV with the time of each frame.", show_default=False)
]
FPS = Annotated[float | None, typer.Option("--fps", help="Frames a second, instead of what the videos say.", show_default=False)]
LAG = Annotated[
    float | None,
    typer.Option(
        "--lag",
        metavar="SECONDS",
        min=0.0,
        max=2.0,
        help="Publish poses that are so old, such as 0.1, and have seen what came after.",
        show_default=False,
    ),
]
BACKGROUND = Annotated[
    str | None,
    typer.Option("--background", metavar="S:S", help="Seconds without the performer, such as 0:2.", show_default=False),
]


def check_model_name(name: str | None) -> str | None:
    """Return the name of a local model."""
    if name is not None and name not in LOCAL_MODELS:
        raise typer.BadParameter(f"{name!r}: no such local model; expected one of {', '.join(LOCAL_MODELS)}")
    return name


MODEL = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="<gaussian|paper>",
        help="How poses are modelled, the same as --set solve.model; paper: as in the paper.",
        show_default=False,
        callback=check_model_name,
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


def set_styles(settings: Settings, style: Path | None, save_style: Path | None, no_style: bool) -> Settings:
    """Return the settings, without styles if so asked; raise DuocapError for files that cannot be read or written, and for models
    of missing markers that are not there."""
    if no_style:
        settings = replace(settings, fill=replace(settings.fill, style=False), given=settings.given | {"fill.style"})
    for option, file in {"--style": style, "--save-style": save_style}.items():
        if file is not None and not settings.fill.uses_style:
            off = "--no-style, fill.style=false and fill.model=local or sparse"
            raise typer.BadParameter(f"styles are turned off; leave out {off}", param_hint=option)
    check_folders(save_style)
    if settings.fill.model == "sparse" and not settings.fill.dictionary:
        raise SettingsError("fill.model is sparse, but there is no dictionary; give one by fill.dictionary (duocap sparse train)")
    if settings.fill.uses_dictionary:
        from reconstruct.models.sparse.model import read_dictionary

        read_dictionary(Path(settings.fill.dictionary))
    if style is not None:
        from reconstruct.models.style.file import read_style

        read_style(style)
    return settings


def set_model(settings: Settings, model: str | None) -> Settings:
    """Return the settings with the model asked for, which is stronger than what they say; None: as they are.

    Raises SettingsError: they name an unknown one; better now than in another process.
    """
    from reconstruct.track.models import check_model

    check_model(settings.solve.model if model is None else model)
    return settings if model is None else replace(settings, solve=replace(settings.solve, model=model))


def set_lag(settings: Settings, lag_s: float | None) -> Settings:
    """Return the settings with the lag asked for, which is stronger than what they say; None: as they are."""
    return settings if lag_s is None else replace(settings, label=replace(settings.label, lag_s=lag_s))


def check_folders(*files: Path | None) -> None:
    """Raise DuocapError unless every file to be written has a folder to go to: better now than after the work."""
    for file in files:
        if file is not None and (file.is_dir() or not _is_writable(file.absolute().parent)):
            raise DuocapError(f"{file}: cannot be written; choose a file name in an existing folder that you may write to")


def _is_writable(folder: Path) -> bool:
    """Return whether a file can be made in a folder; its permissions do not tell, as on a full or read-only disk."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def check_picture(option: str, file: Path | None) -> None:
    """Raise DuocapError unless a picture is to be named as one: PNG is written, and never over a file of another kind."""
    if file is not None and file.suffix.lower() != ".png":
        raise DuocapError(
            f"{option} {file}: a picture's file ends with .png; give a name such as {file.with_suffix('.png').name}"
        )


def check_recording_file(file: Path | None) -> Path | None:
    """Return the file to record to as an absolute path with its suffix; raises DuocapError if it exists or has no folder."""
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
            raise DuocapError(_format_missing_source(name))


def _format_missing_source(name: str) -> str:
    """Return in words what is wrong with a recording that is not there: perhaps a camera was meant."""
    record = "record it first with `duocap record`, and give the folder that makes"
    if name.isdigit() or "://" in name or name.startswith("/dev/"):
        return f"{hide_secrets(name)}: a camera that runs; this command works on recordings: {record}"
    wanted = "give a video, a folder of images, or the folder of a session"
    return f"{name}: no such file or folder; {wanted}; if it is a camera, {record}"


def check_session_path(name: Path | None) -> Path | None:
    """Return where to record a run to, as an absolute path: a file that ends in .mcap, or a folder that is to be made.

    Raises DuocapError if it exists or has no folder.
    """
    if name is None or name.suffix.lower() == ".mcap":
        return check_recording_file(name)
    name = name.absolute()
    if name.exists():
        raise DuocapError(f"{name}: exists already, and a recording never replaces anything; choose another name")
    if not _is_writable(name.parent):
        raise DuocapError(f"{name}: cannot be made; choose a name in an existing folder that you may write to")
    return name


def parse_seconds_range(text: str | None, option: str) -> tuple[float, float] | None:
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


P = ParamSpec("P")

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file of settings.", show_default=False)]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, such as solve.neighbours=200; repeatable."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show details, and tracebacks of internal faults.")]
LogFile = Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Write all details to a file.", show_default=False)]

_OPTIONS = {
    "config_file": (ConfigFile, None),
    "set_values": (SetValues, None),
    "verbose": (Verbose, False),
    "log_file": (LogFile, None),
}


def add_settings_options(command: Callable[Concatenate[Settings, P], None]) -> Callable[..., None]:
    """Return `command` the shared options; its first parameter receives the settings they make."""

    @functools.wraps(command)
    def run(config_file: Path | None, set_values: list[str] | None, verbose: bool, log_file: Path | None, **own: Any) -> None:
        start_logs(LogSettings(verbose, log_file))
        bound: Callable[..., None] = command
        bound(load_settings(config_file, set_values or ()), **own)

    parameters = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    for name, (kind, default) in _OPTIONS.items():
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    del run.__dict__["__wrapped__"]  # or typer would look through to the signature of `command`
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return run


def open_database_or_default(path: Path | None) -> "PoseDatabase":
    """Open a database, or the default one (tools.database.installed). Raises DatabaseError."""
    if path is not None:
        from database.store import open_database

        return open_database(path)
    from tools.database.installed import open_default

    return open_default()
