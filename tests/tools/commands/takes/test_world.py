"""A rig that knows no floor, through the commands: the subject finds the world, and every file stands in it."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from calibration.subject.subject import read_subject
from calibration.world import BALL_M, RigidMotion, World, compute_motion_between, move_rig, place_rig_in_world
from config.arrays import Floats
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.trc import read_trc
from stream.protocol.joints import compute_pose_joints
from stream.recording.recording import open_recording
from tests.tools.commands.walked import Walked, ended

BALLS = ("leftToes", "rightToes")


@dataclass(frozen=True)
class Lost:
    """The walk with its rig in the frame of its left camera, which knows no floor; the subject that was calibrated with it."""

    walked: Walked
    true: Rig
    rig: Rig
    world: World
    said: str


@pytest.fixture(scope="module")
def lost(walked: Walked) -> Lost:
    true = read_rig_toml(walked.folder / "rig.toml")
    left = true.cameras[0]
    rig = replace(move_rig(true, RigidMotion(left.rotation, left.translation)), floor_known=False)
    write_rig_toml(walked.folder / "lost.toml", rig)
    before = (walked.folder / "lost.toml").read_bytes()
    takes = ("--take", "0:0.6", "--take", "0.7:1.4", "--name", "Ann", "--no-picture")
    result = ended(walked.calibrate_words(*takes, rig="lost.toml", out="lost_ann.toml"))
    assert result.status == 0, result.err
    assert (walked.folder / "lost.toml").read_bytes() == before
    world = read_subject(walked.folder / "lost_ann.toml").world
    assert world is not None
    return Lost(walked, true, rig, world, result.out)


def test_the_subject_finds_up_and_floor_within_what_it_says(lost: Lost) -> None:
    world = lost.world
    assert "the world by the T-pose" in lost.said and f"+- {world.tilt_sigma_deg:.1f} degrees" in lost.said
    found = place_rig_in_world(lost.rig, world)
    assert found.floor_known
    motion = compute_motion_between(lost.true.cameras[0], found.cameras[0])
    assert np.degrees(np.arccos(motion.rotation[1, 1])) < 2.0 * world.tilt_sigma_deg < 7.0
    performer = lost.walked.simulation.performer
    G, p = performer.joints_at(np.array([0.3]))
    assert np.abs(motion.move(p[0, 0] * [1.0, 0.0, 1.0])).max() < 0.03  # under the hips, to what the T-pose tells
    assert abs(motion.move(p[0, 0] * [1.0, 0.0, 1.0])[1]) < 2e-3 * world.height_sigma_mm
    assert (motion.rotation @ G[0, 0])[2, 2] > 0.99


def test_a_world_holds_for_its_cameras_alone(lost: Lost) -> None:
    one = replace(lost.rig, cameras=lost.rig.cameras[1:])
    assert lost.world.holds_for(lost.rig) and lost.world.holds_for(one)
    moved = replace(lost.rig.cameras[0], translation=lost.rig.cameras[0].translation + [0.0, 1e-3, 0.0])
    other = replace(lost.rig, cameras=(moved, lost.rig.cameras[1]))
    assert not lost.world.holds_for(other) and not place_rig_in_world(other, lost.world).floor_known


def test_steps_of_the_movement_level_the_world_better(lost: Lost, tmp_path: Path) -> None:
    takes = ("--take", "0:1.4", "--motion", "1.6:3.7", "--no-picture")
    result = ended(lost.walked.calibrate_words(*takes, rig="lost.toml", out=tmp_path / "ann.toml"))
    assert result.status == 0 and "the steps of the movement" in result.out, result.err
    world = read_subject(tmp_path / "ann.toml").world
    assert world is not None and world.tilt_sigma_deg < lost.world.tilt_sigma_deg
    motion = compute_motion_between(lost.true.cameras[0], place_rig_in_world(lost.rig, world).cameras[0])
    assert np.degrees(np.arccos(motion.rotation[1, 1])) < 1.5


def csv_places(file: Path) -> dict[str, Floats]:
    """Return the joints of a CSV by name, (N, 3) [m]."""
    with file.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    names = {key.removesuffix(".x") for key in rows[0] if key.endswith(".x")}
    return {name: np.array([[float(row[f"{name}.{axis}"]) for axis in "xyz"] for row in rows]) for name in names}


@pytest.mark.parametrize(("subject", "known"), [("lost_ann.toml", True), ("ann.toml", False)])
def test_every_file_of_a_replay_is_upright_from_the_first_frame(lost: Lost, tmp_path: Path, subject: str, known: bool) -> None:
    out = [tmp_path / f"walk.{suffix}" for suffix in ("csv", "bvh", "trc", "mcap", "glb")]
    words = [word for file in out for word in ("--out", file)]
    result = ended(lost.walked.replay_words(*words, rig="lost.toml", subject=subject))
    assert result.status == 0, result.err
    assert ("no floor is known" in result.err) is not known
    place = csv_places(out[0])
    assert (place["head"][:, 1] - place["hips"][:, 1]).min() > 0.4 and (place["hips"][:, 1] > 0.8).all()
    first = np.array([place[name][0] for name in BALLS])
    assert abs(first[:, 1].min() - BALL_M) < 0.02
    assert np.hypot(*place["hips"][0, [0, 2]]) < 0.25 and place["leftUpperLeg"][0, 0] > place["rightUpperLeg"][0, 0] + 0.1
    clip = read_clip(out[1])
    np.testing.assert_allclose(
        compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1][0, 0], place["hips"][0], atol=1e-3
    )
    points = read_trc(out[2])
    np.testing.assert_allclose(points.point_m[0, list(points.labels).index("hips")], place["hips"][0], atol=1e-3)
    recording = open_recording(out[3])
    joints = compute_pose_joints(recording.skeleton, recording.poses[0])
    np.testing.assert_allclose(joints.position_m[recording.skeleton.names.index("head")], place["head"][0], atol=1e-3)


def test_one_camera_alone_stands_in_the_same_world(lost: Lost, tmp_path: Path) -> None:
    out = tmp_path / "walk.csv"
    result = ended(lost.walked.replay_words("--out", out, right=None, timestamps=None, rig="lost.toml", subject="lost_ann.toml"))
    assert result.status == 0 and "no floor is known" not in result.err, result.err
    place = csv_places(out)
    tracked = np.isfinite(place["head"]).all(axis=1)
    assert tracked.sum() > 20 and (place["head"] - place["hips"])[tracked, 1].min() > 0.3
