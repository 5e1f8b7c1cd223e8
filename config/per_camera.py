"""Settings that differ by camera: sections `left` and `right`, and the file of what was tuned by hand, by camera name.

Weakest first: the defaults, what was tuned for a camera, `--config`, `--set`; of equals, a camera's own section wins.
"""

import logging
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import platformdirs
import tomli_w

from config.cameras import CAMERAS
from config.errors import SettingsError, reason
from config.files import atomic_write
from config.loading import build
from config.settings import CameraSettings, Settings, SideSettings

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 1 << 20
HEAD = "# What was tuned in duocap's viewer, by camera. Remove a camera's sections, or this file, to forget it.\n\n"
# What a camera that runs can be asked for; size, rate and format are settled when it is opened.
CONTROLS = ("exposure", "gain", "white_balance", "focus")
OPENING = tuple(name for name in CameraSettings.__dataclass_fields__ if name not in CONTROLS)

Table = dict[str, dict[str, Any]]


def settings_of(settings: Settings, camera: int) -> Settings:
    """Give the settings as they are for one camera, 0 left or 1 right."""
    side = _side(settings, camera)
    return replace(
        settings,
        detector=replace(settings.detector, **side.detector),
        camera=replace(settings.camera, **side.camera),
        left=SideSettings(),
        right=SideSettings(),
    )


def tuned_file(settings: Settings) -> Path:
    """Give the file of tuned values."""
    if settings.capture.tuned:
        return Path(settings.capture.tuned)
    return Path(platformdirs.user_config_dir("duocap", appauthor=False)) / "tuned.toml"


def with_tuned(settings: Settings, names: Sequence[str], tell: Callable[[str], None] = log.info) -> Settings:
    """Give the settings with what was tuned for these cameras, as far as nobody gave it.

    names: stable name of each camera, or what the user calls it by, left first; empty for none. tell: hears in a line what is
    used, or why something is not: a file that cannot be used stops no run.
    """
    file = tuned_file(settings)
    try:
        known = read_tuned(file)
    except SettingsError as error:
        tell(str(error))
        known = {}
    for side, name in zip(CAMERAS, names, strict=False):
        changes = getattr(settings, side)
        table = known.get(name, {}) if name else {}
        tuned = {section: _kept(settings, side, section, table.get(section, {})) for section in ("detector", "camera")}
        if any(tuned.values()):
            tell(f"{side} camera: using tuned settings of {name} from {file}")
        changes = replace(
            changes,
            name=name,
            detector={**tuned["detector"], **changes.detector},
            camera={**tuned["camera"], **changes.camera},
        )
        settings = replace(settings, **{side: changes})
    return settings


def without_tuned(settings: Settings) -> Settings:
    """Give the settings without what `with_tuned` added."""
    for side in CAMERAS:
        changes = getattr(settings, side)
        own = {
            section: {
                key: value for key, value in getattr(changes, section).items() if f"{side}.{section}.{key}" in settings.given
            }
            for section in ("detector", "camera")
        }
        settings = replace(settings, **{side: replace(changes, **own)})
    return settings


def read_tuned(file: Path) -> dict[str, Table]:
    """Give what was tuned, by camera name and section, checked; empty without a file. Raises SettingsError."""
    advice = "it is not used; correct it, or remove it"
    try:
        if not file.exists():
            return {}
        if file.stat().st_size > MAX_FILE_BYTES:
            raise SettingsError(f"{file}: larger than any file of tuned settings; {advice}")
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({reason(error)}); {advice}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not valid TOML: {error}; {advice}") from error
    known = {}
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise SettingsError(f"{file}: {name!r} should be a camera with sections detector and camera; {advice}")
        side = build(SideSettings, entry, f"{file}: {name}")
        known[name] = {"detector": dict(side.detector), "camera": dict(side.camera)}
    return known


def save_tuned(file: Path, tuned: Mapping[str, Table]) -> None:
    """Keep what was tuned for some cameras; one with nothing tuned is forgotten, the others stay. The file is replaced whole.

    Raises SettingsError: what is there is no such file; FileFormatError: it cannot be written.
    """
    known = {**read_tuned(file), **tuned}
    filled = {name: {section: values for section, values in table.items() if values} for name, table in known.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, HEAD + tomli_w.dumps({name: table for name, table in sorted(filled.items()) if table}))


def _side(settings: Settings, camera: int) -> SideSettings:
    """Give the section of one camera."""
    side: SideSettings = getattr(settings, CAMERAS[camera])
    return side


def _kept(settings: Settings, side: str, section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the tuned values of a section that neither a file nor the command line gave otherwise."""
    given = settings.given
    return {key: value for key, value in values.items() if not {f"{section}.{key}", f"{side}.{section}.{key}"} & given}
