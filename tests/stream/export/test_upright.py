"""Level takes: by the T-pose, by the trunk, and by standing feet."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import TrackingState
from stream.export.take import MarkerTracks, Take
from stream.export.upright import floor_normal, trunk_up, upright
from tests.support.files.takes import take
from tests.support.people import person, walk


def test_upright_turns_the_world_and_stands_on_the_floor() -> None:
    motion = take(5, states=(TrackingState.LOST, *[TrackingState.TRACKING] * 4))
    down_camera = np.array([0.1, -0.97, 0.2])
    up = down_camera / np.linalg.norm(down_camera)
    result = upright(motion, up)
    before, after = motion.positions_m(), result.positions_m()
    # Heights along `up` become y, up to one constant; distances stay.
    lift = after[..., 1] - before @ up
    np.testing.assert_allclose(lift, lift[0, 0], atol=1e-9)
    assert after[1:, :, 1].min() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(
        np.linalg.norm(after[:, 3] - after[:, 20], axis=-1), np.linalg.norm(before[:, 3] - before[:, 20], axis=-1), atol=1e-9
    )


def test_floor_from_standing_feet() -> None:
    """Footprints over 3 m of a floor that slopes by 0.05 along x and -0.03 along z, a fifth of them steps in the air."""
    rng = np.random.default_rng(5)
    feet = np.column_stack([rng.uniform(-1.5, 1.5, 200), np.zeros(200), rng.uniform(1.0, 4.0, 200)])
    feet[:, 1] = 0.4 + 0.05 * feet[:, 0] - 0.03 * feet[:, 2] + rng.normal(0.0, 0.005, 200)
    feet[:40, 1] += rng.uniform(0.1, 0.4, 40)
    expected = np.array([-0.05, 1.0, 0.03])
    found = floor_normal(feet)
    assert np.degrees(np.arccos(found @ expected / np.linalg.norm(expected))) < 0.5


def test_feet_in_one_place_leave_the_floor_as_it_is() -> None:
    """Both feet 20 cm apart, one 2 cm higher: a slope of 0.1 that the T-pose's up direction makes unlikely."""
    feet = np.repeat([[-0.1, 0.0, 3.0], [0.1, 0.02, 3.0]], 100, axis=0)
    assert np.degrees(np.arccos(floor_normal(feet)[1])) < 1.0
    assert floor_normal(np.zeros((0, 3))).tolist() == [0.0, 1.0, 0.0]


def test_a_walk_seen_by_tilted_cameras_is_levelled_without_a_t_pose() -> None:
    subject = person()
    clip = walk(subject.skeleton)
    R = matrix_from_rotvec([0.5, 0.2, -0.4])
    rotvec = clip.rotvec.astype(float)
    rotvec[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    n = clip.n_frames
    markers = MarkerTracks(("toe",), np.ascontiguousarray(clip.root_m @ R.T)[:, None], np.ones((n, 1), bool))
    root_m = np.ascontiguousarray(clip.root_m @ R.T)
    tilted = Take(subject.skeleton, np.arange(n) / clip.fps, (TrackingState.TRACKING,) * n, rotvec, root_m, markers)
    assert np.degrees(np.arccos(trunk_up(tilted) @ R[:, 1])) < 15.0
    level = upright(tilted)
    truth = Take(subject.skeleton, tilted.seconds, tilted.states, clip.rotvec.astype(float), clip.root_m.copy())
    heights_m, expected_m = level.positions_m()[..., 1], truth.positions_m()[..., 1]
    assert np.abs(heights_m - expected_m + expected_m.min()).max() < 0.04
    assert heights_m.min() == pytest.approx(0.0, abs=1e-9) and level.info.floor_known
    # The markers went along: this one is at the hips.
    assert level.markers is not None
    np.testing.assert_allclose(level.markers.point_m[:, 0], level.positions_m()[:, JOINT_INDEX["hips"]], atol=1e-9)
