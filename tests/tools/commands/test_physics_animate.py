"""`duocap physics train` and `animate` from end to end, and scripts that cannot be followed."""

from pathlib import Path

import av
import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip
from database.clips import slice_clip
from database.files.read import read_clip
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.train import FieldMotion, FieldOptions
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from tests.support.commands import duocap
from tests.support.files.takes import write_clip
from tools.physics.animate import AnimateTask, animate_script
from tools.physics.script import read_script
from tools.physics.train import FieldTask, train_field_file

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

SCRIPT = """
field = "walk"
[[key]]
time = 0.0
file = "walk.bvh"
at = 2.0
[[key]]
time = 0.5
file = "walk.bvh"
at = 2.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a walk."""
    place = tmp_path_factory.mktemp("animate")
    write_clip(place / "walk.bvh", slice_clip(make_builtin_clip("walk", None, 60.0, 3), 0, 240))
    return place


def test_a_script_becomes_a_motion_that_obeys(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    field, script, out = folder / "walk.forces", tmp_path / "s.toml", tmp_path / "out.bvh"
    trained = duocap(capsys, "physics", "train", folder / "walk.bvh", "--out", field, "--inducing", 60, "--steps", 10)
    assert trained.status == 0 and "240 of 1 motion" in trained.out
    script.write_text(SCRIPT)
    outs = ("--out", out, "--out", tmp_path / "out.mcap", "--before", tmp_path / "b.bvh", "--strip", tmp_path / "s.png")
    outs += ("--film", tmp_path / "s.mp4")
    done = duocap(capsys, "physics", "animate", script, "--motions", folder, *outs)
    assert done.status == 0 and "31 frames, 2 keys" in done.out and (tmp_path / "b.bvh").exists()
    assert (tmp_path / "s.png").stat().st_size > 20_000
    with av.open(tmp_path / "s.mp4") as film:
        assert sum(1 for _ in film.decode(video=0)) == 31
    forces = read_longest_motion(open_recording(tmp_path / "out.mcap")).forces
    assert forces is not None and forces.known.all()
    vertical = forces.force_n[..., 1].sum(axis=1).mean() / (9.81 * forces.mass_kg)
    assert vertical == pytest.approx(1.0, abs=0.2)  # a walker neither rises nor falls for long
    residual = float(next(line for line in done.out.splitlines() if line.startswith("residual force")).split()[-1])
    assert residual < 2.0 and "violated" not in done.err
    assert read_clip(out).n_frames == 31

    far = SCRIPT.replace("at = 2.5", "at = 2.5\nplace_m = [0.0, 9.0]")
    script.write_text(far)  # nine metres in half a second
    done = duocap(capsys, "physics", "animate", script, "--motions", folder, "--out", out, "--steps", 5)
    assert done.status == 0 and "was learned of nothing like it" in done.err and "violated" in done.err


def test_a_script_is_followed_where_it_asks_more(folder: Path, tmp_path: Path) -> None:
    """A foothold, a heavy segment, a spring, a path through points, and a pose of a file that is no motion, at the end."""
    walk = read_clip(folder / "walk.bvh")
    write_clip(folder / "pose.bvh", slice_clip(walk, 150, 151))
    field = tmp_path / "walk.forces"
    train_field_file(
        FieldTask([folder / "walk.bvh"], options=FieldOptions(60, steps=5)), *_motions(folder), field, lambda *_: None
    )
    plain = SCRIPT.replace('file = "walk.bvh"\nat = 2.5', 'file = "pose.bvh"\nplace_m = [{:.4f}, {:.4f}]')
    plain = plain.format(*walk.root_m[150, [0, 2]])
    (tmp_path / "plain.toml").write_text(plain)
    made = animate_script(AnimateTask(read_script(tmp_path / "plain.toml"), [folder], field))
    height = compute_joint_positions(made.problem.dynamics(), made.q)
    down = made.problem.parts[5:15].any(axis=2).all(axis=0)
    foot, ball = next((f, JOINT_INDEX[j]) for f, j in enumerate(("leftToes", "rightToes")) if down[f])
    hold = np.median(height[5:15, ball], axis=0)[[0, 2]] + (0.02, 0.0)
    head = height[[10, 20], JOINT_INDEX["head"]] - (0.0, 0.03, 0.0)
    more = f"""
[[foothold]]
foot = "{("left", "right")[foot]}"
place_m = [{hold[0]}, {hold[1]}]
from = 0.1
to = 0.2
[[path]]
joint = "head"
points = [[0.1667, {", ".join(map(str, head[0]))}], [0.3333, {", ".join(map(str, head[1]))}]]
[[segment]]
joint = "leftFoot"
mass_kg = 4.0
[[force]]
joint = "hips"
stiffness = 100.0
anchor_m = [0.0, 1.0, -1.0]
to = 0.3
"""
    (tmp_path / "more.toml").write_text(plain + more)
    got = animate_script(AnimateTask(read_script(tmp_path / "more.toml"), [folder], field))
    assert got.figures[1].path_m < 0.01 and got.figures[1].key_m < 0.02
    assert got.problem.body.mass_kg[JOINT_INDEX["leftFoot"]] == 4.0
    again = read_script(tmp_path / "more.toml").at_tempo(0.5)
    assert again.seconds == 1.0 and again.footholds[0].last_s == 0.4 and again.forces[0].last_s == 0.6


def test_a_script_has_a_way_and_what_lies_on_it(tmp_path: Path) -> None:
    more = """
[[path]]
joint = "hips"
points = [[0.0, 0.0, 0.0], [0.5, 0.1, 0.6]]
within_m = 0.1
[[obstacle]]
place_m = [0.0, 0.4]
size_m = [1.0, 0.1]
height_m = 0.2
"""
    (tmp_path / "way.toml").write_text(SCRIPT + more)
    script = read_script(tmp_path / "way.toml").at_tempo(0.5)
    np.testing.assert_allclose(script.paths[0].points, [[0.0, 0.0, 0.0], [1.0, 0.1, 0.6]])
    assert script.paths[0].within_m == 0.1 and script.mounds[0].height_m == 0.2
    assert script.mounds[0].compute_ground(np.array([0.0, 0.4]))[0] == pytest.approx(0.2, abs=0.03)


BAD = {
    "feild = 1": "unknown key 'feild' (did you mean 'field'?)",  # codespell:ignore
    'field = "walk"': "no [[key]]",
    SCRIPT + "seconds = 0.2": "unknown key 'seconds'",
    SCRIPT.replace("time = 0.0", "time = 0.5"): "at different times",
    SCRIPT.split("[[key]]")[0] + "[[key]]" + SCRIPT.split("[[key]]")[1]: "give two at least, at different times",
    SCRIPT + '[[key]]\ntime = 0.001\nfile = "walk.bvh"\nat = 2.2\n': "two keys are in one frame",
    SCRIPT.replace("at = 2.5", "at = 900"): "it ends at",
    SCRIPT.replace("walk.bvh", "run.bvh"): "no motion run.bvh",
    SCRIPT + "[environment]\nfriction = -0.1": "friction must be a number",
    SCRIPT + "[environment]\ngravity = nan": "gravity must be a number",
    SCRIPT + '[[load]]\njoint = "leftFoot"\nkg = -2': "kg must be a number",
    SCRIPT + '[[load]]\njoint = "leftFot"\nkg = 2': "did you mean 'leftFoot'?",
    SCRIPT + '[[segment]]\njoint = "leftFoot"\nmass_kg = 0.0': "mass_kg must be a number above 0",
    SCRIPT + "[body]\nmass_kg = -70": "mass_kg must be a number above 0",
    SCRIPT + '[[path]]\njoint = "head"\npoints = [[0.1, 0, 1, 0]]': "give two at least",
    SCRIPT + "[[obstacle]]\nplace_m = [0, 1]\nsize_m = [0, 1]\nheight_m = 0.2": "size_m must be above 0",
    SCRIPT + '[[foothold]]\nfoot = "lefd"\nplace_m = [0, 0]': "did you mean 'left'?",
    SCRIPT.replace("at = 2.0", "at = nan"): "at must be a number",
    'tempo = "slow"\n' + SCRIPT: "tempo must be a number",
    SCRIPT + '[[force]]\njoint = "hips"': "either newton, a constant force, or stiffness",
    SCRIPT + '[[contact]]\npart = "leftHeel"\nfrom = 0.4\nto = 0.2': "to must be after from",
    SCRIPT + "[weights]\nphysic = 1": "did you mean 'physics'?",
    SCRIPT.replace("time = 0.5", "time = 0.05"): "4 frames are too few",
    SCRIPT.replace('"walk"', '"swim"'): "no force field swim.forces",
}


def _motions(folder: Path) -> tuple[list[FieldMotion], str]:
    """Return the motions of a folder and the name of their field, as `train_field_file` takes them."""
    return [prepare_field_motion(read_clip(folder / "walk.bvh"))], "walk"


INFEASIBLE = {
    "contradictory keys": (SCRIPT + '[[key]]\ntime = 0.02\nfile = "walk.bvh"\nat = 3.0\n', "keys, contacts and paths contradict"),
    "a path nobody can reach": (SCRIPT + '[[path]]\njoint = "head"\npoints = [[0.1, 0, 9, 0], [0.4, 0, 9, 0]]', "off its path"),
    "steps that nobody can take": (SCRIPT.replace("at = 2.5", "at = 2.5\nabove_m = 0.0\nplace_m = [0.0, 50.0]"), "violated by"),
    "a force nobody can bear": (SCRIPT + '[[force]]\njoint = "hips"\nnewton = [0, 90000, 0]', "violated by"),
    "a skeleton it was not learned on": (SCRIPT.replace('"walk.bvh"', '"child.bvh"'), "m tall, walk was learned of"),
}


@pytest.mark.parametrize("case", INFEASIBLE)
def test_what_cannot_be_had_is_made_as_near_as_can_be_and_told(
    case: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, told = INFEASIBLE[case]
    if not (folder / "walk.forces").exists():
        duocap(capsys, "physics", "train", folder / "walk.bvh", "--out", folder / "walk.forces", "--inducing", 60, "--steps", 3)
    write_clip(folder / "child.bvh", make_builtin_clip("walk", build_person_skeleton(1.3), 60.0, 3))
    script, out = tmp_path / "s.toml", tmp_path / "x.bvh"
    script.write_text(text)
    done = duocap(capsys, "physics", "animate", script, "--motions", folder, "--out", out, "--steps", 4)
    assert done.status == 0 and told in done.err and np.isfinite(read_clip(out).root_m).all()


@pytest.mark.parametrize("text", BAD)
def test_scripts_that_cannot_be_followed_are_refused_in_a_line(
    text: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "s.toml"
    script.write_text(text)
    if "swim" not in text and not (folder / "walk.forces").exists():
        duocap(capsys, "physics", "train", folder / "walk.bvh", "--out", folder / "walk.forces", "--inducing", 60, "--steps", 3)
    done = duocap(capsys, "physics", "animate", script, "--motions", folder, "--out", tmp_path / "x.bvh")
    assert done.status != 0 and BAD[text] in done.err and len(done.err.strip().splitlines()) <= 2
    assert not (tmp_path / "x.bvh").exists()
