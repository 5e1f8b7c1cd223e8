"""Paths of hypotheses, and what is published with a lag."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import Views
from config.settings import Settings
from reconstruct.pose import Pose, TrackingState
from reconstruct.track.paths import extend_paths
from tests.support.people import front_rig, person, seen_pair, t_pose_clip, table_of, walk, worn_markers
from tests.support.performances import Performance

N, LAG = 60, 12
GAP = range(25, 45)


def test_a_path_is_that_of_the_parents_and_goes_on_from_the_likeliest_where_there_is_none() -> None:
    paths = extend_paths([("a",)], [0, 0], ["b", "c"])
    assert extend_paths(paths, [1, None, 0], ["d", "e", "f"]) == [("a", "c", "d"), ("a", "b", "e"), ("a", "b", "f")]


@pytest.fixture(scope="module")
def scene() -> Performance:
    subject = person("boxing", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    markers, joints = worn_markers(subject, clip.rotvec[:N], clip.root_m[:N])
    clips = [walk(subject.skeleton, seed, speed=speed) for seed, speed in ((11, 0.7), (12, 1.0))]
    return Performance(subject, table_of([*clips, t_pose_clip(subject.skeleton)]), front_rig(), markers, joints)


def seen(scene: Performance) -> list[Views]:
    """Return a walk of which a hand and a foot are hidden for a while."""
    rng, names = np.random.default_rng(0), scene.subject.markers.names
    gone = [names.index("left_hand"), names.index("right_foot")]
    hidden = [gone if k in GAP else [] for k in range(N)]
    return [seen_pair(scene.rig, k, at, 0.3, rng, (hidden[k], hidden[k])) for k, at in enumerate(scene.markers)]


def published(scene: Performance, lag_s: float) -> list[Pose]:
    settings = Settings()
    settings = replace(settings, label=replace(settings.label, lag_s=lag_s), filter=replace(settings.filter, output=False))
    pipeline = scene.pipeline(settings)
    return [*(pipeline.step(views) for views in seen(scene)), *pipeline.flush()]


def test_a_lag_gives_the_poses_of_earlier_moments_nearer_the_truth(scene: Performance) -> None:
    at_once, later = published(scene, 0.0), published(scene, LAG / 60.0)
    assert [pose.t_capture_ns for pose in later[LAG:]] == [pose.t_capture_ns for pose in at_once]
    assert {pose.state for pose in later[:LAG]} == {TrackingState.LOST}
    assert all(np.diff([pose.t_capture_ns for pose in later]) > 0)
    assert all(abs(pose.latency_ns["lag"] - LAG / 60.0 * 1e9) < 1e3 for pose in later[LAG:N])
    first, second = (scene.errors_m(poses)[GAP].mean() for poses in (at_once, later[LAG:]))
    assert second < 0.9 * first


def test_the_same_views_give_the_same_poses_to_the_bit(scene: Performance) -> None:
    for one, other in zip(published(scene, 0.1), published(scene, 0.1), strict=True):
        assert one.rotvec.tobytes() == other.rotvec.tobytes() and one.root_m.tobytes() == other.root_m.tobytes()
