"""`duocap physics train` and `animate` from end to end, and scripts that cannot be followed."""

from pathlib import Path

import numpy as np
import pytest

from database.builtin.catalog import builtin_clip
from database.files.read import read_clip
from reconstruct.pose import TrackingState
from stream.export.bvh import write_bvh
from stream.export.from_recording import motion_from_recording
from stream.export.take import Take
from stream.recording.recording import open_recording
from tests.support.commands import duocap

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
    clip = builtin_clip("walk", None, 60.0, 3)
    n = 240
    states = (TrackingState.TRACKING,) * n
    take = Take(clip.skeleton, np.arange(n) / clip.fps, states, clip.rotvec[:n].copy(), clip.root_m[:n].copy())
    write_bvh(place / "walk.bvh", take)
    return place


def test_a_script_becomes_a_motion_that_obeys(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    field, script, out = folder / "walk.forces", tmp_path / "s.toml", tmp_path / "out.bvh"
    trained = duocap(capsys, "physics", "train", folder / "walk.bvh", "--out", field, "--inducing", 60, "--steps", 10)
    assert trained.status == 0 and "240 of 1 motion" in trained.out
    script.write_text(SCRIPT)
    outs = ("--out", out, "--out", tmp_path / "out.mcap", "--before", tmp_path / "b.bvh", "--strip", tmp_path / "s.png")
    done = duocap(capsys, "physics", "animate", script, "--motions", folder, *outs)
    assert done.status == 0 and "31 frames, 2 keys" in done.out and (tmp_path / "b.bvh").exists()
    assert (tmp_path / "s.png").stat().st_size > 20_000
    forces = motion_from_recording(open_recording(tmp_path / "out.mcap")).forces
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


BAD = {
    "feild = 1": "unknown key 'feild' (did you mean 'field'?)",
    'field = "walk"': "no [[key]]",
    SCRIPT + "seconds = 0.2": "unknown key 'seconds'",
    SCRIPT.replace("time = 0.0", "time = 0.5"): "at different times",
    SCRIPT.replace("at = 2.5", "at = 900"): "it ends at",
    SCRIPT.replace("walk.bvh", "run.bvh"): "no motion run.bvh",
    SCRIPT + "[environment]\nfriction = -0.1": "friction must be a number",
    SCRIPT + "[environment]\ngravity = nan": "gravity must be a number",
    SCRIPT + '[[load]]\njoint = "leftFoot"\nkg = -2': "kg must be a number",
    SCRIPT + '[[load]]\njoint = "leftFot"\nkg = 2': "did you mean 'leftFoot'?",
    SCRIPT + '[[force]]\njoint = "hips"': "either newton, a constant force, or stiffness",
    SCRIPT + '[[contact]]\npart = "leftHeel"\nfrom = 0.4\nto = 0.2': "to must be after from",
    SCRIPT + "[weights]\nphysic = 1": "did you mean 'physics'?",
    SCRIPT.replace("time = 0.5", "time = 0.05"): "4 frames are too few",
    SCRIPT.replace('"walk"', '"swim"'): "no force field swim.forces",
}


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
