"""`duocap sparse` from end to end."""

from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import make_builtin_clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.sparse.dictionary import restore_poses
from reconstruct.models.sparse.model import read_dictionary
from tests.support.commands import duocap
from tests.support.files.takes import write_clip

OPTIONS = ("--atoms", "60", "--iterations", "4")
FEET = {"leftFoot": [0.1, 0.09, 0.25], "rightFoot": [-0.1, 0.09, -0.1]}
POSE = "".join(f'[[point]]\njoint = "{joint}"\nposition_m = {at}\n' for joint, at in FEET.items())


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train on the built-in walk through the command."""
    file = tmp_path_factory.mktemp("sparse") / "walk.sparse"
    with pytest.MonkeyPatch.context():
        from tools.cli import run_application

        with pytest.raises(SystemExit) as ended:
            run_application(["sparse", "train", "--builtin", "walk", *OPTIONS, "--out", str(file)])
    assert ended.value.code in (0, None) and file.is_file() and not list(file.parent.glob("*.part"))
    return file


def test_a_pose_is_completed_as_the_points_ask(dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(POSE)
    done = duocap(capsys, "sparse", "complete", dictionary, "--constraints", tmp_path / "c.toml", "--out", tmp_path / "p.bvh")
    assert done.status == 0 and "the dictionary knows poses like it" in done.out and "1 pose (bvh)" in done.out
    clip = read_clip(tmp_path / "p.bvh")
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1][0]
    np.testing.assert_allclose(p[JOINT_INDEX["leftFoot"]], [0.1, 0.09, 0.25], atol=0.03)


CURVES = """
[root]
rotvec_deg = [0, 0, 0]

[[curve]]
joint = "leftFoot"
times_s = [0.0, 0.5, 1.0]
positions_m = [[0.09, 0.1, -0.3], [0.09, 0.2, 0.0], [0.09, 0.09, 0.3]]

[[curve]]
joint = "rightFoot"
times_s = [0.0, 1.0]
positions_m = [[-0.09, 0.09, 0.1], [-0.09, 0.09, 0.1]]
"""


def test_a_motion_follows_curves_as_in_a_style(dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.toml").write_text(CURVES)
    out = ("--out", tmp_path / "p.bvh", "--fps", "60")
    done = duocap(capsys, "sparse", "complete", dictionary, "--constraints", tmp_path / "c.toml", *out)
    assert done.status == 0 and "61 frames, 1.00 s: the dictionary knows" in done.out and "leftFoot   off by" in done.out
    clip = read_clip(tmp_path / "p.bvh")
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    np.testing.assert_allclose(p[[0, 30, 60], JOINT_INDEX["leftFoot"], 2], [-0.3, 0.0, 0.3], atol=0.03)
    assert np.linalg.norm(np.diff(p, axis=0), axis=2).max() < 0.1
    follow = ("--trajectory", tmp_path / "p.bvh", "--joints", "leftFoot,rightFoot,hips", "--out", tmp_path / "q.bvh")
    done = duocap(capsys, "sparse", "complete", dictionary, *follow)
    assert done.status == 0 and "frames, 1.00 s" in done.out and "hips       off by" in done.out


def test_wild_joints_are_mended_and_told_and_the_others_stay(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = make_builtin_clip("walk", None, 30.0, 3)
    arm = JOINT_INDEX["leftUpperArm"]
    rotvec = clip.rotvec[:40].copy()
    rotvec[10:13, arm] += [1.2, 0.0, 0.8]
    write_clip(tmp_path / "wild.bvh", clip, rotvec)
    done = duocap(capsys, "sparse", "denoise", tmp_path / "wild.bvh", "--dictionary", dictionary, "--out", tmp_path / "clean.bvh")
    assert done.status == 0 and "single joints far from what the others tell" in done.out and "leftLowerArm in" in done.out
    clean = read_clip(tmp_path / "clean.bvh")
    true = compute_forward_kinematics(clip.skeleton, clip.rotvec[:40], clip.root_m[:40])[1]
    off_m = np.linalg.norm(compute_forward_kinematics(clean.skeleton, clean.rotvec, clean.root_m)[1] - true, axis=2)
    was_m = np.linalg.norm(compute_forward_kinematics(clip.skeleton, rotvec, clip.root_m[:40])[1] - true, axis=2)
    assert off_m[10:13].max() < 0.5 * was_m[10:13].max()
    assert np.delete(off_m, [10, 11, 12], axis=0).mean() < 0.02


def test_noise_in_all_joints_becomes_less(dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = make_builtin_clip("walk", None, 30.0, 3)
    rotvec = clip.rotvec[:40].copy()
    rotvec[:, 1:] += 0.1 * np.random.default_rng(1).standard_normal(rotvec[:, 1:].shape)
    write_clip(tmp_path / "rough.bvh", clip, rotvec)
    done = duocap(capsys, "sparse", "denoise", tmp_path / "rough.bvh", "--dictionary", dictionary, "--out", tmp_path / "c.bvh")
    assert done.status == 0 and "40 of 40 frames cleaned" in done.out
    true, rough = (compute_forward_kinematics(clip.skeleton, each, clip.root_m[:40])[1] for each in (clip.rotvec[:40], rotvec))
    clean = read_clip(tmp_path / "c.bvh")
    found = compute_forward_kinematics(clean.skeleton, clean.rotvec, clean.root_m)[1]
    assert np.linalg.norm(found - true, axis=2).mean() < 0.7 * np.linalg.norm(rough - true, axis=2).mean()


def test_rest_poses_stay_and_unknown_motion_is_doubted(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = make_builtin_clip("walk", None, 30.0, 3)
    rotvec = clip.rotvec[:12].copy()
    rotvec[:4, 1:] = 0.0
    rotvec[4:, JOINT_INDEX["leftUpperArm"]] += [0.0, 0.0, 2.0]
    write_clip(tmp_path / "t.bvh", clip, rotvec)
    done = duocap(capsys, "sparse", "denoise", tmp_path / "t.bvh", "--dictionary", dictionary, "--out", tmp_path / "c.bvh")
    assert done.status == 0 and "8 of 12 frames cleaned" in done.out
    assert "4 of 12 frames are rest poses" in done.err and "it may not know such motion" in done.err
    np.testing.assert_allclose(read_clip(tmp_path / "c.bvh").rotvec[:4, 1:], 0.0, atol=1e-4)
    write_clip(tmp_path / "rest.bvh", clip, rotvec[:4])
    done = duocap(capsys, "sparse", "denoise", tmp_path / "rest.bvh", "--dictionary", dictionary, "--out", tmp_path / "d.bvh")
    assert done.status == 1 and "nothing but rest poses" in done.err


def test_a_dragged_hand_is_followed_as_far_as_few_atoms_allow(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = make_builtin_clip("walk", None, 30.0, 3)
    write_clip(tmp_path / "t.bvh", clip, clip.rotvec[:10])
    drag = ("sparse", "drag", tmp_path / "t.bvh", "--dictionary", dictionary, "--move", "leftHand=0.05,0.4,0.1", "--at", "0.1")
    went = {}
    for atoms in (1, 24):
        done = duocap(capsys, *drag, "--atoms", atoms, "--out", tmp_path / f"{atoms}.bvh")
        assert done.status == 0 and "leftHand      dragged by 415 mm" in done.out and "1 pose (bvh)" in done.out
        went[atoms] = float(done.out.partition("went ")[2].split()[0])
        found = read_clip(tmp_path / f"{atoms}.bvh")
        np.testing.assert_allclose(found.root_m[0], clip.root_m[3], atol=1e-3)
    assert went[1] < went[24]


def test_joined_dictionaries_know_the_poses_of_both(dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "reach.sparse"
    assert duocap(capsys, "sparse", "train", "--builtin", "reach", *OPTIONS, "--out", other).status == 0
    done = duocap(capsys, "sparse", "join", dictionary, other, "--out", tmp_path / "both.sparse")
    assert done.status == 0 and "120 atoms of 2 dictionaries" in done.out
    first, both, second = (read_dictionary(file) for file in (dictionary, tmp_path / "both.sparse", other))
    assert both.n_poses == first.n_poses + second.n_poses and set(both.sources) == {*first.sources, *second.sources}
    for model in (first, second):
        poses = model.points.vectors(model.skeleton, model.examples[:50])
        own, joined = (restore_poses(each.dictionary, poses) for each in (model, both))
        assert np.abs(joined - poses).mean() < 1.1 * np.abs(own - poses).mean() + 1e-3


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (POSE[: POSE.index("[[point]]", 9)], "3 numbers are told, 6 place a body"),
        (2 * POSE[: POSE.index("[[point]]", 9)], "3 numbers are told, 6 place a body"),
        (POSE + POSE.replace("0.25", "0.65"), "cannot reach leftFoot (20 cm off)"),
        (POSE + '[[point]]\njoint = "leftHand"\nposition_m = [5, 1, 0]\n', "cannot reach leftHand"),
    ],
)
def test_what_is_open_or_cannot_be_is_flagged_and_a_pose_written(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: str, words: str
) -> None:
    (tmp_path / "c.toml").write_text(asked)
    done = duocap(capsys, "sparse", "complete", dictionary, "--constraints", tmp_path / "c.toml", "--out", tmp_path / "p.bvh")
    assert done.status == 0 and words in done.err and (tmp_path / "p.bvh").is_file()
    assert np.isfinite(read_clip(tmp_path / "p.bvh").rotvec).all()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("train", "--builtin", "walk", "--out", "x.style"), "ends with .sparse"),
        (("train", "--out", "x.sparse"), "no motion to learn from"),
        (("train", "--clip", "a", "--out", "x.sparse"), "give it by --database"),
        (("train", "--builtin", "walk", "--error", "0", "--out", "x.sparse"), "from 0.1 to 100 mm"),
        (("complete", "gone.sparse", "--constraints", "c.toml", "--out", "p.bvh"), "cannot be opened"),
        (("complete", "c.toml", "--constraints", "c.toml", "--out", "p.bvh"), "not a pose dictionary"),
        (("complete", "DICTIONARY", "--constraints", "empty.toml", "--out", "p.bvh"), "nothing is asked of a pose"),
        (("complete", "DICTIONARY", "--constraints", "mean.toml", "--out", "p.bvh"), "give the joint's rotation"),
        (("complete", "DICTIONARY", "--constraints", "share.toml", "--out", "p.bvh"), "shares are for `duocap style pose`"),
        (("denoise", "c.toml", "--dictionary", "DICTIONARY", "--out", "p.bvh"), "cannot be read as motion"),
        (("denoise", "gone.bvh", "--dictionary", "DICTIONARY", "--out", "p.bvh"), "gone.bvh: no such file; give a motion"),
        (("denoise", "c.toml", "--dictionary", "DICTIONARY", "--out", "p.bvh", "--noise", "0"), "from 0.1 to 500 mm"),
        (("denoise", "c.toml", "--dictionary", "DICTIONARY", "--out", "p.bvh", "--noise", "nan"), "from 0.1 to 500 mm"),
        (("drag", "c.bvh", "--dictionary", "DICTIONARY", "--out", "p.bvh", "--move", "hips=0,1,0"), "a joint but the hips"),
        (("drag", "c.bvh", "--dictionary", "DICTIONARY", "--out", "p.bvh", "--move", "head=up"), "such as leftHand=0.1,0.2,0"),
        (("join", "DICTIONARY", "--out", "x.sparse"), "give two or more"),
        (("join", "DICTIONARY", "DICTIONARY", "--out", "x.style"), "ends with .sparse"),
    ],
)
def test_bad_input_is_one_clear_line(
    dictionary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(POSE)
    Path("empty.toml").write_text("")
    Path("share.toml").write_text("shares = [1]\n" + POSE)
    Path("mean.toml").write_text('[[fixed]]\njoint = "head"\nas = "mean"\n')
    done = duocap(capsys, "sparse", *(str(dictionary) if word == "DICTIONARY" else word for word in command))
    assert done.status == 1 and words in done.err and len(done.err.strip().splitlines()) <= 2, done.err
