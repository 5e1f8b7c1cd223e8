"""A project: what is written is read again, faults in words, and every command takes from it what it is not given."""

from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import FileFormatError
from tools.cli import list_project_defaults, run_application
from tools.project_file import PROJECT, ProjectFile, read_project_file, write_project_file


def make_project(folder: Path, *files: str, **values: object) -> ProjectFile:
    """Return a project with two cameras in a folder, and files in it that are empty."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    project = replace(ProjectFile(folder, cameras=("C920", "left.avi"), markers="boxing"), **values)  # type: ignore[arg-type]
    write_project_file(project)
    return project


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert read_project_file(tmp_path) is None
    project = make_project(tmp_path, background=4.0, vmc=("vseeface",), formats=("glb", "bvh"), database="a.db")
    assert read_project_file(tmp_path) == project


def test_a_project_of_another_program_is_none(tmp_path: Path) -> None:
    (tmp_path / PROJECT).write_text('name = "Example"\nversion = "0.1.0"\n', "utf-8")
    assert read_project_file(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("duocap = 2\n", "another version"),
        ("duocap = 1\nrigg = 'rig.toml'\n", "'rigg'; expected cameras, rig"),
        ("duocap = 1\ncameras = '0'\n", "cameras = '0' was found, a list of texts expected"),
        ("duocap = 1\nbackground = true\n", "background = True was found, a number of seconds expected"),
        ("duocap = \n", "not valid TOML"),
    ],
)
def test_faults_say_what_was_expected(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / PROJECT).write_text(text, "utf-8")
    with pytest.raises(FileFormatError, match=words):
        read_project_file(tmp_path)


def test_takes_are_the_newest_first_and_only_what_is_one(tmp_path: Path) -> None:
    project = make_project(tmp_path, "takes/a/session.toml", "takes/b.mcap", "takes/notes.txt", "takes/c/left.mkv", "d.mcap")
    assert {path.name for path in project.list_takes()} == {"a", "b.mcap", "d.mcap"}
    assert project.list_defaults()["take"] == str(project.list_takes()[0])


def test_a_command_takes_what_it_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_project(tmp_path, "rig.toml", background=4.0)
    monkeypatch.chdir(tmp_path)
    known = list_project_defaults("run")["run"]
    assert known == {"rig": "rig.toml", "camera": ["C920", "left.avi"], "background": 4.0}  # the subject is not there yet
    assert list_project_defaults("record")["record"] == {"camera": ["C920", "left.avi"]}  # no poses without both
    group = list_project_defaults("calibrate")["calibrate"]
    assert group["rig"] == {"sources": ["C920", "left.avi"], "out": "rig.toml"}
    assert group["subject"]["out"] == "subject.toml" and group["subject"]["markers"] == "boxing"
    (tmp_path / "takes" / "a.mcap").parent.mkdir()
    (tmp_path / "takes" / "a.mcap").touch()
    assert list_project_defaults("batch")["batch"] == {"places": ["takes"]}
    for name in ("forces", "clean"):
        (take,) = list_project_defaults("physics")["physics"][name].values()
        assert take == str(Path("takes", "a.mcap"))
    (tmp_path / PROJECT).unlink()
    assert list_project_defaults("run") == {}


def test_what_is_given_wins_and_the_help_says_the_project_s_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_project(tmp_path, "rig.toml", "subject.toml", "takes/a/session.toml", "takes/a/rig.toml")
    monkeypatch.chdir(tmp_path)
    seen: list[object] = []
    from tools.commands.takes import replay as module

    monkeypatch.setattr(module, "_replay_session", lambda settings, options, task: seen.append(options))
    monkeypatch.setattr(module, "_replay_views", lambda settings, options, task: seen.append(options))
    (tmp_path / "left.avi").touch()
    for words in (["replay"], ["replay", "left.avi"], ["replay", "left.avi", "--rig", "other.toml"], ["replay", "--help"]):
        with pytest.raises(SystemExit) as ending:
            run_application(words)
        assert ending.value.code == 0, capsys.readouterr()
    session, videos, other = seen
    assert session.views == [str(Path("takes", "a"))]  # type: ignore[attr-defined]
    assert session.rig is None and session.subject == Path("subject.toml")  # type: ignore[attr-defined] # the session has a rig
    assert (videos.rig, other.rig) == (Path("rig.toml"), Path("other.toml"))  # type: ignore[attr-defined]
    assert "[default: rig.toml]" in " ".join(capsys.readouterr().out.split())


def test_left_and_right_are_in_place_of_the_project_s_cameras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    seen: list[tuple[str, ...]] = []
    from tools.commands.live import record as module

    monkeypatch.setattr(module, "order_cameras", lambda options: seen.append((options.camera, options.left)) or ("0",))
    monkeypatch.setattr(module, "_folder", lambda settings, out: seen.append(settings.stream.recordings) or 1 / 0)
    for words in ([], ["--left", "0", "--right", "1"]):
        with pytest.raises(ZeroDivisionError):
            run_application(["record", *words])
    takes = str(tmp_path / "takes")
    assert seen == [(["C920", "left.avi"], None), takes, (None, "0"), takes]
