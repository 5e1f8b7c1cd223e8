"""Contact labels of database poses: hand-made feet, built-in walks and jumps."""

from pathlib import Path

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton, make_builtin_clip
from database.contacts import (
    CONTACT_JOINTS,
    MAX_JUMP_S,
    compute_contact_points_m,
    compute_speeds_m_s,
    estimate_floor_levels_m,
    label_contacts,
    label_database_contacts,
)
from database.geometry.kinematics import compute_forward_kinematics
from database.store import open_database, write_database
from tests.support.people import walk


def standing(n: int) -> Floats:
    """Return feet that stand on a floor at -0.3 m, ankles 7 cm above the balls."""
    points = np.zeros((n, 4, 3))
    points[:, :, 0] = [0.1, 0.1, -0.1, -0.1]
    points[:, :, 1] = [-0.23, -0.3, -0.23, -0.3]
    return points


def test_a_foot_that_is_lifted_has_no_contact_while_it_is_up() -> None:
    points = standing(120)
    # The right foot rises at 1.2 m/s for 10 frames, stays 20 cm up and comes down again.
    points[:, 2:, 1] += np.interp(np.arange(120), [40, 50, 70, 80], [0.0, 0.2, 0.2, 0.0])[:, None]
    labels = label_contacts(points, 60.0)
    assert labels[:, :2].all()
    assert labels[:40, 2:].all() and not labels[41:80, 2:].any() and labels[82:, 2:].all()
    assert [label_contacts(standing(n), 60.0).shape for n in range(3)] == [(n, 4) for n in range(3)]


def test_sliding_is_no_contact_and_flicker_is_mended() -> None:
    points = standing(100)
    points[:, :2, 2] = np.clip(np.arange(100) - 30, 0, 30)[:, None] * 0.02  # 1.2 m/s along the floor
    points[80, 3, 1] += 0.2  # a single frame of noise
    labels = label_contacts(points, 60.0)
    assert not labels[32:59, :2].any() and labels[:29, :2].all() and labels[62:, :2].all()
    assert labels[:, 3].all()


def test_off_the_floor_for_longer_than_a_jump_still_feet_stand() -> None:
    for seconds, stands in ((MAX_JUMP_S + 1.0, True), (0.5 * MAX_JUMP_S, False)):
        n = round(60 * seconds)
        labels = label_contacts(np.concatenate([standing(60), standing(n) + [0.0, 0.8, 0.0], standing(60)]), 60.0)
        assert labels[63 : 57 + n].all() if stands else not labels[60 : 60 + n].any()


def test_the_floor_is_each_clips_own_and_speed_means_the_same_at_any_rate() -> None:
    points = standing(50)
    points[:, 2:, 1] += 0.6  # the right foot is up all the time
    level = estimate_floor_levels_m(points[:, :, 1], np.zeros((50, 4)))
    assert level[:2] == pytest.approx([-0.23, -0.3]) and (level[2:] < points[0, 2:, 1] - 0.5).all()
    for fps in (30.0, 60.0, 120.0, 240.0):
        moving = np.arange(40)[:, None, None] * np.array([0.9 / fps, 0.0, 0.0])
        assert compute_speeds_m_s(np.broadcast_to(moving, (40, 4, 3)), fps) == pytest.approx(0.9)


def test_walking_feet_take_turns_and_do_not_slide() -> None:
    clip = walk(build_person_skeleton(1.7))
    points = compute_contact_points_m(clip.skeleton, clip.rotvec, clip.root_m)
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    np.testing.assert_array_equal(points, p[:, [JOINT_INDEX[name] for name in CONTACT_JOINTS]])
    labels = label_contacts(points, clip.fps).astype(bool)
    foot = labels[:, :2].any(axis=1), labels[:, 2:].any(axis=1)
    assert 0.4 < foot[0].mean() < 0.95 and 0.4 < foot[1].mean() < 0.95
    assert (foot[0] | foot[1]).mean() > 0.95  # walking has no flight
    moved = np.linalg.norm(np.diff(points, axis=0), axis=2)
    both = labels[1:] & labels[:-1]
    assert moved[both].mean() < 0.25 * moved[~both].mean()


def test_nothing_touches_in_a_jump_and_a_database_has_its_clips_labels(tmp_path: Path) -> None:
    clips = [walk(build_person_skeleton(1.8), 0), make_builtin_clip("jump", build_person_skeleton(1.7), 60.0)]
    points = [compute_contact_points_m(clip.skeleton, clip.rotvec, clip.root_m) for clip in clips]
    labels = [label_contacts(each, 60.0) for each in points]
    toes = points[1][:, [1, 3], 1]
    high = toes.min(axis=1) > np.percentile(toes, 5) + 0.08
    assert high.sum() > 5 and not labels[1][high].any() and labels[1].mean() > 0.3
    write_database(tmp_path / "two.db", clips)
    found = label_database_contacts(open_database(tmp_path / "two.db"))
    assert (found != np.concatenate(labels)).mean() < 0.01  # rounding to float32
