"""Settings: precedence, types, and messages that name the remedy."""

import itertools
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pytest

from config.errors import SettingsError
from config.loading import build, known_keys, load_settings
from config.settings import Settings
from tools.defaults import defaults_text


@dataclass(frozen=True, slots=True)
class Inner:
    """A section with every kind of value."""

    number: float = 1.5
    count: int = 2
    on: bool = False
    mode: Literal["a", "b"] = "a"
    size: tuple[int, int] = (640, 480)
    names: tuple[str, ...] = ()
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    """Settings of one section."""

    inner: Inner = field(default_factory=Inner)


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested tables into dotted keys, arrays into tuples."""
    found = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = tuple(value) if isinstance(value, list) else value
    return found


def default_of(key: str) -> Any:
    """Give the default of a dotted key."""
    value: Any = Settings()
    for part in key.split("."):
        value = getattr(value, part)
    return value


def test_defaults_file_and_dataclasses_agree() -> None:
    text = (resources.files("config") / "defaults.toml").read_text("utf-8")
    assert text == defaults_text(), "defaults.toml is out of date: python -m tools.defaults writes it anew"
    documented = flat(tomllib.loads(text))
    assert sorted(documented) == sorted(known_keys())
    assert {key: (type(value), value) for key, value in documented.items()} == {
        key: (type(default_of(key)), default_of(key)) for key in known_keys()
    }


def test_every_default_is_explained() -> None:
    lines = (resources.files("config") / "defaults.toml").read_text("utf-8").splitlines()
    for above, line in itertools.pairwise(lines):
        if line and line[0] not in "#[":
            assert above.startswith("# "), f"{line}: the line above must say what it is"


def test_set_wins_over_file_and_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[detector]\nk_sigma = 4\nmin_area_px = 9.5\n", "utf-8")
    settings = load_settings(file, ["detector.k_sigma=5", "detector.mode=dark", "match.max_epipolar_px = 2"])
    assert (settings.detector.k_sigma, settings.detector.min_area_px, settings.detector.mode) == (5.0, 9.5, "dark")
    assert settings.match.max_epipolar_px == 2.0
    assert isinstance(settings.detector.k_sigma, float)
    assert load_settings() == Settings()


def test_values_of_every_kind() -> None:
    table = {"number": 3, "count": 4, "on": True, "mode": "b", "size": [2, 1], "names": ["x"], "file": "f.txt"}
    expected = Inner(3.0, 4, True, "b", (2, 1), ("x",), Path("f.txt"))
    assert build(Outer, {"inner": table}, "test").inner == expected


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("number", "3", "t: inner.number must be a number, got '3'"),
        ("number", True, "must be a number, got True"),
        ("count", 2.0, "must be a whole number, got 2.0"),
        ("count", -1, "inner.count must be 0 or more and finite, got -1"),
        ("number", float("nan"), "must be 0 or more and finite, got nan"),
        ("number", float("inf"), "must be 0 or more and finite, got inf"),
        ("on", 1, "must be true or false, got 1"),
        ("mode", "c", "must be one of 'a', 'b', got 'c'"),
        ("size", [1, 2, 3], r"must be a list of 2 values, got \[1, 2, 3\]"),
        ("names", [1], "must be a text, got 1"),
    ],
)
def test_wrong_types_are_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build(Outer, {"inner": {key: value}}, "t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detector.k_sigm=5", "--set .*: unknown setting 'detector.k_sigm'; the closest one is 'detector.k_sigma'"),
        ("detctor.k_sigma=5", "the closest one is 'detector.k_sigma'"),
        ("k_sigma=5", "the closest one is 'detector.k_sigma'"),
        ("zzzzzz=5", "known sections: .*detector.*match"),
        ("detector=5", "detector is a section, not a value; give it keys: detector.mode"),
        ("detector.k_sigma", "expected key=value"),
        ("detector.k_sigma=", "must be a number, got ''"),
    ],
)
def test_faulty_sets_name_the_remedy(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(None, [text])


def test_a_fault_in_the_file_is_blamed_on_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    with pytest.raises(SettingsError, match=r"mine\.toml: cannot read the settings"):
        load_settings(file)
    file.write_text("[detector\n", "utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: not valid TOML: .*line 1"):
        load_settings(file)
    file.write_text("[detector]\nsigma = 4\n", "utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: unknown setting 'detector\.sigma'"):
        load_settings(file, ["detector.k_sigma=5"])
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="cannot read"):
        load_settings(file)
    file.write_text("detector = 3\n", "utf-8")
    with pytest.raises(SettingsError, match="is a section"):
        load_settings(file, ["detector.k_sigma=5"])
