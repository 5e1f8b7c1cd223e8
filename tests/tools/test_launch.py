"""The command: exit statuses, one-line errors, strangers named as ours, the options of every command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Annotated

import pytest
import typer

from config.errors import DuocapError
from config.settings import Settings
from tests.support.commands import run_main
from tools import cli, launch
from tools.commands.declaration import add_settings_options

ROOT = Path(__file__).resolve().parents[2]
ALL = dict(cli.COMMANDS)
SEEN: list[tuple[float, str, int]] = []


@add_settings_options
def probe(settings: Settings, word: Annotated[str, typer.Argument()], times: int = 1) -> None:
    """Stand for a command."""
    SEEN.append((settings.detector.k_sigma, word, times))
    if word == "fault":
        raise DuocapError("left.avi: no\nsuch file; give an existing video")
    if word == "bug":
        raise ZeroDivisionError("by zero")
    if word == "ctrl-c":
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Offer `probe` as a command and as the only one of a group; keep fault logs in a folder of the test."""
    single, group = ModuleType("cli_probe"), ModuleType("cli_group")
    vars(single)["probe"] = probe
    app = typer.Typer()
    app.command("only")(probe)
    vars(group)["app"] = app
    monkeypatch.setitem(sys.modules, "cli_probe", single)
    monkeypatch.setitem(sys.modules, "cli_group", group)
    entries = {"probe": cli.CommandEntry("cli_probe", False, "Probe."), "group": cli.CommandEntry("cli_group", True, "Group.")}
    monkeypatch.setattr(cli, "COMMANDS", entries)
    monkeypatch.setattr("platformdirs.user_log_path", lambda *_, **__: tmp_path / "logs")
    SEEN.clear()
    yield


def duocap(*words: str) -> int:
    """Run the command in this process; give its exit status."""
    return run_main(words)


def test_shared_options_stand_after_the_command() -> None:
    assert duocap("probe", "x", "--set", "detector.k_sigma=4", "--times", "3", "--set", "detector.mode=dark") == 0
    assert duocap("group", "only", "y", "--verbose") == 0
    assert SEEN == [(4.0, "x", 3), (6.0, "y", 1)]


def test_config_file_and_log_file(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("detector.k_sigma = 2", "utf-8")
    assert duocap("probe", "x", "--config", str(tmp_path / "c.toml"), "--log", str(tmp_path / "run.log")) == 0
    assert SEEN == [(2.0, "x", 1)] and (tmp_path / "run.log").exists()


def test_faulty_input_is_one_line_and_status_1_and_ctrl_c_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert duocap("probe", "fault") == 1
    captured = capsys.readouterr()
    assert captured.err == "duocap: left.avi: no such file; give an existing video\n" and captured.out == ""
    assert duocap("probe", "x", "--set", "detector.ksigma=4") == 1
    assert "the closest one is 'detector.k_sigma'" in capsys.readouterr().err
    assert duocap("probe", "fault", "--verbose") == 1  # tracebacks are for faults of ours
    assert capsys.readouterr().err == "duocap: left.avi: no such file; give an existing video\n"
    assert duocap("probe", "ctrl-c") == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["prob"], ["probe"], ["probe", "x", "--times", "many"], ["group", "no"], ["--nonsense"]])
def test_wrong_usage_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert duocap(*words) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert SEEN == []


def test_an_internal_fault_is_status_3_and_kept_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert duocap("probe", "bug") == 3
    err = capsys.readouterr().err
    assert err.startswith("duocap: internal fault (ZeroDivisionError: by zero)") and "Traceback" not in err
    assert str(tmp_path / "logs" / "faults.log") in err
    assert "in probe" in (tmp_path / "logs" / "faults.log").read_text("utf-8")
    assert duocap("probe", "bug", "--log", str(tmp_path / "run.log")) == 3
    assert "ZeroDivisionError" in (tmp_path / "run.log").read_text("utf-8")


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"]):
        assert duocap(*words) == 0
        assert "Probe." in capsys.readouterr().out
    assert duocap("--version") == 0
    assert capsys.readouterr().out.startswith("duocap ")


def test_alone_before_a_screen_it_opens_the_start_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, screen, wanted in ((True, True, True), (False, True, False), (True, False, False)):
        monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda terminal=terminal: terminal))
        monkeypatch.setattr("tools.viewer.can_browse", lambda screen=screen: screen)
        assert launch.wants_start_page(["duocap"]) == wanted
        assert not launch.wants_start_page(["duocap", "--help"])


def test_arguments_are_in_capitals_without_braces(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["probe", "--help"], ["group", "only", "--help"]):
        duocap(*words)
        out = capsys.readouterr().out
        assert "[OPTIONS] WORD\n" in out and "{" not in out


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with `folder` before the project on its path."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("content", ["X = 1\n", "raise RuntimeError('not for you')\n", "raise SystemExit(0)\n"])
@pytest.mark.parametrize("name", ["config", "numerics"])
def test_a_foreign_package_is_named(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(content, "utf-8")
    code = f"import sys; sys.path.append({str(ROOT)!r}); from tools.launch import main; sys.argv = ['duocap', '--help']; main()"
    result = python(code, tmp_path)
    assert result.returncode == 1
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1
    assert str(tmp_path / f"{name}.py") in result.stderr and "rename it" in result.stderr


def test_help_and_usage_errors_import_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from tools.cli import COMMANDS, build_application\n"
        "for name in (None, *COMMANDS):\n"
        "    try: build_application(name)([*filter(None, [name]), '--nope'], prog_name='duocap')\n"
        "    except SystemExit as ending: assert ending.code == 2, name\n"
        "    print(name, sorted({'numba', 'cv2', 'scipy', 'numpy', 'zmq', 'rich'} & set(sys.modules)))"
    )
    lines = python(code, tmp_path).stdout.splitlines()
    assert len(lines) == len(ALL) + 1 and not [line for line in lines if not line.endswith(" []")]


@pytest.mark.parametrize("name", list(ALL))
def test_every_command_of_the_table_exists(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", ALL)
    assert duocap(name, "--help") == 0
    assert f"Usage: duocap {name}" in capsys.readouterr().out
