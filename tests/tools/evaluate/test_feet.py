"""The measures of sliding feet, by hand: slide, jitter, delay, pops; and a whole run on a walk the database has."""

from pathlib import Path

import numpy as np
import pytest

from config.settings import FeetSettings, Settings
from database.contacts import compute_contact_points_m
from database.store import open_database, write_database
from tests.support.people import walk
from tests.tools.evaluate.walks import SUBJECT, walk_query
from tools.evaluate.feet import delay_ms, feet_run, figures, hide_feet, jitter_mm, lock_feet, mean_run, solve_feet, table


def test_the_truth_slides_as_it_does_and_is_right() -> None:
    query = walk_query(90)
    points_m = compute_contact_points_m(SUBJECT.skeleton, query.rotvec, query.root_m)
    f = figures(query, query.rotvec, query.root_m, points_m, np.ones((90, 4), bool))
    assert f.slide_mm == pytest.approx(1e3 * np.linalg.norm(np.diff(points_m, axis=0), axis=2).mean())
    assert (f.pop_mm, f.contact_mm, f.foot_mm, f.joint_mm, f.leg_deg, f.delay_ms) == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_shifted_pose_is_wrong_by_the_shift() -> None:
    query = walk_query(90)
    points_m = compute_contact_points_m(SUBJECT.skeleton, query.rotvec, query.root_m)
    root_m = query.root_m + [0.0, 0.03, 0.04]
    root_m[50:] -= [0.0, 0.03, 0.04]
    f = figures(query, query.rotvec, root_m, points_m, np.ones((90, 4), bool))
    assert f.contact_mm == pytest.approx(50.0 * 50 / 90) and f.joint_mm == pytest.approx(50.0 * 50 / 90)
    # One jump of 50 mm among 89 steps of 4 points: the 99.9th percentile lies in it.
    assert f.pop_mm == pytest.approx(50.0)


def test_delay_is_that_of_a_late_copy() -> None:
    t = np.arange(200) / 60.0
    before = np.stack([np.sin(2.0 * t), np.cos(t), t], axis=1)[:, None].repeat(4, axis=1)
    late = t - 0.005
    after = np.stack([np.sin(2.0 * late), np.cos(late), late], axis=1)[:, None].repeat(4, axis=1)
    free = np.zeros((200, 4), bool)
    assert delay_ms(after, before, free) == pytest.approx(5.0, abs=0.05)
    assert delay_ms(before, before, free) == 0.0
    assert delay_ms(after, before, ~free) == 0.0  # nothing is in the air


def test_jitter_is_about_a_moving_mean_of_points_in_contact() -> None:
    points = np.zeros((40, 4, 3))
    points[::2, 1, 0] = 0.002  # +-1 mm about the mean
    contact = np.zeros((40, 4), bool)
    contact[:, 1] = True
    assert jitter_mm(points, contact) == pytest.approx(1.0, rel=0.1)
    assert np.isnan(jitter_mm(points, np.zeros((40, 4), bool)))


def test_feet_are_hidden_every_other_second() -> None:
    query = hide_feet(walk_query(150))
    feet = np.isin(query.subject.markers.names, ["left_foot", "right_foot"])
    assert query.visible[:, ~feet].all()
    assert query.visible[:60].all() and not query.visible[60:120, feet].any() and query.visible[120:].all()


def test_a_noisy_walk_that_the_database_knows_slides_less(tmp_path: Path) -> None:
    write_database(tmp_path / "walks.db", [walk(SUBJECT.skeleton, seed) for seed in range(3)])
    database = open_database(tmp_path / "walks.db")
    query = walk_query(90, 0.005)
    poses = solve_feet(query, database, Settings())
    assert poses.share.shape == (90, 4) and poses.measured.all()
    run = feet_run(query, poses, Settings(), "seen")
    assert run.after.slide_mm < 0.7 * run.before.slide_mm
    assert run.after.foot_mm < 1.05 * run.before.foot_mm and abs(run.after.delay_ms) < 4.0
    off = lock_feet(query, poses, Settings(feet=FeetSettings(lock=False)))[0]
    np.testing.assert_array_equal(off, poses.rotvec)
    lines = table([run, mean_run([run], "seen")])
    assert len(lines) == 3 and lines[1].startswith("walk") and "nan" not in lines[2]
