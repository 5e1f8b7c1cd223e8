"""Settings: precedence, types, and messages that name the remedy."""

import itertools
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import pytest

from config.errors import SettingsError
from config.loading import build_settings, list_setting_keys, load_settings
from config.settings import Settings
from tools.defaults import format_defaults


@dataclass(frozen=True, slots=True)
class Inner:
    """A section with every kind of value."""

    number: float = 1.5
    count: int = 2
    on: bool = False
    text: str = ""
    mode: Literal["a", "b"] = "a"


@dataclass(frozen=True, slots=True)
class Outer:
    """Settings of one section."""

    inner: Inner = field(default_factory=Inner)


def test_defaults_file_and_dataclasses_agree() -> None:
    text = (resources.files("config") / "defaults.toml").read_text("utf-8")
    assert text == format_defaults(), "defaults.toml is out of date: python -m tools.defaults writes it"
    documented = {f"{section}.{key}": value for section, values in tomllib.loads(text).items() for key, value in values.items()}
    defaults = {key: attrgetter(key)(Settings()) for key in list_setting_keys()}
    typed = {key: tuple(value) if isinstance(value, list) else value for key, value in documented.items()}
    assert {key: (type(value), value) for key, value in typed.items()} == {
        key: (type(value), value) for key, value in defaults.items()
    }
    for above, line in itertools.pairwise(text.splitlines()):
        assert not line or line[0] in "#[" or above.startswith("# "), f"{line}: the line above must say what it is"


def test_set_wins_over_file_and_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[detector]\nk_sigma = 4\nmin_area_px = 9.5\n", "utf-8")
    settings = load_settings(file, ["detector.k_sigma=5", "detector.mode=dark", "match.max_epipolar_px = 2"])
    assert (settings.detector.k_sigma, settings.detector.min_area_px, settings.detector.mode) == (5.0, 9.5, "dark")
    assert settings.match.max_epipolar_px == 2.0
    assert isinstance(settings.detector.k_sigma, float)
    assert load_settings() == Settings()


def test_values_of_every_kind() -> None:
    table = {"number": 3, "count": 4, "on": True, "text": "t", "mode": "b"}
    assert build_settings(Outer, {"inner": table}, "test").inner == Inner(3.0, 4, True, "t", "b")


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
        ("text", 1, "must be a text, got 1"),
    ],
)
def test_wrong_types_are_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build_settings(Outer, {"inner": {key: value}}, "t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detector.k_sigm=5", "--set .*: unknown setting 'detector.k_sigm'; the closest one is 'detector.k_sigma'"),
        ("detctor.k_sigma=5", "the closest one is 'detector.k_sigma'"),  # codespell:ignore
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
    file.write_bytes(b"sigma\0")
    with pytest.raises(SettingsError, match=r"mine\.toml:1: a byte 00, .*binary"):
        load_settings(file)
