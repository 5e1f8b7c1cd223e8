"""Settings of one camera: sections `left`, `right`, `third`..., values tuned by hand, and which can change while it runs.

Tuned values are stored by camera name. Weakest first: the defaults, tuned values, `--config`, `--set`; of equals, a camera's own
section wins.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import platformdirs
import tomli_w

from config.errors import SettingsError, describe_reason
from config.files import read_toml, write_atomically
from config.loading import build_settings
from config.settings import CAMERA_NAMES, CameraSettings, DetectorSettings, Settings, SideSettings

log = logging.getLogger(__name__)

HEAD = "# What was tuned in duocap's viewer, by camera. Remove a camera's sections, or this file, to forget it.\n\n"
MAX_FILE_BYTES = 1 << 20
# The controls a camera can be given while it runs; size, rate and format are settled when it is opened.
CONTROLS = ("exposure", "gain", "white_balance", "focus")
SETTLED_WHEN_OPENED = tuple(name for name in CameraSettings.__dataclass_fields__ if name not in CONTROLS)
SECTIONS = ("detector", "camera")
DETECTOR_MODES: tuple[str, ...] = get_args(get_type_hints(DetectorSettings)["mode"])
TUNABLE = (*(f"detector.{field.name}" for field in fields(DetectorSettings)), *(f"camera.{name}" for name in CONTROLS))
MAX_VALUES = 32  # in one request
# Wider than anybody needs, and narrow enough for the arithmetic on pixels.
BOUNDS: dict[str, tuple[float, float]] = {
    "detector.k_sigma": (0.5, 50.0),
    "detector.min_difference": (1.0, 255.0),
    "detector.min_area_px": (0.0, 10_000.0),
    **{f"camera.{name}": (-1e7, 1e7) for name in CONTROLS},
}
OTHER_BOUNDS = (0.0, 1e6)

Table = dict[str, dict[str, Any]]  # values by section and name


def find_camera_settings(settings: Settings, camera: int) -> Settings:
    """Return the settings of one camera of the rig, by its number."""
    side: SideSettings = getattr(settings, CAMERA_NAMES[camera])
    sections: dict[str, Any] = {name: SideSettings() for name in CAMERA_NAMES}
    sections["detector"] = replace(settings.detector, **side.detector)
    sections["camera"] = replace(settings.camera, **side.camera)
    return replace(settings, **sections)


def find_tuned_file(settings: Settings) -> Path:
    """Return the file of tuned values."""
    if settings.capture.tuned:
        return Path(settings.capture.tuned)
    return Path(platformdirs.user_config_dir("duocap", appauthor=False)) / "tuned.toml"


def add_tuned_values(settings: Settings, names: Sequence[str], tell: Callable[[str], None] = log.info) -> Settings:
    """Return the settings with the tuned values of these cameras where the user gave none.

    Args:
        settings: of the run.
        names: name of each camera under which values are stored, in order, empty for none.
        tell: receives a line for each camera with tuned values, or why the file cannot be used, which is no error.
    """
    file = find_tuned_file(settings)
    try:
        known = read_tuned_values(file)
    except SettingsError as error:
        tell(str(error))
        known = {}
    for side, name in zip(CAMERA_NAMES, names, strict=False):
        changes = getattr(settings, side)
        table = known.get(name, {}) if name else {}
        tuned = {section: _select_not_given(settings, side, section, table.get(section, {})) for section in SECTIONS}
        if any(tuned.values()):
            tell(f"{side} camera: using tuned settings of {name} from {file}")
        both = {section: {**tuned[section], **getattr(changes, section)} for section in SECTIONS}
        settings = replace(settings, **{side: replace(changes, name=name, **both)})
    return settings


def remove_tuned_values(settings: Settings) -> Settings:
    """Return the settings without the values that `add_tuned_values` added."""
    for side in CAMERA_NAMES:
        changes = getattr(settings, side)
        own = {
            section: {
                key: value for key, value in getattr(changes, section).items() if f"{side}.{section}.{key}" in settings.given
            }
            for section in SECTIONS
        }
        settings = replace(settings, **{side: replace(changes, **own)})
    return settings


def read_tuned_values(file: Path) -> dict[str, Table]:
    """Return the tuned values by camera name, checked; empty if there is no file. Raises SettingsError."""
    advice = "it is not used; correct it, or remove it"
    try:
        if not file.exists():
            return {}
        if file.stat().st_size > MAX_FILE_BYTES:
            raise SettingsError(f"{file}: larger than any file of tuned settings; {advice}")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({describe_reason(error)}); {advice}") from error
    table = read_toml(file, SettingsError, "the tuned settings", advice)
    known = {}
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise SettingsError(f"{file}: {name!r} should be a camera with sections detector and camera; {advice}")
        side = build_settings(SideSettings, entry, f"{file}: {name}")
        known[name] = {"detector": dict(side.detector), "camera": dict(side.camera)}
    return known


def save_tuned_values(file: Path, tuned: Mapping[str, Table]) -> None:
    """Save the tuned values of some cameras and keep those of the others; a camera without any is removed from the file.

    Raises SettingsError: the file there is no file of tuned values; FileFormatError: it cannot be written.
    """
    known = {**read_tuned_values(file), **tuned}
    filled = {name: {section: values for section, values in table.items() if values} for name, table in known.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, HEAD + tomli_w.dumps({name: table for name, table in sorted(filled.items()) if table}))


def check_tuning(values: Mapping[str, Any], source: str = "tuning") -> dict[str, Any]:
    """Return settings by dotted name with their own types, if a running camera can be given them.

    source: named in errors. Raises SettingsError: too many, unknown, settled when a camera is opened, of the wrong type, or out
    of bounds.
    """
    if len(values) > MAX_VALUES:
        raise SettingsError(f"{source}: {len(values)} settings at once, at most {MAX_VALUES} are taken")
    return {key: _check_value(key, value, source) for key, value in values.items()}


def nest_by_section(values: Mapping[str, Any]) -> Table:
    """Return settings by dotted name as a table of both sections."""
    table: Table = {section: {} for section in SECTIONS}
    for key, value in values.items():
        section, _, name = key.partition(".")
        table[section][name] = value
    return table


def flatten_by_key(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of a table by dotted name, only those that can be tuned."""
    named = {f"{section}.{name}": value for section, values in table.items() for name, value in values.items()}
    return {key: value for key, value in named.items() if key in TUNABLE}


def _select_not_given(settings: Settings, side: str, section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section that neither a file nor the command line gives."""
    return {key: value for key, value in values.items() if not {f"{section}.{key}", f"{side}.{section}.{key}"} & settings.given}


def _check_value(key: str, value: Any, source: str) -> Any:
    """Return one setting with its type, or raise SettingsError."""
    section, _, name = key[:100].partition(".")
    if section == "camera" and name in SETTLED_WHEN_OPENED:
        raise SettingsError(f"{source}: {key} is settled when the camera is opened; start again with --set {key}=...")
    if not name:
        raise SettingsError(f"{source}: {key[:100]!r} is no setting of a camera; known are {', '.join(TUNABLE)}")
    typed = getattr(build_settings(SideSettings, {section: {name: value}}, source), section)[name]
    low, high = BOUNDS.get(key, OTHER_BOUNDS)
    with contextlib.suppress(ValueError):  # a mode, or the control auto
        if not low <= float(typed) <= high:
            raise SettingsError(f"{source}: {key} must be within {low:g} and {high:g}, got {typed}")
    return typed
