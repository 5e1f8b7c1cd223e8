"""Poses with contacts and held feet: markers that follow, feet in sight, losses."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import JOINT_INDEX
from config.settings import FeetSettings
from database.builtin import build_person_skeleton
from database.contacts import CONTACT_JOINTS, compute_contact_points_m, label_contacts
from database.geometry.kinematics import compute_forward_kinematics
from database.store import open_database, write_database
from reconstruct.finish.body import compute_marker_positions
from reconstruct.finish.stage import PoseFeet, build_pose_feet, find_seen_feet
from reconstruct.pose import Pose, TrackingState
from tests.support.people import PERIOD_NS, person, table_of, walk, worn_markers
from tests.support.poses import solved_pose

SUBJECT = person("dark_room", skeleton=build_person_skeleton(1.74))
CLIP = walk(SUBJECT.skeleton)
LABELS = label_contacts(compute_contact_points_m(CLIP.skeleton, CLIP.rotvec, CLIP.root_m), CLIP.fps)
M = len(SUBJECT.markers)


def markers_in_world(subject: Subject, rotvec: Floats, root_m: Floats) -> Floats:
    """Return the markers of a pose, (M, 3) [m]."""
    return compute_marker_positions(subject, *compute_forward_kinematics(subject.skeleton, rotvec, root_m))


def pose_of(n: int, rng: np.random.Generator) -> Pose:
    """Return a frame of the walk with noise in the legs, as the pipeline would."""
    rotvec = CLIP.rotvec[n].copy()
    rotvec[1:9] += rng.normal(0.0, 0.012, (8, 3))
    return replace(solved_pose(SUBJECT, n * PERIOD_NS, rotvec, CLIP.root_m[n]), index=n)


def test_markers_in_the_world_are_where_they_are_worn() -> None:
    expected, _ = worn_markers(SUBJECT, CLIP.rotvec[20:21], CLIP.root_m[20:21])
    np.testing.assert_allclose(markers_in_world(SUBJECT, CLIP.rotvec[20], CLIP.root_m[20]), expected[0], atol=1e-12)


def test_feet_are_in_sight_with_any_of_their_markers_in_any_camera() -> None:
    names = list(SUBJECT.markers.names)
    seen = np.zeros((2, M), bool)
    seen[:, names.index("left_knee")] = True
    assert find_seen_feet(SUBJECT, seen).tolist() == [False, False]
    seen[1, names.index("right_toe")] = True
    assert find_seen_feet(SUBJECT, seen).tolist() == [False, True]
    seen[0, names.index("left_ankle")] = True
    assert find_seen_feet(SUBJECT, seen).tolist() == [True, True]


def test_poses_slide_less_and_carry_contacts_and_their_own_markers() -> None:
    rng = np.random.default_rng(3)
    feet = PoseFeet(SUBJECT, LABELS, FeetSettings())
    before = [pose_of(n, rng) for n in range(CLIP.n_frames)]
    after = [feet.step(pose, np.array([n, n]), np.array([0.5, 1.0])) for n, pose in enumerate(before)]
    told = np.array([pose.contacts for pose in after])
    assert told.shape[1] == len(CONTACT_JOINTS) and (told == LABELS.astype(bool)).mean() > 0.9
    both = (LABELS[1:] & LABELS[:-1]).astype(bool)
    way = [
        np.linalg.norm(
            np.diff(compute_contact_points_m(SUBJECT.skeleton, np.array([p.rotvec for p in poses]), CLIP.root_m), axis=0), axis=2
        )
        for poses in (before, after)
    ]
    assert way[1][both].mean() < 0.6 * way[0][both].mean()
    changed = next(pose for pose in after[30:] if pose.rotvec is not before[pose.index].rotvec)
    np.testing.assert_allclose(changed.marker_m, markers_in_world(SUBJECT, changed.rotvec, changed.root_m), atol=1e-12)
    above = ~np.isin(SUBJECT.joint, [JOINT_INDEX[s + j] for s in ("left", "right") for j in ("LowerLeg", "Foot", "Toes")])
    np.testing.assert_allclose(changed.marker_m[above], before[changed.index].marker_m[above], atol=1e-12)


def test_without_neighbours_speed_alone_tells_and_a_loss_ends_contacts() -> None:
    feet, rng = PoseFeet(SUBJECT, LABELS, FeetSettings()), np.random.default_rng(0)
    standing = replace(pose_of(0, rng), rotvec=CLIP.rotvec[0])
    steps = [feet.step(replace(standing, t_capture_ns=n * PERIOD_NS)) for n in range(8)]
    assert steps[-1].contacts.all()
    lost = feet.step(replace(standing, t_capture_ns=8 * PERIOD_NS, state=TrackingState.LOST))
    assert not lost.contacts.any() and lost.rotvec is standing.rotvec
    feet.forget()
    assert feet.step(replace(standing, t_capture_ns=9 * PERIOD_NS)).rotvec is standing.rotvec


def test_a_database_gives_the_labels_and_the_floor_counts(tmp_path: Path) -> None:
    write_database(tmp_path / "walk.db", [CLIP])
    database, standing = open_database(tmp_path / "walk.db"), pose_of(0, np.random.default_rng(1))
    # The walk as built stands on the floor at 0; raised by half a metre its feet are in the air.
    for table, raised_m, expected in (
        (database, 0.0, True),
        (database, 0.5, False),
        (table_of([CLIP]), 0.0, True),
        (table_of([CLIP]), 0.5, False),
    ):
        feet = build_pose_feet(SUBJECT, table, FeetSettings())
        still = replace(standing, rotvec=CLIP.rotvec[0], root_m=CLIP.root_m[0] + [0.0, raised_m, 0.0])
        steps = [feet.step(replace(still, t_capture_ns=n * PERIOD_NS), np.array([0]), np.ones(1)) for n in range(8)]
        assert steps[-1].contacts.any() == expected
