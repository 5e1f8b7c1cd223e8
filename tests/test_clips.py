"""Clips, their pieces, cleaning and resampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.joints import JOINT_INDEX, N_JOINTS
from database.cleaning import clean
from database.clips import Clip, clip_from_local, clip_slice, without_frames
from database.kinematics import local_rotations
from database.resample import resample
from database.rotations import geodesic_rad, matrix_from_rotvec
from database.skeleton import Skeleton

TOES = JOINT_INDEX["rightToes"]
OFFSETS, TAILS = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
OFFSETS[TOES], TAILS[TOES] = (0.01, -0.04, 0.12), (0.0, 0.01, 0.06)
BODY = Skeleton("test", OFFSETS, TAILS)
KNEE, ANKLE, WRIST = JOINT_INDEX["rightUpperLeg"], JOINT_INDEX["rightFoot"], JOINT_INDEX["leftHand"]


def smooth_clip(n_frames: int, fps: float = 120.0, seed: int = 0) -> Clip:
    """Give a clip in which every joint swings about an axis of its own, at most 6 rad/s and 0.8 rad, and the root walks."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(N_JOINTS, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    t = np.arange(n_frames) / fps
    angle = np.sin(2 * np.pi * rng.uniform(0.5, 1.2, N_JOINTS) * t[:, None] + rng.uniform(0, 6, N_JOINTS)) * 0.8
    local = matrix_from_rotvec(angle[..., None] * axis)
    root = np.stack([1.3 * t, 0.9 + 0.02 * np.sin(9 * t), -0.2 * t], axis=1)
    return clip_from_local("walk", BODY, fps, local, root)


def with_turn(clip: Clip, frames: slice, joint: int, turn: tuple[float, float, float]) -> Clip:
    """Turn one joint in some frames."""
    local = local_rotations(clip.rotvec)
    local[frames, joint] = local[frames, joint] @ matrix_from_rotvec(turn)
    return clip_from_local(clip.name, clip.skeleton, clip.fps, local, clip.root_m)


def far_rad(first: Clip, second: Clip) -> float:
    """Give the largest geodesic difference of any joint in any frame."""
    return float(geodesic_rad(local_rotations(first.rotvec), local_rotations(second.rotvec)).max())


def test_pieces_keep_frames_and_say_where_they_began() -> None:
    clip = smooth_clip(10)
    pieces = without_frames(clip, [(2, 4), (3, 5), (8, 99)])
    assert [(p.name, p.n_frames) for p in pieces] == [("walk", 2), ("walk+5", 3)]
    np.testing.assert_array_equal(pieces[1].rotvec, clip.rotvec[5:8])
    assert without_frames(clip, [(0, 99)]) == []
    part = clip_slice(clip, 3, 6)
    assert part.n_frames == 3 and part.seconds == pytest.approx(3 / 120)
    assert not part.root_m.flags.writeable


def test_a_smooth_clip_comes_back_untouched() -> None:
    clip = smooth_clip(240)
    cleaned, report = clean(clip)
    assert cleaned is clip
    assert (report.frames, report.rotations, report.jumps_left) == (0, 0, 0)


@pytest.mark.parametrize(
    ("first", "length", "turn"), [(50, 1, (0.0, 0.7, 0.2)), (50, 2, (0.9, 0.0, 0.0)), (100, 12, (0.3, 3.0, 0.1))]
)
def test_a_flip_is_interpolated_away(first: int, length: int, turn: tuple[float, float, float]) -> None:
    clip = smooth_clip(240)
    cleaned, report = clean(with_turn(clip, slice(first, first + length), KNEE, turn))
    assert (report.frames, report.rotations, report.jumps_left) == (length, length, 0)
    # Within 12 frames of 1/120 s a swing of 0.8 rad at 1.2 Hz strays from the geodesic by w^2 A T^2 / 8 = 0.06 rad at most.
    assert far_rad(cleaned, clip) < (0.06 if length > 2 else 0.01)
    outside = np.r_[0:first, first + length : 240]
    np.testing.assert_array_equal(cleaned.rotvec[outside], with_turn(clip, slice(0, 0), KNEE, turn).rotvec[outside])


def test_joints_that_flip_together_are_repaired_together() -> None:
    clip = smooth_clip(240)
    broken = with_turn(with_turn(clip, slice(60, 66), KNEE, (0, 3.0, 0)), slice(60, 66), ANKLE, (0, 0.5, 0))
    cleaned, report = clean(broken)
    assert (report.frames, report.rotations) == (6, 12)
    assert far_rad(cleaned, clip) < 0.03


def test_a_foot_upside_down_is_turned_back_about_its_length() -> None:
    clip = smooth_clip(120)
    local = local_rotations(clip.rotvec)
    local[:, TOES] = np.eye(3)  # toes straight: their own half turn is then nearly the foot's
    level = clip_from_local("walk", BODY, 120.0, local, clip.root_m)
    half = matrix_from_rotvec(np.pi * OFFSETS[TOES] / np.linalg.norm(OFFSETS[TOES]))
    local[40:, ANKLE] = local[40:, ANKLE] @ half
    broken = clip_from_local("walk", BODY, 120.0, local, clip.root_m)
    cleaned, report = clean(broken)
    assert (report.feet, report.frames, report.jumps_left) == (80, 0, 0)
    out = local_rotations(cleaned.rotvec)
    np.testing.assert_allclose(out[:, ANKLE], local_rotations(level.rotvec)[:, ANKLE], atol=1e-9)
    pointing, before = (L[:, ANKLE] @ L[:, TOES] @ TAILS[TOES] for L in (out, local))
    np.testing.assert_allclose(pointing, before, atol=1e-9)


def test_a_turn_that_stays_is_counted_and_left() -> None:
    clip = smooth_clip(240)
    broken = with_turn(clip, slice(150, None), WRIST, (2.5, 0, 0))
    cleaned, report = clean(broken)
    assert cleaned is broken
    assert (report.frames, report.jumps_left) == (0, 1)


def test_a_fast_but_possible_strike_is_kept() -> None:
    """An elbow at 25 rad/s at 120 Hz moves 0.21 rad a frame."""
    clip = smooth_clip(240)
    local = local_rotations(clip.rotvec)
    local[100:110, WRIST] = matrix_from_rotvec(np.arange(10)[:, None] * [0.21, 0, 0])
    local[110:, WRIST] = matrix_from_rotvec([2.1, 0, 0])
    local[:100, WRIST] = np.eye(3)
    strike = clip_from_local("strike", BODY, 120.0, local, clip.root_m)
    assert clean(strike)[0] is strike


def test_a_spike_of_the_root_is_taken_out() -> None:
    clip = smooth_clip(60)
    root = clip.root_m.copy()
    root[30] += (0.5, 0.0, 0.0)
    cleaned, report = clean(Clip("walk", BODY, 120.0, clip.rotvec.copy(), root))
    assert report.frames == 1
    np.testing.assert_allclose(cleaned.root_m, clip.root_m, atol=1e-4)


@pytest.mark.parametrize("n_frames", [1, 2, 3])
def test_tiny_clips(n_frames: int) -> None:
    clip = smooth_clip(n_frames)
    assert clean(clip)[0].n_frames == n_frames
    assert resample(clip, 50.0).n_frames >= 1


def test_whole_ratios_take_frames_as_they_are() -> None:
    clip = smooth_clip(11)
    half = resample(clip, 60.0)
    assert half.fps == 60.0
    np.testing.assert_array_equal(half.rotvec, clip.rotvec[::2])
    np.testing.assert_array_equal(half.root_m, clip.root_m[::2])
    np.testing.assert_array_equal(resample(clip, 120.0).rotvec, clip.rotvec)


@given(st.floats(10.0, 400.0), st.integers(2, 40))
def test_a_steady_turn_stays_steady_at_any_rate(fps: float, n_frames: int) -> None:
    """With constant angular velocity slerp is exact: at time t the wrist has turned by 2 t about its axis."""
    t = np.arange(n_frames) / 120.0
    local = np.tile(np.eye(3), (n_frames, N_JOINTS, 1, 1))
    local[:, WRIST] = matrix_from_rotvec(t[:, None] * [1.2, -1.6, 0.0])
    clip = clip_from_local("turn", BODY, 120.0, local, t[:, None] * [1.0, 2.0, 3.0])
    out = resample(clip, fps)
    times = np.arange(out.n_frames) / fps
    assert times[-1] <= t[-1] + 1e-6 < times[-1] + 1 / fps + 2e-6
    turned = geodesic_rad(local_rotations(out.rotvec)[:, WRIST], np.eye(3))
    np.testing.assert_allclose(turned, 2.0 * times, atol=1e-6)
    np.testing.assert_allclose(out.root_m, times[:, None] * [1.0, 2.0, 3.0], atol=1e-9)


def test_resampling_up_and_down_comes_back() -> None:
    clip = smooth_clip(121)
    again = resample(resample(clip, 360.0), 120.0)
    assert far_rad(again, clip) < 1e-6


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        resample(smooth_clip(5), 0.0)
