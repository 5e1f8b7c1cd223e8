"""Even frame times: rates, states in silences, markers whose gaps stay gaps; parts of takes and takes on the spot."""

from dataclasses import replace

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINT_INDEX
from database.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import State
from stream.export.edit import between, in_place
from stream.export.even import evenly_timed, held, markers_at
from stream.export.take import MarkerTracks, Take
from stream.export.upright import trunk_up, upright
from tests.people import person, walk
from tests.test_exports import take

T, C, L = State.TRACKING, State.COASTING, State.LOST


def tracks(valid: list[bool], x: list[float]) -> MarkerTracks:
    """Give one marker on the x axis."""
    point_m = np.zeros((len(x), 1, 3))
    point_m[:, 0, 0] = x
    return MarkerTracks(("m",), point_m, np.array(valid)[:, None])


def test_markers_between_frames_that_both_have_them() -> None:
    own_s = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.6])
    markers = tracks([True, True, False, True, True, True], [0.0, 1.0, 9.0, 3.0, 4.0, 6.0])
    wanted_s = np.array([0.05, 0.1, 0.15, 0.203, 0.25, 0.297, 0.35, 0.5, 0.597, 0.7, -0.1])
    found = markers_at(markers, own_s, wanted_s)
    # 0.297 s is within 5% of a period of frame 3, which has it; 0.5 s is in a silence of two periods.
    assert found.valid[:, 0].tolist() == [True, True, False, False, False, True, True, False, True, False, False]
    np.testing.assert_allclose(found.point_m[found.valid[:, 0], 0, 0], [0.5, 1.0, 3.0, 3.5, 6.0])
    assert not found.point_m[~found.valid].any()
    one = MarkerTracks(("m",), np.ones((1, 1, 3)), np.ones((1, 1), bool))
    assert markers_at(one, np.zeros(1), np.zeros(1)) is one and not markers_at(one, np.zeros(1), np.ones(2)).valid.any()


def test_silences_are_coasting_and_long_ones_lost() -> None:
    seconds = np.array([0.0, 0.1, 0.2, 0.4, 0.5, 1.0, 1.1])
    motion = take(7, seconds)
    even = evenly_timed(motion)
    np.testing.assert_allclose(even.seconds, np.arange(12) / 10.0, atol=1e-12)
    assert even.states == (T, T, T, C, T, T, L, L, L, L, T, T)
    np.testing.assert_allclose(even.root_m[3], 0.5 * (motion.root_m[2] + motion.root_m[3]), atol=1e-12)


def test_lost_poses_do_not_pull_at_their_neighbours() -> None:
    motion = take(5, np.arange(5) / 10.0, states=(L, T, T, L, T))
    even = evenly_timed(motion, 20.0)
    assert even.states == (L, T, T, T, T, L, L, T, T)
    for frame, source in ((1, 1), (2, 1), (4, 2), (5, 2), (7, 4), (8, 4)):
        np.testing.assert_allclose(even.root_m[frame], motion.root_m[source], atol=1e-12)
        np.testing.assert_allclose(even.local_rotations()[frame], motion.local_rotations()[source], atol=1e-9)
    still = held(motion)
    assert still.root_m.tolist() == motion.root_m[[1, 1, 2, 2, 4]].tolist() and still.states == motion.states
    nowhere = take(3, states=(L, L, L))
    assert held(nowhere) is nowhere and held(take(3)).root_m.tolist() == take(3).root_m.tolist()


@pytest.mark.parametrize("fps", [24.0, 60.0, 119.88])
def test_a_rate_that_was_asked_for(fps: float) -> None:
    motion = take(31, np.arange(31) / 30.0)
    even = evenly_timed(motion, fps)
    assert len(even) == int(fps + 1e-6) + 1 and even.seconds[-1] <= 1.0 + 1e-9
    np.testing.assert_allclose(np.diff(even.seconds), 1.0 / fps)
    np.testing.assert_allclose(even.root_m[10], motion.root_m[0] + (motion.root_m[-1] - motion.root_m[0]) * 10 / fps, atol=1e-9)


def test_parts_begin_at_zero_with_their_markers() -> None:
    motion = replace(take(5, np.array([0.0, 0.1, 0.25, 0.3, 0.4])), markers=tracks([True] * 5, [0.0, 1.0, 2.0, 3.0, 4.0]))
    part = between(motion, 0.1, 0.3)
    assert part.seconds.tolist() == pytest.approx([0.0, 0.15, 0.2]) and part.root_m.tolist() == motion.root_m[1:4].tolist()
    assert part.markers is not None and part.markers.point_m[:, 0, 0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DuocapError, match=r"nothing is left from 0\.5 to 0\.9 s; the recording is 0\.4"):
        between(motion, 0.5, 0.9)


def test_on_the_spot_only_heights_are_left() -> None:
    motion = replace(take(5), markers=tracks([True, True, False, True, True], [0.0, 1.0, 0.0, 3.0, 4.0]))
    still = in_place(motion)
    assert not still.root_m[:, [0, 2]].any() and still.root_m[:, 1].tolist() == motion.root_m[:, 1].tolist()
    assert still.markers is not None and motion.markers is not None
    np.testing.assert_allclose(
        still.markers.point_m[:, 0] - still.root_m,
        np.where(motion.markers.valid, motion.markers.point_m[:, 0] - motion.root_m, -still.root_m),
        atol=1e-12,
    )
    np.testing.assert_allclose(np.diff(still.positions_m()[0], axis=0), np.diff(motion.positions_m()[0], axis=0), atol=1e-12)


def test_a_walk_seen_by_tilted_cameras_is_levelled_without_a_t_pose() -> None:
    subject = person()
    clip = walk(subject.skeleton)
    R = matrix_from_rotvec([0.5, 0.2, -0.4])
    rotvec = clip.rotvec.astype(float)
    rotvec[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    n = clip.n_frames
    markers = MarkerTracks(("toe",), np.ascontiguousarray(clip.root_m @ R.T)[:, None], np.ones((n, 1), bool))
    root_m = np.ascontiguousarray(clip.root_m @ R.T)
    tilted = Take(subject.skeleton, np.arange(n) / clip.fps, (T,) * n, rotvec, root_m, markers)
    assert np.degrees(np.arccos(trunk_up(tilted) @ R[:, 1])) < 15.0
    level = upright(tilted)
    truth = Take(subject.skeleton, tilted.seconds, tilted.states, clip.rotvec.astype(float), clip.root_m.copy())
    heights_m, expected_m = level.positions_m()[..., 1], truth.positions_m()[..., 1]
    assert np.abs(heights_m - expected_m + expected_m.min()).max() < 0.04
    assert heights_m.min() == pytest.approx(0.0, abs=1e-9) and level.info.floor_known
    # The markers went along: this one is at the hips.
    assert level.markers is not None
    np.testing.assert_allclose(level.markers.point_m[:, 0], level.positions_m()[:, JOINT_INDEX["hips"]], atol=1e-9)
