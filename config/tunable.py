"""What can be changed while a camera runs: its detector's settings within bounds, and the controls a camera has."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from config.errors import SettingsError
from config.loading import build
from config.per_camera import CONTROLS, OPENING
from config.settings import DetectorSettings, SideSettings

Value = int | float | str
MAX_VALUES = 32
MAX_CONTROL = 1e7
# Wider than anybody needs, and narrow enough that no arithmetic on pixels minds.
BOUNDS: dict[str, tuple[float, float]] = {
    "detector.k_sigma": (0.5, 50.0),
    "detector.min_difference": (1.0, 255.0),
    "detector.min_area_px": (0.0, 10_000.0),
}
OTHER_BOUNDS = (0.0, 1e6)
DETECTOR_KEYS = tuple(f"detector.{field.name}" for field in fields(DetectorSettings))
CONTROL_KEYS = tuple(f"camera.{name}" for name in CONTROLS)
TUNABLE = DETECTOR_KEYS + CONTROL_KEYS


def checked(values: Mapping[str, Any], source: str = "tuning") -> dict[str, Any]:
    """Give settings by dotted name with their own types, if a running camera can be given them.

    Raises SettingsError: too many, unknown, settled when a camera is opened, of the wrong type, or out of bounds.
    """
    if len(values) > MAX_VALUES:
        raise SettingsError(f"{source}: {len(values)} settings at once, at most {MAX_VALUES} are taken")
    return {key: _checked(key, value, source) for key, value in values.items()}


def nested(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give settings by section and name."""
    table: dict[str, dict[str, Any]] = {"detector": {}, "camera": {}}
    for key, value in values.items():
        section, _, name = key.partition(".")
        table[section][name] = value
    return table


def flat(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Give the settings of sections by dotted name, those that can be tuned."""
    named = {f"{section}.{name}": value for section, values in table.items() for name, value in values.items()}
    return {key: value for key, value in named.items() if key in TUNABLE}


def choices(key: str) -> tuple[str, ...]:
    """Give the words a detector's setting can be, none where it is a number."""
    hint = get_type_hints(DetectorSettings).get(key.removeprefix("detector."))
    return tuple(value for value in getattr(hint, "__args__", ()) if isinstance(value, str))


def _checked(key: str, value: Any, source: str) -> Any:
    """Give one setting with its type."""
    section, _, name = key[:100].partition(".")
    if section == "camera" and name in OPENING:
        raise SettingsError(f"{source}: {key} is settled when the camera is opened; start again with --set {key}=...")
    if not name:
        raise SettingsError(f"{source}: {key[:100]!r} is no setting of a camera; known are {', '.join(TUNABLE)}")
    side = build(SideSettings, {section: {name: value}}, source)
    typed = getattr(side, section)[name]
    number = _number(typed)
    low, high = (-MAX_CONTROL, MAX_CONTROL) if section == "camera" else BOUNDS.get(key, OTHER_BOUNDS)
    if number is not None and not low <= number <= high:
        raise SettingsError(f"{source}: {key} must be within {low:g} and {high:g}, got {typed}")
    return typed


def _number(value: Any) -> float | None:
    """Give the number of a setting or of a control that is one."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None if isinstance(value, bool) else float(value)
