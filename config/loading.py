"""Settings from TOML: the defaults, then one file, then `--set key=value`; and back to TOML.

The sections and keys are the fields of the dataclasses in `config.settings`. Unknown keys and values of another type are errors.
"""

import difflib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tomli_w

from config.errors import SettingsError
from config.files import read_toml
from config.settings import CAMERA_NAMES, INTERNAL, Control, Numbers, Settings, SideSettings, Signed

T = TypeVar("T")
HEAD = "# Every setting as it was. Give this file with --config to have the same again.\n\n"
TYPE_NAMES = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


def load_settings(file: Path | None = None, sets: Sequence[str] = ()) -> Settings:
    """Return the settings of a run: defaults < `file` < `sets` (each "section.key=value", the value in TOML).

    Raises SettingsError: no such file, not TOML, unknown key (with the closest known one), value of the wrong type.
    """
    table: dict[str, Any] = {}
    if file is not None:
        table = read_toml(file, SettingsError, "the settings", "give an existing TOML file")
        build_settings(Settings, table, str(file))  # so that the message of a fault in the file names the file
    for text in sets:
        key, value = _parse_set(text)
        build_settings(Settings, _nest_value(key, value), f"--set {text}")
        _set_nested(table, key, value)
    return replace(build_settings(Settings, table, "settings"), given=frozenset(_list_dotted_names(table)))


def build_settings(kind: type[T], table: Mapping[str, Any], source: str, prefix: str = "") -> T:
    """Return a settings dataclass with the values of a table; absent keys keep their defaults.

    Args:
        kind: the dataclass.
        table: the values.
        source: named in errors.
        prefix: of the keys in errors, such as `detector.`.
    Raises: SettingsError: as `load_settings`.
    """
    hints = _find_setting_types(kind)
    values = {}
    for key, raw in table.items():
        where = f"{prefix}{key}"
        if key not in hints:
            unknown = ".".join([where, *_find_first_path(raw)])
            raise SettingsError(f"{source}: unknown setting {unknown!r}; {_suggest_key(unknown)}")
        section = _find_section_type(hints[key])
        if section is None:
            values[key] = _convert_value(hints[key], raw, f"{source}: {where}")
            continue
        if not isinstance(raw, dict):
            keys = ", ".join(list_setting_keys(section, f"{where}."))
            raise SettingsError(f"{source}: {where} is a section, not a value; give it keys: {keys}")
        built = build_settings(section, raw, source, f"{where}.")
        # A camera's own section holds the given values only; the others are those of all cameras.
        values[key] = built if is_dataclass(hints[key]) else {name: getattr(built, name) for name in raw}
    return kind(**values)


def format_settings(settings: Settings) -> str:
    """Return all settings as the text of a TOML file that `load_settings` reads as the same settings."""
    table = asdict(settings)
    del table["given"]
    for side in CAMERA_NAMES:
        del table[side]["name"]
        table[side] = {section: values for section, values in table[side].items() if values}
        if not table[side]:
            del table[side]
    return HEAD + tomli_w.dumps(table)


def list_setting_keys(kind: Any = Settings, prefix: str = "") -> tuple[str, ...]:
    """Return every setting by its dotted name, without the repetition of sections for one camera."""
    keys: list[str] = []
    for name, hint in _find_setting_types(kind).items():
        if hint is SideSettings:
            continue
        section = _find_section_type(hint)
        keys += list_setting_keys(section, f"{prefix}{name}.") if section is not None else [prefix + name]
    return tuple(keys)


def _find_setting_types(kind: Any) -> dict[str, Any]:
    """Return the types of a section's settings by name, without internal fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if INTERNAL not in getattr(hint, "__metadata__", ())}


def _find_section_type(hint: Any) -> Any:
    """Return the dataclass of a section, also of one that holds the changes for one camera; None for a value."""
    if is_dataclass(hint):
        return hint
    return next((kind for kind in getattr(hint, "__metadata__", ()) if is_dataclass(kind)), None)


def _list_dotted_names(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted names of all values of nested tables."""
    paths: list[str] = []
    for key, value in table.items():
        paths += _list_dotted_names(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]
    return paths


def _find_first_path(raw: Any) -> list[str]:
    """Return the keys down to the first value of a nested table."""
    for key, value in raw.items() if isinstance(raw, dict) else ():
        return [key, *_find_first_path(value)]
    return []


def _suggest_key(key: str) -> str:
    """Return what was probably meant: the same key in another section, else the closest name, else the sections."""
    side = next((f"{side}." for side in CAMERA_NAMES if key.startswith(f"{side}.")), "")
    own, keys = key.removeprefix(side), list_setting_keys(SideSettings) if side else list_setting_keys()
    same = [known for known in keys if known.rpartition(".")[2] == own.rpartition(".")[2]]
    close = same or difflib.get_close_matches(own, keys, 1, 0.5)
    if close:
        return f"the closest one is {side + close[0]!r}"
    return "known sections: " + ", ".join(sorted({side + known.partition(".")[0] for known in keys}))


def _parse_set(text: str) -> tuple[str, Any]:
    """Split "key=value"; a value that is not TOML is taken as text, so that detector.mode=dark works unquoted."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingsError(f"--set {text}: expected key=value, such as detector.k_sigma=5")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _nest_value(key: str, value: Any) -> dict[str, Any]:
    """Return "a.b" and a value as {"a": {"b": value}}."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def _set_nested(table: dict[str, Any], key: str, value: Any) -> None:
    """Set "a.b" in nested tables."""
    *sections, last = key.split(".")
    for section in sections:
        table = table.setdefault(section, {})
    table[last] = value


def _convert_value(hint: Any, raw: Any, where: str) -> Any:
    """Return `raw` as the type of a setting; `where` begins the message of a SettingsError."""
    if hint is Control:
        return _convert_control(raw, where)
    if hint is Numbers:
        return _convert_numbers(raw, where)
    signed = hint is Signed
    hint = float if signed else hint
    if get_origin(hint) is Literal:
        if raw not in get_args(hint):
            raise SettingsError(f"{where} must be one of {', '.join(map(repr, get_args(hint)))}, got {raw!r}")
        return raw
    value = float(raw) if hint is float and type(raw) is int else raw
    if type(value) is not hint:
        raise SettingsError(f"{where} must be {TYPE_NAMES[hint]}, got {raw!r}")
    if hint in (int, float) and not (math.isfinite(value) and (signed or value >= 0)):
        raise SettingsError(f"{where} must be {'' if signed else '0 or more and '}finite, got {raw!r}")
    return value


def _convert_numbers(raw: Any, where: str) -> tuple[float, ...]:
    """Return a list of finite numbers."""
    numbers = isinstance(raw, list | tuple) and all(type(value) in (int, float) and math.isfinite(value) for value in raw)
    if not numbers:
        raise SettingsError(f"{where} must be a list of numbers, such as [3.5, -2.0], got {raw!r}")
    return tuple(float(value) for value in raw)


def _convert_control(raw: Any, where: str) -> str:
    """Return a camera control as text: auto, or a number, which may be given as one."""
    text = raw.strip() if isinstance(raw, str) else repr(raw)
    try:
        fits = text == "auto" or (not isinstance(raw, bool) and math.isfinite(float(text)))
    except ValueError:
        fits = False
    if not fits:
        raise SettingsError(f"{where} must be auto or a number, got {raw!r}")
    return text
