"""A world whose floor is unknown is shown level: by the T-pose, else the camera, then the trunk; feet tell the floor."""

from dataclasses import replace

import numpy as np
import pytest

from config.arrays import Floats
from database.geometry.rotations import matrix_from_quaternion, matrix_from_rotvec, quaternion_from_matrix, rotvec_from_matrix
from reconstruct.pose import TrackingState
from stream.protocol.joints import joints_of
from stream.protocol.messages import PoseMessage, RigMessage
from stream.viewer.scene.level import N_SAMPLES, LevelEstimator, LevelTransform, level_from_rig
from tests.support.viewer.stage_motion import as_state, performer, poses_of, skeleton_and_rig

PERSON = performer()
SKELETON, RIG = skeleton_and_rig(PERSON)
TILT = matrix_from_rotvec([0.5, -0.4, 0.3])
SHIFT_M = np.array([0.4, -1.3, 2.2])
POSES = poses_of(PERSON, 5.0, 4.0)


def tilted(pose: PoseMessage) -> PoseMessage:
    """The same pose in the frame of a rig that knows no floor."""
    root = TILT @ np.array(pose.root_m) + SHIFT_M
    rotations = pose.rotations_xyzw.copy()
    rotations[0] = quaternion_from_matrix(TILT @ matrix_from_quaternion(rotations[0].astype(float)))
    return replace(pose, root_m=tuple(root.tolist()), rotations_xyzw=rotations)


def rig(up: Floats | None) -> RigMessage:
    """The demo's rig in that frame."""
    cameras = []
    for camera in RIG.cameras:
        R = matrix_from_rotvec(camera.rotation) @ TILT.T
        cameras.append(replace(camera, rotation=rotvec_from_matrix(R), translation=camera.translation - R @ SHIFT_M))
    return RigMessage("s", tuple(cameras), False, None if up is None else tuple(up.tolist()))


def test_a_known_floor_is_left_alone() -> None:
    for known in (None, RIG):
        levelling = LevelEstimator(known)
        assert not any(levelling.add(SKELETON, pose) for pose in POSES)
        assert levelling.level == LevelTransform(levelling.level.rotation, 0.0, "")
        np.testing.assert_array_equal(levelling.level.rotation, np.eye(3))


def test_the_first_guess_has_the_camera_upright() -> None:
    level = level_from_rig(rig(None))
    R = matrix_from_rotvec(rig(None).cameras[0].rotation)
    np.testing.assert_allclose(level.rotation @ -R[1], [0, 1, 0], atol=1e-12)
    assert "left camera" in level.note


@pytest.mark.parametrize(("up", "worst_rad"), [(None, 0.15), (TILT[:, 1], 1e-6)])
def test_poses_tell_up_and_the_floor(up: Floats | None, worst_rad: float) -> None:
    levelling = LevelEstimator(rig(up))
    changes = sum(levelling.add(SKELETON, tilted(pose)) for pose in POSES)
    assert changes == 2
    level = levelling.level
    assert np.arccos(np.clip((level.rotation @ TILT[:, 1])[1], -1.0, 1.0)) < worst_rad
    feet = [SKELETON.names.index(name) for name in ("leftToes", "rightToes")]
    lowest = [
        level.to_view(joints_of(SKELETON, tilted(pose)).position_m[feet])[:, 1].min() for pose in POSES[:: len(POSES) // 10]
    ]
    assert abs(float(np.median(lowest))) < 0.1
    assert ("T-pose" if up is not None else "trunk") in level.note


def test_only_tracked_poses_count_and_time_may_jump_back() -> None:
    levelling = LevelEstimator(rig(None))
    assert not any(levelling.add(SKELETON, as_state(tilted(pose), TrackingState.LOST)) for pose in POSES)
    assert not any(levelling.add(SKELETON, tilted(POSES[0])) for _ in range(3 * N_SAMPLES)), "one moment is one sample"
    changes = [levelling.add(SKELETON, tilted(pose)) for pose in POSES[:40] + POSES[:40] * 8]
    assert sum(changes) == 2
