"""Feet that touch the ground stay where they are: hand-made walks, noise, jumps, NaN, and nothing when switched off."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.settings import FeetSettings
from database.builtin import build_person_skeleton
from database.clips import Clip
from database.contacts import CONTACT_INDEX, compute_contact_points_m, label_contacts
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.finish.foot_lock import FeetLock, FeetStep, build_initial_state, compute_corrections_m, update_anchors
from tests.support.people import PERIOD_NS, bent_pose, walk

SKELETON = build_person_skeleton(1.74, leg_ratio=1.03)
SEEN, UNSEEN = np.ones(2, bool), np.zeros(2, bool)
UNKNOWN = np.full(4, np.nan)


def noisy(clip: Clip, sigma_rad: float, seed: int = 0) -> Floats:
    """Return a clip's rotations with noise in the legs that changes every frame."""
    rotvec = clip.rotvec.copy()
    rotvec[:, 1:9] += np.random.default_rng(seed).normal(0.0, sigma_rad, rotvec[:, 1:9].shape)
    return rotvec


def run(lock: FeetLock, rotvec: Floats, root_m: Floats, shares: Floats, measured: np.ndarray = UNSEEN) -> list[FeetStep]:
    """Step through a motion at 60 Hz."""
    return [lock.step(n * PERIOD_NS, rotvec[n], root_m[n], shares[n], measured) for n in range(len(rotvec))]


def slide_mm(points_m: Floats, contact: np.ndarray) -> float:
    """Return how far points move a frame while in contact [mm]."""
    return 1e3 * float(np.linalg.norm(np.diff(points_m, axis=0), axis=2)[contact[1:] & contact[:-1]].mean())


def test_a_noisy_walk_slides_less_and_is_no_farther_from_the_truth() -> None:
    clip = walk(SKELETON)
    true_m = compute_contact_points_m(SKELETON, clip.rotvec, clip.root_m)
    contact = label_contacts(true_m, 60.0).astype(bool)
    rotvec = noisy(clip, 0.012)
    steps = run(FeetLock(SKELETON, FeetSettings()), rotvec, clip.root_m, contact.astype(float))
    before_m = compute_contact_points_m(SKELETON, rotvec, clip.root_m)
    after_m = compute_contact_points_m(SKELETON, np.array([s.rotvec for s in steps]), clip.root_m)
    assert slide_mm(before_m, contact) > 8.0
    assert slide_mm(after_m, contact) < 0.5 * slide_mm(before_m, contact)
    error = [np.linalg.norm(p - true_m, axis=2)[contact].mean() for p in (before_m, after_m)]
    assert error[1] < error[0]
    told = np.array([s.contact for s in steps])
    assert (told == contact).mean() > 0.9
    # The rest of the body is as it was, and so are the toes' own joints.
    changed = np.array([s.rotvec for s in steps]) != rotvec
    assert not changed[:, [0, 4, 8, *range(9, 23)]].any() and changed[:, 1:4].any() and changed[:, 5:8].any()


def test_holding_does_not_jump_more_than_the_pose_itself() -> None:
    clip = walk(SKELETON, 2)
    true_m = compute_contact_points_m(SKELETON, clip.rotvec, clip.root_m)
    contact = label_contacts(true_m, 60.0).astype(float)
    steps = run(FeetLock(SKELETON, FeetSettings()), clip.rotvec, clip.root_m, contact)
    after_m = compute_contact_points_m(SKELETON, np.array([s.rotvec for s in steps]), clip.root_m)
    beyond_m = np.linalg.norm(np.diff(after_m, axis=0) - np.diff(true_m, axis=0), axis=2)
    assert beyond_m.max() < 0.02  # what a foot rolls while it is held, let go over 5 frames


def test_switched_off_nothing_changes_but_contacts_are_told() -> None:
    clip = walk(SKELETON, 1)
    contact = label_contacts(compute_contact_points_m(SKELETON, clip.rotvec, clip.root_m), 60.0).astype(float)
    on = run(FeetLock(SKELETON, FeetSettings()), clip.rotvec, clip.root_m, contact)
    off = run(FeetLock(SKELETON, FeetSettings(lock=False)), clip.rotvec, clip.root_m, contact)
    for n, step in enumerate(off):
        assert step.rotvec is clip.rotvec[n] or np.array_equal(step.rotvec, clip.rotvec[n])
        assert step.contact.tolist() == on[n].contact.tolist()
    assert any(step.contact.any() for step in off)


def drifting(n: int, step_m: float) -> tuple[Floats, Floats]:
    """Return a standing body that glides sideways as a whole, `step_m` a frame, after half a second."""
    pose = bent_pose(5, 0.1)
    shift = np.maximum(np.arange(n) - 30, 0) * step_m
    return np.tile(pose, (n, 1, 1)), np.column_stack([shift, np.full(n, 0.9), np.zeros(n)])


@pytest.mark.parametrize(("measured", "limit_m"), [(SEEN, 0.01), (UNSEEN, 0.1)])
def test_a_foot_is_held_no_farther_than_its_limit(measured: np.ndarray, limit_m: float) -> None:
    rotvec, root_m = drifting(200, 0.001)
    steps = run(FeetLock(SKELETON, FeetSettings(slip_m=0.001)), rotvec, root_m, np.ones((200, 4)), measured)
    before_m = compute_contact_points_m(SKELETON, rotvec, root_m)
    after_m = compute_contact_points_m(SKELETON, np.array([s.rotvec for s in steps]), root_m)
    away = np.linalg.norm(after_m - before_m, axis=2)
    assert 0.9 * limit_m < away.max() < 1.1 * limit_m


def test_a_foot_in_the_air_is_left_alone() -> None:
    rotvec, root_m = drifting(60, 0.03)
    steps = run(FeetLock(SKELETON, FeetSettings()), rotvec, root_m, np.zeros((60, 4)))
    for n, step in enumerate(steps):
        assert not step.contact.any() and np.array_equal(step.rotvec, rotvec[n])


def test_letting_go_is_over_after_the_fade() -> None:
    rotvec, root_m = drifting(120, 0.002)
    share = np.ones((120, 4))
    share[70:] = 0.0
    steps = run(FeetLock(SKELETON, FeetSettings()), rotvec, root_m, share)
    gone = next(n for n in range(70, 120) if not steps[n].contact.any())
    assert gone < 73
    assert not np.array_equal(steps[gone].rotvec, rotvec[gone])
    assert np.array_equal(steps[gone + 7].rotvec, rotvec[gone + 7])


def test_height_over_a_known_floor_ends_a_contact() -> None:
    pose = bent_pose(5, 0.1)
    ball_m = compute_forward_kinematics(SKELETON, pose, np.array([0.0, 0.9, 0.0]))[1][CONTACT_INDEX[[1, 3]], 1].min()
    for height_m, expected in ((ball_m, True), (ball_m - 0.3, False)):
        lock = FeetLock(SKELETON, FeetSettings(), float(height_m))
        steps = [lock.step(n * PERIOD_NS, pose, np.array([0.0, 0.9, 0.0]), UNKNOWN, SEEN) for n in range(10)]
        assert steps[-1].contact.any() == expected


def test_a_pose_elsewhere_lets_go_at_once() -> None:
    rotvec, root_m = drifting(80, 0.0)
    root_m = root_m.copy()
    root_m[60:] += [2.0, 0.0, 1.0]
    steps = run(FeetLock(SKELETON, FeetSettings()), rotvec, root_m, np.ones((80, 4)))
    after_m = compute_contact_points_m(SKELETON, np.array([s.rotvec for s in steps]), root_m)
    before_m = compute_contact_points_m(SKELETON, rotvec, root_m)
    assert np.linalg.norm(after_m - before_m, axis=2)[60:].max() < 0.101


def test_a_gap_in_time_starts_anew() -> None:
    rotvec, root_m = drifting(2, 0.0)
    lock = FeetLock(SKELETON, FeetSettings())
    for n in range(30):
        lock.step(n * PERIOD_NS, rotvec[0], root_m[0], np.ones(4), UNSEEN)
    step = lock.step(10**9, rotvec[0], root_m[0] + [0.04, 0.0, 0.0], np.ones(4), UNSEEN)
    assert np.array_equal(step.rotvec, rotvec[0])
    for t_ns in (10**9, 10**9 - 5):  # the same stamp again, or an earlier one
        assert np.isfinite(lock.step(t_ns, rotvec[0], root_m[0], np.ones(4), UNSEEN).rotvec).all()


def test_nan_passes_through_and_is_forgotten() -> None:
    rotvec, root_m = drifting(40, 0.0)
    lock = FeetLock(SKELETON, FeetSettings())
    run(lock, rotvec, root_m, np.ones((40, 4)))
    broken = rotvec[0].copy()
    broken[3, 1] = np.nan
    step = lock.step(40 * PERIOD_NS, broken, root_m[0], np.ones(4), UNSEEN)
    assert step.rotvec is broken and not step.contact.any()
    after = lock.step(41 * PERIOD_NS, rotvec[0], root_m[0], np.ones(4), UNSEEN)
    assert np.array_equal(after.rotvec, rotvec[0])


def test_a_free_point_goes_with_the_other_of_its_foot() -> None:
    points = np.arange(12.0).reshape(4, 3)
    state = build_initial_state(points, FeetSettings())
    state = replace(
        state, strength=np.array([0.0, 1.0, 0.5, 0.0]), anchor_m=points + [[9.0, 9, 9], [0, 0, 0.01], [0.02, 0, 0], [7, 7, 7]]
    )
    shift = compute_corrections_m(state, points)
    np.testing.assert_allclose(shift, [[0, 0, 0.01], [0, 0, 0.01], [0.01, 0, 0], [0.01, 0, 0]], atol=1e-12)


def test_an_anchor_is_the_mean_of_what_was_seen() -> None:
    s = FeetSettings(slip_m=0.0, limit_m=1.0)
    points = np.zeros((4, 3))
    state = replace(build_initial_state(points, s), contact=np.ones(4, bool))
    values = [0.01, 0.04, -0.02, 0.03, 0.0]
    for value in values:
        state = update_anchors(state, points + value, np.zeros(4, bool), 1.0 / 60.0, s)
    np.testing.assert_allclose(state.anchor_m, np.mean(values), atol=1e-12)
    np.testing.assert_allclose(state.variance_m2, s.sigma_m**2 / len(values))


@given(st.integers(0, 10_000), st.floats(0.0, 2.0), st.floats(0.0, 3.0))
def test_whatever_comes_stays_finite_and_near(seed: int, noise_rad: float, jump_m: float) -> None:
    rng = np.random.default_rng(seed)
    lock, t_ns = FeetLock(SKELETON, FeetSettings()), 0
    pose, root_m = bent_pose(seed, 0.4), np.zeros(3)
    for _ in range(12):
        t_ns += int(rng.choice([0, PERIOD_NS, PERIOD_NS, PERIOD_NS, 40 * PERIOD_NS]))
        pose = pose + rng.normal(0.0, noise_rad * rng.choice([0.0, 0.01, 1.0]), pose.shape)
        root_m = root_m + rng.normal(0.0, jump_m * rng.choice([0.0, 0.01, 1.0]), 3)
        share = rng.choice([0.0, 0.3, 1.0, np.nan], 4)
        step = lock.step(t_ns, pose, root_m, share, rng.random(2) < 0.5)
        assert np.isfinite(step.rotvec).all() and np.isfinite(step.probability).all()
        moved = (
            compute_forward_kinematics(SKELETON, step.rotvec, root_m)[1] - compute_forward_kinematics(SKELETON, pose, root_m)[1]
        )
        assert np.linalg.norm(moved, axis=1).max() < 0.35
