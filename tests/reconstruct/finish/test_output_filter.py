"""The output filter: still bodies stop trembling, moving ones are not held back, and nothing depends on charts or frame times."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.settings import FilterSettings
from database.geometry.kinematics import charted_from_local, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_quaternion, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.body import LEFT_ARM, LEGS, PART, TRUNK
from reconstruct.finish.output_filter import OutputFilter, rotate_towards
from reconstruct.pose import Pose, TrackingState
from tests.support.people import bent_pose, person
from tests.support.poses import joints_of, solved_pose

SUBJECT = person("boxing", 3)
FRAME_S = 1.0 / 60.0


def pose_at(seconds: float, rotvec: Floats, root_m: Floats) -> Pose:
    return solved_pose(SUBJECT, round(seconds * 1e9), rotvec, root_m)


def filtered(poses: list[Pose], settings: FilterSettings | None = None) -> list[Pose]:
    kept = OutputFilter(FilterSettings() if settings is None else settings, SUBJECT)
    return [kept.step(pose) for pose in poses]


def trembling(n: int, sigma_rad: float = 0.004, sigma_m: float = 0.003, frame_s: float = FRAME_S) -> list[Pose]:
    """Return a body that stands still, with noise as coloured as that of solved poses: AR(1) with 0.7 from frame to frame."""
    rng = np.random.default_rng(5)
    still, noise = bent_pose(2), np.zeros((n, N_JOINTS + 1, 3))
    for k in range(1, n):
        noise[k] = 0.7 * noise[k - 1] + np.sqrt(1 - 0.7**2) * rng.normal(size=(N_JOINTS + 1, 3))
    root = np.array([0.3, 0.95, -0.2])
    return [pose_at(k * frame_s, still + sigma_rad * noise[k, :-1], root + sigma_m * noise[k, -1]) for k in range(n)]


def gliding(n: int, speed_m_s: float, frame_s: float = FRAME_S) -> list[Pose]:
    """Return a body that moves along x without turning anything."""
    return [pose_at(k * frame_s, bent_pose(2), np.array([speed_m_s * k * frame_s, 0.9, 0.1])) for k in range(n)]


def test_off_is_the_very_pose() -> None:
    poses = trembling(20)
    assert all(a is b for a, b in zip(filtered(poses, FilterSettings(output=False)), poses, strict=True))


def test_parts_are_legs_trunk_and_arms() -> None:
    named = {part: {JOINTS[j] for j in np.flatnonzero(part == PART)} for part in range(4)}
    assert {"hips", "leftToes", "rightUpperLeg"} <= named[LEGS] and len(named[LEGS]) == 9
    assert named[TRUNK] == {"spine", "chest", "upperChest", "neck", "upperNeck", "head"}
    assert named[LEFT_ARM] == {"leftShoulder", "leftUpperArm", "leftLowerArm", "leftHand"}


def test_standing_still_trembles_little() -> None:
    """AR(1) noise of factor f keeps the share sqrt(a / (2 - a) (1 + f b) / (1 - f b)), b = 1 - a, of its RMS in a first-order low
    pass; with f = 0.7 and a = 0.051 that is 0.36."""
    poses = trembling(300)
    before, after = (joints_of(SUBJECT, p)[1][100:] for p in (poses, filtered(poses)))
    rms = [np.sqrt(((p - p.mean(axis=0)) ** 2).sum(axis=2).mean()) for p in (before, after)]
    assert rms[0] > 0.005
    assert 0.28 * rms[0] < rms[1] < 0.44 * rms[0]


@pytest.mark.parametrize("frame_s", [1 / 30, 1 / 60, 1 / 120])
def test_a_moving_body_is_not_held_back(frame_s: float) -> None:
    """At a metre a second, half a second after the start, the lag is below half a millimetre: half a millisecond."""
    n = round(1.0 / frame_s)
    poses = gliding(n, 1.0, frame_s)
    lag_m = (joints_of(SUBJECT, poses)[1] - joints_of(SUBJECT, filtered(poses))[1])[n // 2 :, 0, 0]
    assert np.abs(lag_m).max() < 0.0005


def test_the_start_of_a_fast_motion_is_through_within_frames() -> None:
    """From rest to 2 m/s: 50 ms later what is published lags by less than 10 ms of motion."""
    still, moving = gliding(60, 0.0), gliding(30, 2.0)
    poses = still + [replace(p, t_capture_ns=p.t_capture_ns + round(60 * FRAME_S * 1e9)) for p in moving]
    lag_m = (joints_of(SUBJECT, poses)[1] - joints_of(SUBJECT, filtered(poses))[1])[63:, 0, 0]
    assert lag_m.max() < 0.02


def test_a_small_step_is_followed_and_not_overshot() -> None:
    """2 cm to the side, slower than any threshold: a first-order low pass comes from one side and gets there."""
    poses = [pose_at(k * FRAME_S, bent_pose(2), np.array([0.004 if k >= 30 else 0.0, 0.9, 0.0])) for k in range(200)]
    x = np.array([p.root_m[0] for p in filtered(poses)])
    assert np.all(np.diff(x) >= 0.0) and x.max() <= 0.004
    # Low pass of 0.5 Hz: after 11 frames exp(-pi 11 / 60) = 0.56 of the step are still to go.
    assert x[40] == pytest.approx(0.44 * 0.004, rel=0.03)
    assert x[-1] > 0.0039


def test_frame_times_may_vary() -> None:
    """Every other frame dropped from a slow approach: the places at the frames kept differ by less than a tenth of the way."""
    poses = [pose_at(k * FRAME_S, bent_pose(2), np.array([0.004 * (k > 4), 0.9, 0.0])) for k in range(60)]
    every = np.array([p.root_m[0] for p in filtered(poses)])[::2]
    half = np.array([p.root_m[0] for p in filtered(poses[::2])])
    np.testing.assert_allclose(half, every, atol=0.0004)


def test_an_arm_may_move_while_the_legs_are_steadied() -> None:
    poses, elbow = [], JOINT_INDEX["leftUpperArm"]
    rng = np.random.default_rng(0)
    for k in range(120):
        rotvec = bent_pose(2)
        rotvec[elbow] += [0.0, 0.25 * np.sin(2 * np.pi * 1.0 * k * FRAME_S), 0.0]  # the hand moves at 0.7 m/s at most
        poses.append(pose_at(k * FRAME_S, rotvec, np.array([0.0, 0.9, 0.0]) + rng.normal(0, 0.002, 3)))
    out = filtered(poses)
    both = (np.stack([[p.rotvec[elbow], p.root_m] for p in of[30:]]).swapaxes(0, 1) for of in (poses, out))
    (swing_in, root_in), (swing_out, root_out) = both
    assert np.abs(swing_out - swing_in).max() < 0.05 * np.ptp(swing_in)
    assert root_out.std(axis=0).max() < 0.3 * root_in.std(axis=0).min()


def test_a_teleport_a_silence_and_a_loss_start_anew() -> None:
    poses = trembling(40)
    far = pose_at(40 * FRAME_S, poses[-1].rotvec, poses[-1].root_m + [0.5, 0.0, 0.0])
    late = pose_at(39 * FRAME_S + 0.6, poses[3].rotvec, poses[3].root_m)
    lost = replace(pose_at(40 * FRAME_S, poses[3].rotvec, poses[3].root_m), state=TrackingState.LOST)
    again = pose_at(41 * FRAME_S, poses[7].rotvec, poses[7].root_m)
    for news in ([far], [late], [lost, again]):
        out = filtered(poses + news)
        assert all(a is b for a, b in zip(out[40:], news, strict=True))
    assert filtered([*poses, again])[-1] is not again


def test_time_that_stands_still_starts_anew() -> None:
    poses = trembling(5)
    assert filtered([*poses, poses[-1]])[-1] is poses[-1]


def test_poses_go_in_and_come_out_of_any_chart() -> None:
    """A root turned by nearly pi that changes between r and its twin, one full turn away, gives the same rotations."""
    poses = trembling(60)
    turned = [replace(p, rotvec=p.rotvec.copy()) for p in poses]
    rng = np.random.default_rng(1)
    for k, p in enumerate(turned):
        p.rotvec[0] = [0.0, 3.12, 0.0] + rng.normal(0.0, 0.02, 3)
        if k % 2:
            p.rotvec[0] *= 1.0 - 2.0 * np.pi / np.linalg.norm(p.rotvec[0])
    short = [replace(p, rotvec=charted_from_local(local_from_charted(p.rotvec))) for p in turned]
    assert any(np.abs(a.rotvec[0] - b.rotvec[0]).max() > 1.0 for a, b in zip(turned, short, strict=True))
    for one, a, b in zip(turned, filtered(turned), filtered(short), strict=True):
        np.testing.assert_allclose(matrix_from_rotvec(a.rotvec), matrix_from_rotvec(b.rotvec), atol=1e-9)
        assert np.linalg.norm(a.rotvec[0] - one.rotvec[0]) < 0.2


@given(st.integers(0, 2**31), st.floats(0.0, 1.0))
def test_turning_goes_the_share_of_the_shortest_arc(seed: int, share: float) -> None:
    """Against X exp(alpha log(X^-1 R)) by matrices."""
    rng = np.random.default_rng(seed)
    rotvec, alpha = rng.normal(0.0, 2.0, (3, 3)), np.array([share, 1.0 - share, 1.0])
    quaternion = rng.normal(size=(3, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1)[:, None]
    X, R, out = matrix_from_quaternion(quaternion), matrix_from_rotvec(rotvec), np.empty((3, 3))
    arc = rotvec_from_matrix(np.swapaxes(X, -1, -2) @ R)
    expected = X @ matrix_from_rotvec(alpha[:, None] * arc)
    rotate_towards(quaternion, rotvec, alpha, out)
    assert compute_geodesic_rad(matrix_from_rotvec(out), expected).max() < 1e-6
    assert compute_geodesic_rad(matrix_from_quaternion(quaternion), expected).max() < 1e-6
    assert np.linalg.norm(out, axis=1).max() <= 2.0 * np.pi + 1e-9


@given(st.lists(st.tuples(st.floats(-7.0, 7.0), st.floats(-3.0, 3.0), st.integers(-5, 700)), min_size=1, max_size=12))
def test_whatever_comes_no_nan_leaves(frames: list[tuple[float, float, int]]) -> None:
    kept, seconds = OutputFilter(FilterSettings(), SUBJECT), 0.0
    for angle, x, ms in frames:
        seconds += ms * 1e-3
        out = kept.step(pose_at(seconds, np.full((N_JOINTS, 3), angle), np.array([x, 0.0, -x])))
        assert np.isfinite(out.rotvec).all() and np.isfinite(out.root_m).all()


def test_a_pose_with_nan_is_passed_and_forgotten() -> None:
    poses = trembling(10)
    broken = replace(poses[5], rotvec=poses[5].rotvec * np.nan)
    out = filtered([*poses[:5], broken, *poses[6:]])
    assert out[5] is broken and all(np.isfinite(p.rotvec).all() for p in out[6:])


def test_warming_leaves_no_trace() -> None:
    warmed = OutputFilter(FilterSettings(), SUBJECT)
    warmed.warm(trembling(1)[0])
    poses = trembling(5)
    assert warmed.step(poses[0]) is poses[0]
    assert all(np.array_equal(warmed.step(p).rotvec, q.rotvec) for p, q in zip(poses[1:], filtered(poses)[1:], strict=True))
