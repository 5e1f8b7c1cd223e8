"""Contact labels of database poses: hand-made feet, built-in walks and jumps, and what is stored."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import body, builtin_clip
from database.contacts import (
    ARRAY,
    CONTACT_JOINTS,
    JUMP_S,
    contact_points_m,
    contacts_of,
    database_contacts,
    floor_levels_m,
    speeds_m_s,
    store_contacts,
)
from database.kinematics import forward
from database.rotations import Floats
from database.store import open_database, write_database
from tests.people import walk


def standing(n: int) -> Floats:
    """Give feet that stand on a floor at -0.3 m, ankles 7 cm above the balls."""
    points = np.zeros((n, 4, 3))
    points[:, :, 0] = [0.1, 0.1, -0.1, -0.1]
    points[:, [1, 3], 1] = -0.3
    points[:, [0, 2], 1] = -0.23
    return points


def test_a_foot_that_is_lifted_has_no_contact_while_it_is_up() -> None:
    points = standing(120)
    # The right foot rises at 1.2 m/s for 10 frames, is held 20 cm up and comes down again.
    up = np.interp(np.arange(120), [40, 50, 70, 80], [0.0, 0.2, 0.2, 0.0])
    points[:, 2:, 1] += up[:, None]
    labels = contacts_of(points, 60.0)
    assert labels[:, :2].all()
    assert labels[:40, 2:].all() and not labels[41:80, 2:].any() and labels[82:, 2:].all()


def test_sliding_is_no_contact_and_flicker_is_mended() -> None:
    points = standing(100)
    points[30:60, :2, 2] = np.arange(30)[:, None] * 0.02  # 1.2 m/s along the floor
    points[60:, :2, 2] = 30 * 0.02
    points[80, 3, 1] += 0.2  # a single frame of noise
    labels = contacts_of(points, 60.0)
    assert not labels[32:59, :2].any() and labels[:29, :2].all() and labels[62:, :2].all()
    assert labels[:, 3].all()


def test_off_the_floor_for_longer_than_a_jump_still_feet_stand() -> None:
    n = round(60 * (JUMP_S + 1.0))
    on, up = standing(60), standing(n) + [0.0, 0.8, 0.0]
    assert contacts_of(np.concatenate([on, up, on]), 60.0)[63 : 57 + n].all()
    short = standing(round(60 * JUMP_S * 0.5)) + [0.0, 0.8, 0.0]
    assert not contacts_of(np.concatenate([on, short, on]), 60.0)[60 : 60 + len(short)].any()


def test_floor_is_each_clips_own_and_one_for_both_feet() -> None:
    points = standing(50)
    points[:, 2:, 1] += 0.6  # the right foot is up all the time
    level = floor_levels_m(points[:, :, 1], np.zeros((50, 4)))
    assert level[:2] == pytest.approx([-0.23, -0.3])
    assert (level[2:] < points[0, 2:, 1] - 0.5).all()


def test_speed_means_the_same_at_any_rate() -> None:
    for fps in (30.0, 60.0, 120.0, 240.0):
        points = np.zeros((40, 4, 3))
        points[:, :, 0] = np.arange(40)[:, None] * 0.9 / fps
        assert speeds_m_s(points, fps) == pytest.approx(0.9)


def test_walking_feet_take_turns_and_do_not_slide() -> None:
    clip = walk(body(1.7))
    points = contact_points_m(clip.skeleton, clip.rotvec, clip.root_m)
    labels = contacts_of(points, clip.fps).astype(bool)
    foot = labels[:, :2].any(axis=1), labels[:, 2:].any(axis=1)
    assert 0.4 < foot[0].mean() < 0.95 and 0.4 < foot[1].mean() < 0.95
    assert (foot[0] | foot[1]).mean() > 0.95  # walking has no flight
    moved = np.linalg.norm(np.diff(points, axis=0), axis=2)
    both = labels[1:] & labels[:-1]
    assert moved[both].mean() < 0.25 * moved[~both].mean()


def test_nothing_touches_in_a_jump() -> None:
    clip = builtin_clip("jump", body(1.7), 60.0)
    points = contact_points_m(clip.skeleton, clip.rotvec, clip.root_m)
    labels = contacts_of(points, clip.fps)
    high = points[:, [1, 3], 1].min(axis=1) > np.percentile(points[:, [1, 3], 1], 5) + 0.08
    assert high.sum() > 5 and not labels[high].any()
    assert labels.mean() > 0.3


def test_points_are_the_joints_named() -> None:
    clip = walk(body(1.7), 3)
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    points = contact_points_m(clip.skeleton, clip.rotvec, clip.root_m)
    for k, name in enumerate(CONTACT_JOINTS):
        np.testing.assert_array_equal(points[:, k], p[:, JOINT_INDEX[name]])


def test_short_clips_are_labelled_too() -> None:
    for n in range(3):
        assert contacts_of(standing(n), 60.0).shape == (n, 4)


def test_a_database_gives_its_clips_labels_and_those_it_stores(tmp_path: Path) -> None:
    clips = [walk(body(1.8), 0), builtin_clip("jump", body(1.5), 60.0)]
    path = tmp_path / "two.db"
    write_database(path, clips)
    database = open_database(path)
    labels = database_contacts(database)
    for k, clip in enumerate(clips):
        own = contacts_of(contact_points_m(clip.skeleton, clip.rotvec, clip.root_m), 60.0)
        part = labels[database.clip_start[k] : database.clip_start[k + 1]]
        assert (part != own).mean() < 0.01  # rounding to float32
    del database
    store_contacts(path)
    again = open_database(path)
    np.testing.assert_array_equal(again.extra[ARRAY], labels)
    np.testing.assert_array_equal(database_contacts(again), labels)
    # Labels of another size are not believed.
    assert database_contacts(replace(again, extra={ARRAY: labels[:5]})).shape == labels.shape
