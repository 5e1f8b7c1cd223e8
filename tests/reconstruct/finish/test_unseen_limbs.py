"""Limbs that nobody sees follow smoothly and no faster than the nearest poses; others pass unchanged."""

from dataclasses import replace

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.joints import CHAINS, JOINT_INDEX, N_JOINTS
from reconstruct.finish.unseen_limbs import SLOTS, RememberedRows, UnseenChains
from reconstruct.pose import Pose, TrackingState
from tests.support.people import Table, bent_pose, person
from tests.support.poses import joints_of, solved_pose

SUBJECT = person("boxing", 3)
SEEN = np.ones(len(SUBJECT.markers), bool)
NO_LEFT_ARM = SEEN & (np.array(SUBJECT.markers.names) != "left_hand")
ARM = [JOINT_INDEX[name] for name in CHAINS["leftUpperArm"]]
WRIST = JOINT_INDEX["leftHand"]
FPS = 60.0


def swinging_arm(n: int, step_rad: float) -> Table:
    """Return a clip in which the left arm turns by so much a frame."""
    rotvec = np.tile(bent_pose(2), (n, 1, 1))
    rotvec[:, ARM[0], 2] += step_rad * np.arange(n)
    return Table(rotvec.astype(np.float32), FPS, np.array([0, n]), np.zeros((n, 3), np.float32))


def pose_at(n: int, rotvec: Floats, seen: Bools) -> Pose:
    """Return frame n of a body that stands at one place."""
    return solved_pose(SUBJECT, round(n * 1e9 / FPS), rotvec, np.array([0.0, 0.95, 0.0]), seen)


def wrists_m(poses: list[Pose]) -> Floats:
    """Return where the left wrist is, (N, 3) [m]."""
    return joints_of(SUBJECT, poses)[1][:, WRIST]


def test_limb_with_a_marker_passes_unchanged() -> None:
    chains, rng = UnseenChains(SUBJECT, swinging_arm(5, 0.1)), np.random.default_rng(1)
    poses = [pose_at(n, bent_pose(2) + 0.1 * rng.normal(size=(N_JOINTS, 3)), SEEN) for n in range(5)]
    assert all(chains.step(pose, np.arange(5)) is pose for pose in poses)


def test_unseen_arm_does_not_tremble_and_nothing_else_changes() -> None:
    rng = np.random.default_rng(2)
    solved = [pose_at(n, bent_pose(2) + 0.03 * rng.normal(size=(N_JOINTS, 3)), NO_LEFT_ARM) for n in range(60)]
    chains = UnseenChains(SUBJECT, swinging_arm(60, 0.2))
    followed = [chains.step(pose, np.arange(60)) for pose in solved]
    arms = [np.array([pose.rotvec[ARM] for pose in poses]) for poses in (solved, followed)]
    jerk = [np.linalg.norm(np.diff(arm, 2, axis=0), axis=(1, 2)).mean() for arm in arms]
    assert jerk[1] < 0.4 * jerk[0]
    others = np.setdiff1d(np.arange(N_JOINTS), ARM)
    assert all(np.array_equal(a.rotvec[others], b.rotvec[others]) for a, b in zip(solved, followed, strict=True))


def test_unseen_arm_is_no_faster_than_the_nearest_poses_and_arrives() -> None:
    step_rad, there = 0.02, bent_pose(2)
    there[ARM[0], 2] += 1.0
    solved = [pose_at(0, bent_pose(2), NO_LEFT_ARM)] + [pose_at(n, there, NO_LEFT_ARM) for n in range(1, 200)]
    table = swinging_arm(60, step_rad)
    chains = UnseenChains(SUBJECT, table)
    wrist_m = wrists_m([chains.step(pose, np.arange(60)) for pose in solved])
    usual_m = np.linalg.norm(np.diff(wrists_m([pose_at(0, r.astype(float), SEEN) for r in table.rotvec]), axis=0), axis=1)
    assert np.linalg.norm(np.diff(wrist_m, axis=0), axis=1).max() <= 1.02 * usual_m.max()
    np.testing.assert_allclose(wrist_m[-1], wrists_m(solved)[-1], atol=1e-3)


def test_a_loss_starts_anew() -> None:
    there = bent_pose(2)
    there[ARM[0], 2] += 0.5
    first, second = pose_at(0, bent_pose(2), NO_LEFT_ARM), pose_at(1, there, NO_LEFT_ARM)
    chains = UnseenChains(SUBJECT, swinging_arm(9, 0.1))
    chains.step(first, np.arange(9))
    moved = chains.step(second, np.arange(9))
    assert not np.array_equal(moved.rotvec, second.rotvec)
    chains.step(replace(second, state=TrackingState.LOST), None)
    assert np.array_equal(chains.step(second, np.arange(9)).rotvec, second.rotvec)


def test_what_is_remembered_of_examples_is_what_is_computed_and_little_is_computed_again() -> None:
    asked = list[int]()

    def compute(rows: Ints) -> Floats:
        asked.extend(rows.tolist())
        return rows.astype(np.float64) ** 2

    remembered, rng = RememberedRows(compute), np.random.default_rng(0)
    for step in range(20):
        rows = np.unique(np.concatenate([step + rng.integers(0, 40, 30), SLOTS + np.arange(5)]))  # some share a slot
        np.testing.assert_array_equal(remembered.of(rows), rows**2)
    assert len(asked) < 20 * 15
