"""`duocap style pose` from end to end, and the examples of its page."""

import re
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX, JOINTS
from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.file import write_style
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from tests.support.commands import duocap

ROOT = Path(__file__).resolve().parents[3]
FEET = {"leftFoot": [0.1, 0.09, 0.25], "rightFoot": [-0.1, 0.09, -0.1]}


def points_text(places: dict[str, list[float]]) -> str:
    """Ask for joints at places."""
    return "".join(f'[[point]]\njoint = "{joint}"\nposition_m = {place}\n' for joint, place in places.items())


@pytest.fixture(scope="module")
def style(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learn a small style of the built-in walk."""
    poses = subsample_poses(build_training_poses([make_builtin_clip("walk", fps=30.0)]), 60)
    file = tmp_path_factory.mktemp("style") / "walk.style"
    write_style(file, fit_style(poses, build_person_skeleton(), "walk", LearnOptions(active=30, steps=20)))
    return file


def test_a_pose_is_written_as_the_points_ask(style: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(points_text(FEET))
    files = tmp_path / "p.bvh", tmp_path / "p.csv"
    done = duocap(capsys, "style", "pose", style, "--constraints", tmp_path / "c.toml", "--out", files[0], "--out", files[1])
    assert done.status == 0 and "leftFoot   " in done.out and "1 frame (bvh)" in done.out
    assert "cannot reach" not in done.err
    clip = read_clip(files[0])
    assert clip.n_frames == 1
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1][0]
    header, row = files[1].read_text().strip().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    for joint in JOINTS:
        np.testing.assert_allclose(p[JOINT_INDEX[joint]], [float(cells[f"{joint}.{axis}"]) for axis in "xyz"], atol=1e-4)
    for joint, place in FEET.items():
        assert np.linalg.norm(p[JOINT_INDEX[joint]] - place) < 0.01


def test_what_is_out_of_reach_is_told_and_written(style: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(points_text({**FEET, "leftHand": [0.3, 2.9, 0.2]}))
    done = duocap(capsys, "style", "pose", style, "--constraints", tmp_path / "c.toml", "--out", tmp_path / "p.bvh")
    assert done.status == 0 and (tmp_path / "p.bvh").exists()
    assert re.search(r"warning: pose 1: cannot reach .*leftHand \(\d+ cm off\)", done.err)


def test_a_motion_is_followed_at_the_rate_that_is_wanted(style: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "[root]\nrotvec_deg = [0, 0, 0]\n"
    for joint, x in (("leftFoot", 0.1), ("rightFoot", -0.1)):
        text += f'[[curve]]\njoint = "{joint}"\ntimes_s = [0.0, 0.2]\npositions_m = [[{x}, 0.09, 0.0], [{x}, 0.09, {2 * x}]]\n'
    (tmp_path / "c.toml").write_text(text)
    made = tmp_path / "m.bvh"
    done = duocap(capsys, "style", "pose", style, "--constraints", tmp_path / "c.toml", "--out", made, "--fps", 60)
    assert done.status == 0 and "13 frames, 0.20 s" in done.out and "acceleration of the joints" in done.out
    clip = read_clip(made)
    assert clip.n_frames == 13 and clip.fps == pytest.approx(60.0)
    foot = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1][:, JOINT_INDEX["leftFoot"]]
    np.testing.assert_allclose(foot[[0, -1]], [[0.1, 0.09, 0.0], [0.1, 0.09, 0.2]], atol=0.01)
    again = duocap(
        capsys, "style", "pose", style, "--trajectory", made, "--joints", "leftFoot,rightFoot", "--out", tmp_path / "n.csv"
    )
    assert again.status == 0 and len((tmp_path / "n.csv").read_text().splitlines()) == 1 + 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--constraints", "none.toml", "--out", "p.bvh"], "none.toml: cannot read the constraints (no such file or folder)"),
        (["--out", "p.bvh"], "nothing is asked of the pose; give --constraints"),
        (["--constraints", "c.toml", "--out", "p.xyz"], "p.xyz: its format is not told by its name"),
        (["--constraints", "c.toml", "--out", "none/p.bvh"], "p.bvh: cannot be written"),
        (["--constraints", "c.toml", "--out", "p.bvh", "--fps", "0"], "--fps 0: must be from 1 to 240"),
        (["--constraints", "c.toml", "--out", "p.bvh", "--joints", "head"], "--joints is for --trajectory"),
        (["--trajectory", "c.toml", "--out", "p.bvh"], "--trajectory needs --joints"),
        (["--trajectory", "t.bvh", "--joints", "hed", "--out", "p.bvh"], "unknown joint 'hed' (did you mean 'head'?)"),
        (["--trajectory", "t.bvh", "--joints", "head,head", "--out", "p.bvh"], "each once"),
        (["--trajectory", "t.bvh", "--joints", "head", "--out", "p.bvh"], "t.bvh: no such file"),
        (["--trajectory", "t.bvh", "--joints", "head", "--out", "./t.bvh"], "--out would replace a file that is read here"),
        (["--constraints", "empty.toml", "--out", "p.bvh"], "empty.toml: nothing is asked of a pose"),
        (["--constraints", "c.toml", "--skeleton", "s.toml", "--out", "p.bvh"], "s.toml: cannot read the subject"),
        (["--constraints", "shares.toml", "--out", "p.bvh"], "[[style_share]] is about a motion over time"),
        (["--constraints", "far.toml", "--out", "p.bvh"], "training poses 0 to 59"),
    ],
)
def test_bad_requests_end_in_one_line(
    style: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(points_text(FEET))
    Path("empty.toml").write_text("")
    Path("shares.toml").write_text(points_text(FEET) + "[[style_share]]\ntime_s = 0\nshares = [1]\n")
    Path("far.toml").write_text('[[fixed]]\njoint = "head"\nas = 60\n')
    done = duocap(capsys, "style", "pose", style, *words)
    assert done.status == 1 and said in done.last
    assert not Path("p.bvh").exists()


def test_files_that_are_no_styles(style: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(points_text(FEET))
    for file in (tmp_path / "none.style", tmp_path / "c.toml"):
        done = duocap(capsys, "style", "pose", file, "--constraints", tmp_path / "c.toml", "--out", tmp_path / "p.bvh")
        assert done.status == 1 and file.name in done.last


@pytest.mark.slow
def test_the_examples_of_the_page_work_in_its_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    posing = (ROOT / "docs" / "style-pose.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```toml\n(.*?)```", posing, re.DOTALL):
        name = re.match(r"# (\w+\.toml)\n", block)
        assert name, block
        Path(name[1]).write_text(block, "utf-8")
    commands = [line.split()[1:] for line in posing.splitlines() if line.startswith("duocap ")]
    assert len(commands) >= 8
    for words in commands:
        done = duocap(capsys, *words)
        assert done.status == 0, (words, done.err)
        assert all(Path(out).stat().st_size for at, out in enumerate(words) if words[at - 1] == "--out")
    reached = duocap(capsys, *commands[2])
    assert "cannot reach" not in reached.err and re.search(r"leftHand +[0-3] mm", reached.out)
