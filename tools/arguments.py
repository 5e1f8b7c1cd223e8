"""Checks of what commands are given, before they begin to work, and the settings that options change.

The options themselves: tools/commands/options.py.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from capture.sources.network.address import hide_secrets
from config.errors import DuocapError, SettingsError
from config.settings import Settings

if TYPE_CHECKING:
    from database.store import PoseDatabase
    from stream.publish.fanout import OutputFactory


def set_styles(settings: Settings, style: Path | None, save_style: Path | None, no_style: bool) -> Settings:
    """Return the settings, without styles if so asked; raise DuocapError for files that cannot be read or written, and for models
    of missing markers that are not there.

    Args:
        settings: settings of the run.
        style: the file to begin with.
        save_style: the file for the last one.
        no_style: use none.
    """
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
    """Return the settings with the given model in place of theirs; None leaves them as they are.

    Raises SettingsError: they name an unknown one; better now than in another process.
    """
    from reconstruct.track.local_models import check_model

    check_model(settings.solve.model if model is None else model)
    return settings if model is None else replace(settings, solve=replace(settings.solve, model=model))


def set_lag(settings: Settings, lag_s: float | None) -> Settings:
    """Return the settings with the given lag in place of theirs; None leaves them as they are."""
    return settings if lag_s is None else replace(settings, label=replace(settings.label, lag_s=lag_s))


def create_vmc_outputs(values: Sequence[str] | None) -> tuple["OutputFactory", ...]:
    """Return factories of the VMC outputs asked for, picklable. Raises VmcError: what is no target, or cannot be found."""
    if not values:
        return ()
    from stream.vmc.output import VmcOutput
    from stream.vmc.sender import parse_vmc_target, resolve_target

    targets = [parse_vmc_target(value) for value in values]
    for target in targets:
        resolve_target(target)  # rather now, in one line, than from another process after a minute of getting ready
    return tuple(partial(VmcOutput, target) for target in targets)


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


def check_suffix(option: str, file: Path | None, *suffixes: str) -> None:
    """Raise DuocapError unless the name of a file to be written, if there is one, ends as it should."""
    if file is not None and file.suffix.lower() not in suffixes:
        *others, last = suffixes
        known = f"{', '.join(others)} or {last}" if others else last
        example = file.with_suffix(last).name if file.name else f"walk{last}"
        raise DuocapError(f"{option} {file}: expected a name that ends with {known}, such as {example}")


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


def check_range(option: str, value: float | None, limits: tuple[float, float], unit: str = "mm") -> None:
    """Raise typer.BadParameter unless the value of an option is within limits, or not given."""
    low, high = limits
    if value is not None and not low <= value <= high:
        raise typer.BadParameter(f"{value:g} {unit}; expected {low:g} to {high:g} {unit}", param_hint=option)


def check_time_span(from_s: float, to_s: float | None) -> float:
    """Return the time of --to, inf where it is not given. Raises DuocapError: it is not after that of --from."""
    end_s = math.inf if to_s is None else to_s
    if not 0.0 <= from_s < end_s:
        asked = f"--from {from_s:g}" + ("" if to_s is None else f" --to {to_s:g}")
        raise DuocapError(f"{asked}: the times must be from 0 on, the second after the first")
    return end_s


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


def open_database_or_default(path: Path | None) -> "PoseDatabase":
    """Open a database, or the default one (tools.database.installed). Raises DatabaseError."""
    if path is not None:
        from database.store import open_database

        return open_database(path)
    from tools.database.installed import open_default

    return open_default()
