"""Features of poses: rates, short clips, the vertical, and joints that turn past pi."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.catalog import make_builtin_clip
from database.clips import Clip
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE
from reconstruct.models.style.features import (
    N_FEATURES,
    N_STATIC,
    RATE_HZ,
    STEP_S,
    PoseTimes,
    TrainingPoses,
    append_differences,
    build_training_poses,
    choose_continuous_rotvec,
    choose_nearest_rotvec,
    compute_static_features,
    list_feature_names,
    subsample_poses,
)

ELBOW = JOINT_INDEX["leftLowerArm"]
UNIT = st.floats(-1.0, 1.0)
VECTORS = st.tuples(UNIT, UNIT, UNIT).map(lambda v: 3.1 * np.array(v) / np.sqrt(3.0))


def turning(fps: float, seconds: float, rad_per_s: float = 1.5, frames: int | None = None) -> Clip:
    """Make a clip whose left elbow turns evenly about one axis, and nothing else moves."""
    base = make_builtin_clip("idle", fps=30.0)
    n = round(seconds * fps) + 1 if frames is None else frames
    rotvec = np.zeros((n, N_JOINTS, 3))
    angle = -1.0 + rad_per_s * np.arange(n) / fps
    rotvec[:, ELBOW] = rotvec_from_matrix(matrix_from_rotvec(angle[:, None] * [0.0, 0.6, 0.8]))
    return Clip("turning", base.skeleton, fps, rotvec, np.zeros((n, 3)))


def column(name: str) -> int:
    return list_feature_names().index(name)


def test_names_and_layout() -> None:
    names = list_feature_names()
    assert len(names) == len(set(names)) == N_FEATURES == 3 * N_STATIC == 207
    assert names[0] == "leftUpperLeg.x" and names[66:69] == ["up.x", "up.y", "up.z"] and names[69] == "leftUpperLeg.x velocity"


@pytest.mark.parametrize("fps", [24.0, 29.97, 30.0, 50.0, 60.0, 100.0, 119.88, 120.0])
def test_a_rate_changes_neither_velocity_nor_number_of_poses(fps: float) -> None:
    poses = build_training_poses([turning(fps, 1.0)])
    velocity = poses.features[:, [column(f"leftLowerArm.{axis} velocity") for axis in "xyz"]]
    assert len(poses) in (28, 29)
    assert np.allclose(velocity, 1.5 * STEP_S * np.array([0.0, 0.6, 0.8]), atol=1e-12)
    assert np.abs(poses.features[:, 2 * N_STATIC :]).max() < 1e-12
    assert np.allclose(np.diff(poses.times.seconds), STEP_S)


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("fps", [25.0, 30.0, 120.0])
def test_clips_of_few_frames(frames: int, fps: float) -> None:
    poses = build_training_poses([turning(fps, 0.0, frames=frames)])
    assert len(poses) == max(0, int((frames - 1) * RATE_HZ / fps + 1e-9) - 1)
    assert poses.features.shape[1] == N_FEATURES and poses.rotvec.shape[1:] == (N_JOINTS, 3)


def test_rotation_vectors_are_those_of_the_features_at_odd_rates() -> None:
    poses = build_training_poses([make_builtin_clip("walk", fps=47.0)])
    assert np.array_equal(compute_static_features(poses.rotvec), poses.features[:, :N_STATIC])


def test_differences_do_not_reach_from_one_clip_into_the_next() -> None:
    first, second = make_builtin_clip("walk", fps=60.0), make_builtin_clip("kick", fps=60.0)
    poses = build_training_poses([first, second])
    one, other = build_training_poses([first]), build_training_poses([second])
    assert np.array_equal(poses.features, np.concatenate([one.features, other.features]))
    assert np.array_equal(np.unique(poses.times.stretch), [0, 1])


def test_a_joint_that_turns_past_pi_makes_no_jump() -> None:
    clip = turning(60.0, 3.5)  # from -1 to 4.25 rad
    assert np.abs(np.diff(clip.rotvec[:, ELBOW], axis=0)).max() > 4.0
    poses = build_training_poses([clip])
    assert np.abs(poses.features[:, N_STATIC:]).max() < 1.5 * STEP_S
    assert np.linalg.norm(poses.rotvec[:, ELBOW], axis=1).max() > 4.0
    assert compute_geodesic_rad(matrix_from_rotvec(poses.rotvec), matrix_from_rotvec(clip.rotvec[4::2])).max() < 1e-9


def test_a_second_clip_takes_the_rotation_vectors_nearest_to_the_first() -> None:
    clip = turning(60.0, 3.5)
    end = Clip("end", clip.skeleton, 60.0, np.ascontiguousarray(clip.rotvec[-31:]), np.zeros((31, 3)))
    poses = build_training_poses([clip, end])
    assert np.allclose(poses.rotvec[-1, ELBOW], poses.rotvec[poses.times.stretch == 0][-1, ELBOW])


@given(VECTORS, VECTORS)
def test_the_nearest_rotation_vector(r: Floats, to: Floats) -> None:
    found = choose_nearest_rotvec(r, to)
    assert compute_geodesic_rad(matrix_from_rotvec(found), matrix_from_rotvec(r)) < 1e-7
    assert np.linalg.norm(found) <= 2.0 * np.pi + 1e-9
    angle = np.linalg.norm(r)
    same = [r] if angle < 1e-9 else [r, r * (1.0 - 2.0 * np.pi / angle)]
    assert np.linalg.norm(found - to) <= min(np.linalg.norm(other - to) for other in same) + 1e-9


def test_unbroken_leaves_ordinary_motion_as_it_is() -> None:
    clip = make_builtin_clip("punches", fps=30.0)
    assert np.array_equal(choose_continuous_rotvec(clip.rotvec, clip.rotvec[0]), clip.rotvec)


@given(st.floats(-np.pi, np.pi), VECTORS)
def test_the_vertical_does_not_know_the_heading(yaw: float, tilt: Floats) -> None:
    rotvec = np.zeros((2, N_JOINTS, 3))
    rotvec[0, 0] = tilt
    turned = matrix_from_rotvec([0.0, yaw, 0.0]) @ matrix_from_rotvec(tilt)
    rotvec[1, 0] = rotvec_from_matrix(REFERENCE[0].T @ turned)
    first, second = compute_static_features(rotvec)
    assert np.allclose(first, second, atol=1e-7)
    assert np.isclose(np.linalg.norm(first[-3:]), 1.0)


def test_differences_by_hand() -> None:
    now, before, earlier = np.array([[5.0]]), np.array([[3.0]]), np.array([[2.0]])
    assert np.array_equal(append_differences(now, before, earlier), [[5.0, 2.0, 1.0]])


def test_some_poses_evenly() -> None:
    poses = build_training_poses([make_builtin_clip("walk", fps=30.0)])
    fewer = subsample_poses(poses, 50)
    assert len(fewer) == len(fewer.times.seconds) == 50
    assert np.array_equal(fewer.features[[0, -1]], poses.features[[0, -1]])
    assert subsample_poses(poses, 10_000) is poses
    unknown = subsample_poses(TrainingPoses(poses.features, poses.rotvec), 20)
    assert len(unknown) == 20 and len(unknown.times.seconds) == 0 and isinstance(unknown.times, PoseTimes)
