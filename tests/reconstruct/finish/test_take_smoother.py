"""The smoother: noise goes, motion stays where and when it was, gaps are bridged, cuts are respected."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.finish.take_smoother import drop_excursions, find_segments, fit_local_quadratic, smooth_poses
from reconstruct.pose import JointSource, Pose, TrackingState
from tests.reconstruct.finish.test_output_filter import FRAME_S, SUBJECT, pose_at, trembling
from tests.support.people import bent_pose, worn_markers
from tests.support.poses import joints_of


def swinging(n: int, uneven: bool = False) -> list[Pose]:
    """Return a body that walks along z and swings an arm; frame times uneven if wanted."""
    rng, poses = np.random.default_rng(4), list[Pose]()
    for k in range(n):
        seconds = (k + (rng.uniform(-0.3, 0.3) if uneven else 0.0)) * FRAME_S
        rotvec = bent_pose(2)
        rotvec[16] += [0.0, 0.5 * np.sin(2 * np.pi * 0.8 * seconds), 0.0]
        poses.append(pose_at(seconds, rotvec, np.array([0.1, 0.9, 1.1 * seconds])))
    return poses


def noisy(poses: list[Pose], sigma_rad: float = 0.02, sigma_m: float = 0.005) -> list[Pose]:
    rng = np.random.default_rng(8)
    return [
        replace(p, rotvec=p.rotvec + rng.normal(0, sigma_rad, (N_JOINTS, 3)), root_m=p.root_m + rng.normal(0, sigma_m, 3))
        for p in poses
    ]


def lost(poses: list[Pose], frames: range, state: TrackingState = TrackingState.LOST) -> list[Pose]:
    """Hold the pose before a gap, as the pipeline does."""
    held = poses[frames[0] - 1]
    return [replace(p, rotvec=held.rotvec, root_m=held.root_m, state=state) if n in frames else p for n, p in enumerate(poses)]


def error_m(poses: list[Pose], truth: list[Pose]) -> Floats:
    return np.asarray(np.linalg.norm(joints_of(SUBJECT, poses)[1] - joints_of(SUBJECT, truth)[1], axis=2))


def test_no_window_is_the_very_poses() -> None:
    poses = trembling(10)
    assert all(a is b for a, b in zip(smooth_poses(poses, SUBJECT, 0.0), poses, strict=True))


def test_a_quadratic_is_met_exactly() -> None:
    """3 + 2 t - 5 t^2 at uneven times, some trusted less: value 3, slope 2."""
    tau = np.array([-0.11, -0.07, -0.06, 0.0, 0.02, 0.09])
    values = (3.0 + 2.0 * tau - 5.0 * tau**2)[:, None, None] * np.array([[1.0, -2.0, 0.5]])
    confidence = np.array([0.9, 0.2, 0.9, 0.5, 0.9, 0.9])[:, None]
    value, slope = fit_local_quadratic(tau, values, confidence, np.array([0.12]))
    np.testing.assert_allclose(value, [[3.0, -6.0, 1.5]], rtol=1e-5)
    np.testing.assert_allclose(slope, [[2.0, -4.0, 1.0]], rtol=1e-4)


def test_one_frame_alone_keeps_its_value() -> None:
    value, slope = fit_local_quadratic(np.zeros(1), np.full((1, 2, 3), 7.0), np.full((1, 2), 0.4), np.array([0.1, 0.2]))
    np.testing.assert_allclose(value, 7.0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


@pytest.mark.parametrize("uneven", [False, True])
def test_exact_motion_stays_where_it_is(uneven: bool) -> None:
    poses = swinging(120, uneven)
    assert error_m(smooth_poses(poses, SUBJECT), poses).max() < 0.001


def test_noise_goes() -> None:
    """About seven frames a window in motion: a local quadratic keeps about 0.6 of white noise in its middle."""
    truth = swinging(150)
    poses = noisy(truth)
    before, after = error_m(poses, truth)[5:-5].mean(), error_m(smooth_poses(poses, SUBJECT), truth)[5:-5].mean()
    assert after < 0.65 * before


def test_there_is_no_lag() -> None:
    """Mirrored in time, the take comes out mirrored."""
    poses = noisy(swinging(60))
    end = poses[-1].t_capture_ns
    mirrored = [replace(p, t_capture_ns=end - p.t_capture_ns) for p in poses[::-1]]
    np.testing.assert_allclose(
        joints_of(SUBJECT, smooth_poses(mirrored, SUBJECT))[1][::-1],
        joints_of(SUBJECT, smooth_poses(poses, SUBJECT))[1],
        atol=1e-5,
    )


def test_still_bodies_are_smoothed_more() -> None:
    poses = trembling(200)
    before, after = (np.diff(joints_of(SUBJECT, p)[1], axis=0).std() for p in (poses, smooth_poses(poses, SUBJECT)))
    assert after < 0.25 * before


@pytest.mark.parametrize("state", [TrackingState.LOST, TrackingState.COASTING])
def test_a_gap_is_bridged_and_marked(state: TrackingState) -> None:
    """0.2 s of a walk at 1.1 m/s with a swinging arm, gone: held poses are 11 cm off on average, the bridge 1 cm at most."""
    truth, gap = swinging(90), range(40, 52)
    poses = lost(truth, gap, state)
    bridge = smooth_poses(poses, SUBJECT)
    assert error_m(poses, truth)[40:52].max() > 0.2
    assert error_m(bridge, truth)[40:52].max() < 0.01
    assert all(p.state is TrackingState.COASTING and (p.joint_source == JointSource.INFERRED).all() for p in bridge[40:52])
    assert all(p.confidence.max() <= 0.3 for p in bridge[40:52])
    assert all(p.state is TrackingState.TRACKING for n, p in enumerate(bridge) if n not in gap)


def test_a_long_gap_and_the_ends_stay_as_they_are() -> None:
    truth = swinging(150)
    poses = lost(lost(truth, range(40, 110)), range(145, 150))
    poses[0] = replace(poses[0], state=TrackingState.LOST)
    given = smooth_poses(poses, SUBJECT)
    for n in [0, *range(40, 110), *range(145, 150)]:
        assert given[n] is poses[n]
    assert [(s[0], s[-1]) for s in find_segments(poses, SUBJECT)] == [(1, 39), (110, 144)]


def test_a_cut_is_not_smoothed_over() -> None:
    """A jump of two metres: frames before and after it are what they would be alone."""
    poses = noisy(swinging(60))
    jumped = poses[:30] + [replace(p, root_m=p.root_m + [2.0, 0.0, 0.0]) for p in poses[30:]]
    given = smooth_poses(jumped, SUBJECT)
    alone = smooth_poses(jumped[:30], SUBJECT) + smooth_poses(jumped[30:], SUBJECT)
    assert all(
        np.array_equal(a.rotvec, b.rotvec) and np.array_equal(a.root_m, b.root_m) for a, b in zip(given, alone, strict=True)
    )
    assert given[29].root_m[0] < 0.2 and given[30].root_m[0] > 2.0


@pytest.mark.parametrize(("astray", "tracked_again"), [(range(30, 40), 40), (range(30, 40), 55)])
def test_poses_that_go_astray_and_come_back_are_not_followed(astray: range, tracked_again: int) -> None:
    """A metre to the side for ten frames, and perhaps coasting there before the way back: one segment, without these frames."""
    poses = [replace(p, root_m=p.root_m + [1.0, 0.0, 0.0]) if n in astray else p for n, p in enumerate(swinging(90))]
    if tracked_again > astray.stop:
        poses = lost(poses, range(astray.stop, tracked_again), TrackingState.COASTING)
    assert len(find_segments(poses, SUBJECT)) > 1
    given = drop_excursions(poses, SUBJECT)
    assert [len(segment) for segment in find_segments(given, SUBJECT)] == [90]
    left_out = [n for n in range(90) if given[n] is not poses[n]]
    assert left_out == list(astray) and all(given[n].state is TrackingState.COASTING for n in left_out)


def test_a_performer_who_is_displaced_for_long_is_cut() -> None:
    poses = [replace(p, root_m=p.root_m + [3.0 * (n >= 30), 0.0, 0.0]) for n, p in enumerate(swinging(90))]
    assert drop_excursions(poses, SUBJECT) == poses


def test_twins_of_the_root_make_no_difference() -> None:
    """A body turning past half a turn, its root's rotation vector jumping to the twin: nothing is seen of that."""
    poses = []
    for k in range(60):
        rotvec = bent_pose(2)
        angle = np.pi - 0.5 + k * FRAME_S
        rotvec[0] = [0.0, angle if angle <= np.pi else angle - 2 * np.pi, 0.0]
        poses.append(pose_at(k * FRAME_S, rotvec, np.array([0.0, 0.9, 0.0])))
    assert abs(poses[20].rotvec[0, 1] - poses[40].rotvec[0, 1]) > 5.0
    given = smooth_poses(poses, SUBJECT)
    assert error_m(given, poses).max() < 1e-4
    assert max(np.abs(a.rotvec - b.rotvec).max() for a, b in zip(given, poses, strict=True)) < 1e-3


def test_markers_belong_to_the_smoothed_pose() -> None:
    pose = smooth_poses(noisy(swinging(30)), SUBJECT)[12]
    np.testing.assert_allclose(pose.marker_m, worn_markers(SUBJECT, pose.rotvec[None], pose.root_m[None])[0][0], atol=1e-9)


def test_repeated_stamps_and_nothing_at_all() -> None:
    poses = swinging(10)
    doubled = [*poses[:5], poses[4], *poses[5:]]
    assert smooth_poses(doubled, SUBJECT)[5] is doubled[5]
    assert smooth_poses([], SUBJECT) == []
    one = smooth_poses(poses[:1], SUBJECT)
    np.testing.assert_allclose(one[0].rotvec, poses[0].rotvec, atol=1e-9)


@given(
    st.lists(
        st.tuples(st.sampled_from(list(TrackingState)), st.floats(-6.0, 6.0), st.floats(-1.0, 1.0), st.integers(-3, 400)),
        max_size=12,
    )
)
def test_whatever_comes_no_nan_leaves(frames: list[tuple[TrackingState, float, float, int]]) -> None:
    poses, seconds = [], 0.0
    for state, angle, x, ms in frames:
        seconds += ms * 1e-3
        poses.append(replace(pose_at(seconds, np.full((N_JOINTS, 3), angle), np.array([x, 0.0, -x])), state=state))
    given = smooth_poses(poses, SUBJECT)
    assert len(given) == len(poses)
    for before, after in zip(poses, given, strict=True):
        assert after.t_capture_ns == before.t_capture_ns
        assert np.isfinite(after.rotvec).all() and np.isfinite(after.root_m).all() and np.isfinite(after.marker_m).all()
        assert np.isfinite(compute_forward_kinematics(SUBJECT.skeleton, after.rotvec, after.root_m)[1]).all()
        assert np.allclose(np.linalg.det(matrix_from_rotvec(after.rotvec)), 1.0)
