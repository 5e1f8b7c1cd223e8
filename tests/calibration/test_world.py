"""The world: rigs that enter it, fingerprints of cameras, and bodies by which it is levelled."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.formats.rig_toml import write_rig_toml
from calibration.subject.world import compute_sole_heights_m, find_up
from calibration.world import (
    BALL_M,
    World,
    compute_camera_fingerprint,
    compute_levelling_motion,
    compute_motion_between,
    compute_recentre_motion,
    compute_up_of_images,
    move_rig,
    place_rig_in_world,
)
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec
from tests.support.people import front_rig, walk

SKELETON = build_person_skeleton(1.72)
TILT = RigidMotion(matrix_from_rotvec(np.array([2.9, 0.2, -0.3])), np.array([0.7, -0.4, 1.9]))
THREE = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3).map(np.array)


def lost_rig() -> Rig:
    """Return the rig in a frame that lies on its back."""
    return replace(move_rig(front_rig(), TILT), floor_known=False)


def world_of(rig: Rig) -> World:
    """Return what leads from the lost frame to the true one."""
    return World(TILT.inverse, "the T-pose", 1.0, 10.0, tuple(compute_camera_fingerprint(camera) for camera in rig.cameras))


@given(THREE, THREE, THREE)
def test_a_motion_of_the_frame_is_told_by_a_camera(rotvec: np.ndarray, shift: np.ndarray, point: np.ndarray) -> None:
    motion, rig = RigidMotion(matrix_from_rotvec(rotvec), shift), front_rig()
    moved = move_rig(rig, motion)
    np.testing.assert_allclose(
        compute_motion_between(rig.cameras[1], moved.cameras[1]).move(point), motion.move(point), atol=1e-9
    )
    np.testing.assert_allclose(motion.inverse.after(motion).move(point), point, atol=1e-9)
    for before, after in zip(rig.cameras, moved.cameras, strict=True):
        np.testing.assert_allclose(after.center_m, motion.move(before.center_m), atol=1e-9)


def test_a_rig_enters_the_world_of_its_subject_and_keeps_its_own_floor() -> None:
    rig = lost_rig()
    found = place_rig_in_world(rig, world_of(rig))
    assert found.floor_known
    for camera, true in zip(found.cameras, front_rig().cameras, strict=True):
        np.testing.assert_allclose(camera.center_m, true.center_m, atol=1e-9)
    level = front_rig()
    assert place_rig_in_world(level, world_of(rig)) is level


def test_without_a_world_the_pictures_are_upright_and_a_known_up_is_better() -> None:
    rig = lost_rig()
    stood = place_rig_in_world(rig, None)
    assert not stood.floor_known
    np.testing.assert_allclose(compute_up_of_images(stood), [0.0, 1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(stood.middle_m, [0.0, 1.2, 2.5], atol=1e-9)
    assert stood.ahead[2] < -0.9
    older = replace(world_of(rig), cameras=(), height_sigma_mm=np.inf)
    found = place_rig_in_world(rig, older)
    assert not found.floor_known
    np.testing.assert_allclose(found.cameras[0].rotation @ [0.0, 1.0, 0.0], front_rig().cameras[0].rotation[:, 1], atol=1e-9)
    upside_down = replace(older, from_rig=RigidMotion(np.diag([1.0, -1.0, -1.0]) @ TILT.rotation.T, np.zeros(3)))
    np.testing.assert_allclose(compute_up_of_images(place_rig_in_world(rig, upside_down)), [0.0, 1.0, 0.0], atol=1e-9)


def test_a_fingerprint_survives_files_and_tells_a_millimetre(tmp_path: Path) -> None:
    rig = lost_rig()
    write_rig_toml(tmp_path / "rig.toml", rig)
    prints = [compute_camera_fingerprint(camera) for camera in rig.cameras]
    assert [compute_camera_fingerprint(camera) for camera in read_rig(tmp_path / "rig.toml").cameras] == prints
    assert len(set(prints)) == 2
    left = rig.cameras[0]
    for changed in (
        replace(left, translation=left.translation + [0.0, 0.001, 0.0]),
        replace(left, matrix=left.matrix + np.diag([0.5, 0.0, 0.0])),
        replace(left, rotation=left.rotation @ matrix_from_rotvec([0.0, 0.001, 0.0])),
        replace(left, size=(left.size[0] + 1, left.size[1])),
    ):
        assert compute_camera_fingerprint(changed) != prints[0]
    assert compute_camera_fingerprint(replace(left, name="another")) == prints[0]


def test_a_walk_is_levelled_with_its_soles_on_the_floor() -> None:
    clip = walk(SKELETON, 3)
    truth = compute_forward_kinematics(SKELETON, clip.rotvec, clip.root_m)[1]
    tilt = RigidMotion(matrix_from_rotvec(np.array([0.2, 0.0, -0.15])), np.array([0.3, -0.7, 0.1]))
    level, sigma_rad = compute_levelling_motion(tilt.move(truth), np.arange(len(truth)) / clip.fps)
    up = level.rotation @ tilt.rotation[:, 1]
    assert np.degrees(np.arccos(up[1])) < 4.0 and sigma_rad < 0.3
    balls = level.move(tilt.move(truth))[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]], 1].min(axis=1)
    assert abs(np.median(balls) - BALL_M) < 0.02
    known, _ = compute_levelling_motion(truth, np.arange(len(truth)) / clip.fps, np.array([0.0, 1.0, 0.0]))
    assert np.degrees(np.arccos(known.rotation[1, 1])) < 1.0


def test_the_rest_pose_stands_on_its_soles() -> None:
    rest = SKELETON.rest_positions_m()
    up, sigma_rad = find_up(np.eye(3), rest, rest)
    np.testing.assert_allclose(up, [0.0, 1.0, 0.0], atol=1e-12)
    assert 0.02 < sigma_rad < 0.08
    ball = rest[JOINT_INDEX["leftToes"], 1]
    np.testing.assert_allclose(compute_sole_heights_m(rest, up, SKELETON.offsets_m), [ball - BALL_M] * 2, atol=1e-9)


@pytest.mark.parametrize("yaw", [0.3, -2.0, np.pi])
def test_the_origin_moves_along_the_floor_alone(yaw: float) -> None:
    ahead = np.array([np.sin(yaw), 0.2, np.cos(yaw)])
    motion = compute_recentre_motion(ahead, np.array([1.0, 0.93, -2.0]))
    np.testing.assert_allclose(motion.move(np.array([1.0, 0.93, -2.0])), [0.0, 0.93, 0.0], atol=1e-12)
    np.testing.assert_allclose((motion.rotation @ ahead)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.rotation[1], [0.0, 1.0, 0.0], atol=1e-12)
