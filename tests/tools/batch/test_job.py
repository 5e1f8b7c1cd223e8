"""What a job file asks for, and what is wrong with one."""

from pathlib import Path

import pytest
import typer

from config.errors import DuocapError
from tools.batch.job import read_job
from tools.batch.task import COMMON, EVALUATE, OPTIONS, OptionType
from tools.cli import build_application


@pytest.fixture
def studio(tmp_path: Path) -> Path:
    """Return a folder with three takes that nobody looks into, their rig, subject and database."""
    names = [f"takes/{take}/{side}.avi" for take in ("a", "b", "broken") for side in ("left", "right")]
    for name in (*names, "rig.toml", "subject.toml", "small.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def job(folder: Path, text: str) -> Path:
    """Write a job file."""
    file = folder / "job.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[replai]]", "unknown key 'replai'; the closest one is 'replay'"),
        ('[[replay]]\ntakes = "*"\ndatabse = "x"', "unknown key 'databse'; the closest one is 'database'"),
        ('[[replay]]\nout = ["bwh"]\ntakes = "takes/a"', "unknown format 'bwh'; the closest one is 'bvh'"),
        ('set = ["solve.neighbors=3"]\n[[replay]]\ntakes = "takes/a"', "the closest one is 'solve.neighbours'"),
        ('[[replay]]\ntakes = "nowhere/*"', "nothing matches 'nowhere/\\*'"),
        ('[[replay]]\ntakes = "takes/a"\nvideo = 3', "video must be true or false"),
        ('[[replay]]\ntakes = "takes/a"\n[[replay]]\ntakes = "takes/a"', "two tasks would write to 'takes/a'"),
        ('[[evaluate]]\ntable = "sinthesis"', "table must be one of synthesis"),
        ('[[evaluate]]\ntable = "labels"\nvariant = "noise"', "unknown key 'variant'"),
        ("replay = ", "not valid TOML"),
        ("", "nothing to do"),
    ],
)
def test_a_fault_is_one_line_that_names_it(studio: Path, text: str, words: str) -> None:
    with pytest.raises(DuocapError, match=words) as told:
        read_job([job(studio, text)], None)
    assert "\n" not in str(told.value)


def test_a_folder_is_searched_for_takes_but_not_among_results(studio: Path) -> None:
    results = studio / "batch" / "old"
    results.mkdir(parents=True)
    for side in ("left", "right"):
        (results / f"{side}.avi").touch()
    found = read_job([studio], None, ["solve.neighbours=50"])
    assert [task.name for task in found.tasks] == ["takes/a", "takes/b", "takes/broken"]
    command = found.tasks[0].command(found.tasks[0].inputs, Path("OUT"))
    assert command[:3] == ["replay", str(studio / "takes/a/left.avi"), str(studio / "takes/a/right.avi")]
    assert command[command.index("--rig") + 1] == str(studio / "rig.toml")  # the nearest above
    assert command[command.index("--set") + 1] == "solve.neighbours=50"
    assert command[command.index("--out") + 1] == "OUT/a.bvh"


def test_databases_exports_motions_and_tables_are_commands_too(studio: Path) -> None:
    (studio / "walk.bvh").touch()
    (studio / "walk.mcap").touch()
    (studio / "run.trc").touch()
    text = '[[database]]\nname = "own"\nsources = ["*.bvh"]\nskip_bad = true\nthin = "2deg"\n'
    text += '[[export]]\ntakes = ["*.mcap"]\nout = "glb"\nfps = 30\n'
    text += '[[clean]]\nname = "sound"\ntakes = ["*.bvh"]\nmass = 70\n'
    text += '[[solve]]\nname = "vicon"\ntakes = ["*.trc"]\nmarkers = "cmu_41"\nout = "c3d"\n'
    text += '[[evaluate]]\ntable = "labels"\nmotion = "."\nclip = ["07_08"]\n'
    commands = {task.name: task.command(task.inputs, Path("O")) for task in read_job([job(studio, text)], None).tasks}
    bvh, mcap = str(studio / "walk.bvh"), str(studio / "walk.mcap")
    assert commands["own"] == ["database", "build", bvh, "--skip-bad", "--thin", "2deg", "--processes", "1", "--out", "O/own.db"]
    assert commands["walk"] == ["export", mcap, "--fps", "30", "--out", "O/walk.glb"]
    assert commands["sound/walk"][:6] == ["physics", "clean", bvh, "--mass", "70", "--out"]
    assert commands["vicon/run"][:4] == ["solve", str(studio / "run.trc"), "--markers", "cmu_41"]
    assert commands["vicon/run"][-4:] == ["--out", "O/run.mcap", "--report", "O/solve.txt"]
    assert commands["labels"][:6] == ["evaluate", "labels", "--motion", str(studio), "--clip", "07_08"]
    assert commands["labels"][-4:] == ["--workers", "1", "--json", "O/figures.json"]


def test_keys_are_options_of_the_commands() -> None:
    kinds: dict[tuple[str, ...], dict[str, OptionType]] = {("evaluate", table): keys for table, keys in EVALUATE.items()}
    commands = {"clean": ("physics", "clean"), "database": ("database", "build")}
    kinds |= {commands.get(kind, (kind,)): keys for kind, keys in OPTIONS.items() if kind != "evaluate"}
    for words, keys in kinds.items():
        found = typer.main.get_command(build_application(words[0]))
        for word in words:
            found = found.commands[word]  # type: ignore[attr-defined]
        options = {name: one for one in found.params for name in (*one.opts, *one.secondary_opts)}
        for key, value in (keys | COMMON).items():
            option = options["--" + key.replace("_", "-")]
            flag, many = value is OptionType.FLAG, value is OptionType.MANY
            assert (bool(option.is_flag), bool(option.multiple)) == (flag, many), (words, key)  # type: ignore[attr-defined]
