"""Settings from TOML: the defaults, then one file, then `--set key=value`; what is unknown or of the wrong type is an error."""

import difflib
import math
import tomllib
import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from config.cameras import CAMERAS
from config.errors import SettingsError, reason
from config.settings import INTERNAL, Control, Settings, SideSettings, Signed

T = TypeVar("T")
_UNIONS = (Union, types.UnionType)


def load_settings(file: Path | None = None, sets: Sequence[str] = ()) -> Settings:
    """Give the settings of a run: defaults < `file` < `sets` (each "section.key=value", the value in TOML).

    Raises SettingsError: no such file, not TOML, unknown key (with the closest known one), value of the wrong type.
    """
    table: dict[str, Any] = {}
    if file is not None:
        table = _read(file)
        build(Settings, table, str(file))  # so that a fault in the file is blamed on the file
    for text in sets:
        key, value = _parse_set(text)
        build(Settings, _nested(key, value), f"--set {text}")
        _put(table, key, value)
    return replace(build(Settings, table, "settings"), given=frozenset(_paths(table)))


def build(kind: type[T], table: Mapping[str, Any], source: str, prefix: str = "") -> T:
    """Fill the settings dataclass `kind` from a table; keys that are absent keep their defaults."""
    hints = _hints(kind)
    values = {}
    for key, raw in table.items():
        where = f"{prefix}{key}"
        if key not in hints:
            unknown = ".".join([where, *_first_path(raw)])
            raise SettingsError(f"{source}: unknown setting {unknown!r}; {_hint(unknown)}")
        section = _section(hints[key])
        if section is None:
            values[key] = _value(hints[key], raw, f"{source}: {where}")
            continue
        if not isinstance(raw, dict):
            raise SettingsError(f"{source}: {where} is a section, not a value; give it keys: {_listed(section, where)}")
        built = build(section, raw, source, f"{where}.")
        # Of what is otherwise for one camera only the given values count: the others are those of both cameras.
        values[key] = built if is_dataclass(hints[key]) else {name: getattr(built, name) for name in raw}
    return kind(**values)


def settings_table(settings: Settings) -> dict[str, Any]:
    """Give settings as the table that `load_settings` reads from TOML, complete; what is internal is left out."""
    table = asdict(settings)
    del table["given"]
    for side in CAMERAS:
        del table[side]["name"]
        table[side] = {section: values for section, values in table[side].items() if values}
        if not table[side]:
            del table[side]
    return table


def known_keys(kind: Any = Settings, prefix: str = "") -> tuple[str, ...]:
    """List every setting by its dotted name; those of one camera are the same again and not in it."""
    keys: list[str] = []
    for name, hint in _hints(kind).items():
        if hint is SideSettings:
            continue
        section = _section(hint)
        keys += known_keys(section, f"{prefix}{name}.") if section is not None else [prefix + name]
    return tuple(keys)


def _hints(kind: Any) -> dict[str, Any]:
    """Give the types of a section's settings by name, without what is none."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if INTERNAL not in getattr(hint, "__metadata__", ())}


def _section(hint: Any) -> Any:
    """Give the dataclass of a section, or of a section's changes for one camera; None for a value."""
    if is_dataclass(hint):
        return hint
    return next((kind for kind in getattr(hint, "__metadata__", ()) if is_dataclass(kind)), None)


def _paths(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Give the dotted names of all values of nested tables."""
    paths: list[str] = []
    for key, value in table.items():
        paths += _paths(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]
    return paths


def _first_path(raw: Any) -> list[str]:
    """Give the keys down to the first value of a nested table."""
    for key, value in raw.items() if isinstance(raw, dict) else ():
        return [key, *_first_path(value)]
    return []


def _listed(kind: Any, prefix: str) -> str:
    """Name the keys of one section."""
    return ", ".join(known_keys(kind, f"{prefix}."))


def _hint(key: str) -> str:
    """Say what was probably meant: the same key in another section, else the closest name."""
    side = next((f"{side}." for side in CAMERAS if key.startswith(f"{side}.")), "")
    own, keys = key.removeprefix(side), known_keys(SideSettings) if side else known_keys()
    same = [known for known in keys if known.rpartition(".")[2] == own.rpartition(".")[2]]
    close = same or difflib.get_close_matches(own, keys, 1, 0.5)
    if close:
        return f"the closest one is {side + close[0]!r}"
    return "known sections: " + ", ".join(sorted({side + known.partition(".")[0] for known in keys}))


def _read(file: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot read the settings ({reason(error)}); give an existing TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not valid TOML: {error}") from error


def _parse_set(text: str) -> tuple[str, Any]:
    """Split "key=value"; a value that is not TOML is taken as a plain word, so that detector.mode=dark works unquoted."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingsError(f"--set {text}: expected key=value, such as detector.k_sigma=5")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _nested(key: str, value: Any) -> dict[str, Any]:
    """Turn "a.b" and a value into {"a": {"b": value}}."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set "a.b" in nested tables."""
    *sections, last = key.split(".")
    for section in sections:
        table = table.setdefault(section, {})
    table[last] = value


def _value(hint: Any, raw: Any, where: str) -> Any:
    """Give `raw` as the type `hint` says, or raise SettingsError."""
    if hint is Control:
        return _control(raw, where)
    signed = hint is Signed
    hint = float if signed else hint
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        if raw not in args:
            raise SettingsError(f"{where} must be one of {', '.join(map(repr, args))}, got {raw!r}")
        return raw
    if origin in _UNIONS:
        return _value(next(arg for arg in args if arg is not type(None)), raw, where)
    if origin is tuple:
        return _sequence(args, raw, where)
    if hint is Path and isinstance(raw, str):
        return Path(raw)
    value = float(raw) if hint is float and type(raw) is int else raw
    if type(value) is not hint:
        raise SettingsError(f"{where} must be {_kind(hint)}, got {raw!r}")
    if hint in (int, float) and not (math.isfinite(value) and (signed or value >= 0)):
        raise SettingsError(f"{where} must be {'' if signed else '0 or more and '}finite, got {raw!r}")
    return value


def _control(raw: Any, where: str) -> str:
    """Give a camera's control as text: auto, or a number, which may be written as one."""
    text = raw.strip() if isinstance(raw, str) else repr(raw)
    try:
        fits = text == "auto" or (not isinstance(raw, bool) and math.isfinite(float(text)))
    except ValueError:
        fits = False
    if not fits:
        raise SettingsError(f"{where} must be auto or a number, got {raw!r}")
    return text


def _sequence(args: tuple[Any, ...], raw: Any, where: str) -> tuple[Any, ...]:
    """Give a TOML array as a tuple whose items are checked."""
    length = None if args[-1] is Ellipsis else len(args)
    if not isinstance(raw, list) or (length is not None and len(raw) != length):
        raise SettingsError(f"{where} must be a list{'' if length is None else f' of {length} values'}, got {raw!r}")
    hints = args if length is not None else (args[0],) * len(raw)
    return tuple(_value(hint, item, where) for hint, item in zip(hints, raw, strict=True))


def _kind(hint: Any) -> str:
    """Name a type in words."""
    return {float: "a number", int: "a whole number", bool: "true or false", str: "a text", Path: "a path"}.get(hint, str(hint))
