"""Options declared as dataclasses: what typer sees of them, and what a command receives."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer

from config.errors import SettingsError
from config.settings import Settings
from tools.commands.declaration import CommonOptions, add_settings_options
from tools.commands.options import VideoOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    word: Annotated[str, typer.Argument()]
    videos: VideoOptions
    repeats: Annotated[int, typer.Option(min=1)] = 2


def call(command: Callable[..., None], *words: str) -> None:
    app = typer.Typer()
    app.command()(command)
    app(list(words), standalone_mode=False)


def test_a_command_receives_its_settings_and_its_options_with_those_of_groups() -> None:
    received: list[tuple[Settings, ProbeOptions, bool]] = []

    @add_settings_options
    def probe(settings: Settings, options: ProbeOptions, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        received.append((settings, options, loud))

    call(probe, "hello")
    call(probe, "hello", "--fps", "30", "--loud", "--repeats", "3", "--background", "0:2", "--set", "solve.neighbours=7")
    plain, full = received
    assert plain == (Settings(), ProbeOptions(word="hello", videos=VideoOptions()), False)
    assert full[0].solve.neighbours == 7 and full[2]
    assert full[1] == ProbeOptions(word="hello", videos=VideoOptions(fps=30.0, background="0:2"), repeats=3)
    assert full[1].videos.background_s == (0.0, 2.0)


def test_options_are_in_the_order_of_the_fields_and_the_common_ones_last(capsys: pytest.CaptureFixture[str]) -> None:
    @add_settings_options
    def probe(settings: Settings, options: ProbeOptions) -> None:
        raise AssertionError

    call(probe, "--help")
    out = capsys.readouterr().out
    order = ["--timestamps", "--fps", "--background", "--repeats", "--config", "--set", "--verbose", "--log"]
    assert sorted(order, key=out.index) == order


def test_bad_values_never_reach_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    @add_settings_options
    def probe(settings: Settings, options: ProbeOptions) -> None:
        raise AssertionError

    app = typer.Typer(rich_markup_mode=None)
    app.command()(probe)
    for words, named in (
        (["a", "--repeats", "0"], "--repeats"),
        (["a", "--fps", "fast"], "--fps"),
        ([], "word"),
        (["a", "--no"], "--no"),
    ):
        with pytest.raises(SystemExit) as ending:
            app(words)
        assert ending.value.code == 2 and named in capsys.readouterr().err
    with pytest.raises(SettingsError):
        call(probe, "a", "--set", "solve.nonsense=1")


def test_a_command_may_take_the_common_options_themselves(tmp_path: Path) -> None:
    received: list[CommonOptions] = []

    @add_settings_options
    def probe(common: CommonOptions) -> None:
        received.append(common)

    call(probe, "--config", str(tmp_path / "none.toml"), "--set", "a=1", "--set", "b=2")
    assert received == [CommonOptions(config_file=tmp_path / "none.toml", set_values=["a=1", "b=2"])]
