"""Resampled clips: exact for steady rotations; mirrored clips: joint positions are reflections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.joints import mirror_joint_name as mirrored_name
from database.clips import Clip, clip_from_local
from database.files.resample import mirror_clip, resample_clip
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.database.motions import BODY, WRIST, far_rad, smooth_clip


def test_whole_ratios_take_frames_as_they_are() -> None:
    clip = smooth_clip(11)
    half = resample_clip(clip, 60.0)
    assert half.fps == 60.0
    np.testing.assert_array_equal(half.rotvec, clip.rotvec[::2])
    np.testing.assert_array_equal(half.root_m, clip.root_m[::2])
    np.testing.assert_array_equal(resample_clip(clip, 120.0).rotvec, clip.rotvec)


@settings(max_examples=25)
@given(st.floats(10.0, 400.0), st.integers(1, 40))
def test_a_steady_rotation_stays_steady_at_any_rate(fps: float, n_frames: int) -> None:
    """With constant angular velocity slerp is exact: at time t the wrist has rotated by 2 t about its axis."""
    t = np.arange(n_frames) / 120.0
    local = np.tile(np.eye(3), (n_frames, N_JOINTS, 1, 1))
    local[:, WRIST] = matrix_from_rotvec(t[:, None] * [1.2, -1.6, 0.0])
    out = resample_clip(clip_from_local("steady", BODY, 120.0, local, t[:, None] * [1.0, 2.0, 3.0]), fps)
    times = np.arange(out.n_frames) / fps
    assert times[-1] <= t[-1] + 1e-6 < times[-1] + 1 / fps + 2e-6
    np.testing.assert_allclose(compute_geodesic_rad(local_from_charted(out.rotvec)[:, WRIST], np.eye(3)), 2.0 * times, atol=1e-6)
    np.testing.assert_allclose(out.root_m, times[:, None] * [1.0, 2.0, 3.0], atol=1e-9)


def test_resampling_up_and_down_comes_back() -> None:
    clip = smooth_clip(121)
    assert far_rad(resample_clip(resample_clip(clip, 360.0), 120.0), clip) < 1e-6
    with pytest.raises(ValueError, match="above zero"):
        resample_clip(clip, 0.0)


def test_mirrored_joints_and_tails_are_reflected_and_twice_is_the_clip_itself() -> None:
    rng = np.random.default_rng(3)
    skeleton = Skeleton("lopsided", rng.normal(0.0, 0.2, (N_JOINTS, 3)), rng.normal(0.0, 0.1, (N_JOINTS, 3)))
    clip = Clip("14_02", skeleton, 60.0, rng.normal(0.0, 0.8, (5, N_JOINTS, 3)), rng.normal(size=(5, 3)))
    image = mirror_clip(clip)
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    G_image, p_image = compute_forward_kinematics(image.skeleton, image.rotvec, image.root_m)
    for joint, name in enumerate(JOINTS):
        other = JOINT_INDEX[mirrored_name(name)]
        np.testing.assert_allclose(p_image[:, joint], p[:, other] * (-1.0, 1.0, 1.0), atol=1e-12)
        tail = p[:, other] + G[:, other] @ clip.skeleton.tails_m[other]
        tail_image = p_image[:, joint] + G_image[:, joint] @ image.skeleton.tails_m[joint]
        np.testing.assert_allclose(tail_image, tail * (-1.0, 1.0, 1.0), atol=1e-12)
    left, right = JOINT_INDEX["leftUpperArm"], JOINT_INDEX["rightUpperArm"]
    np.testing.assert_array_equal(image.rotvec[:, right], clip.rotvec[:, left] * (1.0, -1.0, -1.0))
    again = mirror_clip(image)
    assert (image.name, again.name, again.fps) == ("14_02_mirrored", "14_02", 60.0)
    np.testing.assert_array_equal(again.rotvec, clip.rotvec)
    np.testing.assert_array_equal(again.root_m, clip.root_m)
    np.testing.assert_array_equal(again.skeleton.offsets_m, clip.skeleton.offsets_m)
    np.testing.assert_array_equal(again.skeleton.tails_m, clip.skeleton.tails_m)
