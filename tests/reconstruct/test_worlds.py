"""The world of a pipeline: level by the performer where the rig knows no floor, and moved when the performer is the origin."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.world import BALL_M, BALLS, RigidMotion, compute_motion_between, move_rig, place_rig_in_world
from capture.packets import Views
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.pose import TrackingState
from tests.support.people import seen_pair
from tests.support.performances import Performance
from tests.support.poses import joints_of

N = 210
TILT = RigidMotion(matrix_from_rotvec(np.array([2.9, 0.2, -0.3])), np.array([0.7, -0.4, 1.9]))


@pytest.fixture(scope="module")
def stage() -> Performance:
    """A walk to and fro before two cameras; the database walks on other legs."""
    return Performance.of_walk(N)


def seen(stage: Performance) -> list[Views]:
    """Return what the cameras see."""
    rng = np.random.default_rng(0)
    return [seen_pair(stage.rig, k, markers, 0.3, rng) for k, markers in enumerate(stage.markers)]


def test_a_rig_without_a_floor_is_levelled_by_the_first_seconds(stage: Performance) -> None:
    """Its frame is upside down, and nothing of it is known: soles then are on the floor, the performer began at the origin."""
    lost = replace(move_rig(stage.rig, TILT), floor_known=False)
    pipeline = replace(stage, rig=place_rig_in_world(lost, None)).pipeline()
    assert not pipeline.rig.floor_known
    poses = [pipeline.step(views) for views in seen(stage)]
    assert all(pose.state is TrackingState.TRACKING for pose in poses[2:])
    assert pipeline.rig.floor_known
    found = compute_motion_between(stage.rig.cameras[0], pipeline.rig.cameras[0])
    assert np.degrees(np.arccos(found.rotation[1, 1])) < 4.0
    _, p = joints_of(stage.subject, poses[100:])
    soles = p[:, BALLS, 1].min(axis=1) - BALL_M
    assert np.abs(np.median(soles)) < 0.02 and (p[:, 15, 1] > 1.2).all()
    place = found.move(stage.joints[0, 0])
    assert np.hypot(place[0], place[2]) < 0.05


def test_a_world_known_to_some_degrees_is_levelled_by_the_steps(stage: Performance) -> None:
    """The T-pose put up three degrees off: where the performer has walked, soles are on the floor; a calibrated floor stays."""
    tilt = RigidMotion(matrix_from_rotvec(np.radians([2.5, 0.0, -1.5])), np.array([0.0, 0.02, 0.0]))
    off, kept = replace(move_rig(stage.rig, tilt), tilt_sigma_rad=np.radians(2.8)), move_rig(stage.rig, tilt)
    pipelines = [replace(stage, rig=rig).pipeline() for rig in (off, kept)]
    for views in seen(stage):
        poses = [pipeline.step(views) for pipeline in pipelines]
        assert poses[0].state is poses[1].state
    levelled, same = (compute_motion_between(stage.rig.cameras[0], pipeline.rig.cameras[0]) for pipeline in pipelines)
    soles_m = [motion.move(stage.joints[:, BALLS])[..., 1].min(axis=1) - BALL_M for motion in (levelled, same)]
    assert np.abs(soles_m[0]).max() < 0.01 < 0.04 < np.abs(soles_m[1]).max() and pipelines[1].rig is kept


def test_the_performer_is_the_origin_from_the_next_step_on(stage: Performance) -> None:
    """Nothing is lost, and it is the same motion in another world, with the rig in it."""
    plain, moved = (stage.pipeline() for _ in range(2))
    assert not moved.recentre()
    before, after = [], []
    for k, views in enumerate(seen(stage)):
        if k == 60:
            assert moved.recentre()
        before.append(plain.step(views))
        after.append(moved.step(views))
    assert all(pose.state is TrackingState.TRACKING for pose in after[2:])
    motion = compute_motion_between(stage.rig.cameras[0], moved.rig.cameras[0])
    np.testing.assert_allclose(motion.rotation[1], [0.0, 1.0, 0.0], atol=1e-12)
    assert abs(motion.translation_m[1]) < 1e-12
    G, p = joints_of(stage.subject, after[60:62])
    assert np.hypot(*p[0, 0, [0, 2]]) < 0.03 and G[0, 0, 2, 2] > 0.99
    assert all(np.array_equal(a.root_m, b.root_m) for a, b in zip(before[:60], after[:60], strict=True))
    _, shall_m = joints_of(stage.subject, [pose.moved(motion) for pose in before[60:]])
    _, is_m = joints_of(stage.subject, after[60:])
    off_m = np.linalg.norm(shall_m - is_m, axis=2)
    assert np.median(off_m) < 0.002 and off_m.max() < 0.05
    moved.forget()
    assert moved.rig is stage.rig
