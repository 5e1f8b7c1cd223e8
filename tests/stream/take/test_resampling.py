"""Even frame times: rates, states in gaps, markers whose gaps remain, lost frames."""

import numpy as np
import pytest

from capture.rate import count_missing_frames, estimate_frame_period_s
from reconstruct.pose import TrackingState
from stream.take.resampling import fill_lost_frames, resample_evenly, resample_markers
from stream.take.take import MarkerTracks, Take
from tests.support.files.takes import take, tracks

T, C, L = TrackingState.TRACKING, TrackingState.COASTING, TrackingState.LOST


RATE = 29.2
GRID = np.arange(444) / RATE
RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("stamps", "period_s", "tolerance"),
    [
        (np.round(GRID, 2), 1 / RATE, 0.001),
        (GRID + RANDOM.uniform(-0.01, 0.01, len(GRID)), 1 / RATE, 0.002),
        (np.round(GRID, 2)[RANDOM.random(len(GRID)) > 0.2], 1 / RATE, 0.001),
        (GRID[RANDOM.random(len(GRID)) > 0.5], 1 / RATE, 1e-6),
        (np.arange(500) * 1001 / 30000, 1001 / 30000, 1e-9),
        (np.concatenate([GRID, GRID + GRID[-1] + 3.0]), 1 / RATE, 1e-6),
        (np.cumsum(RANDOM.uniform(0.02, 0.05, 2000)), 0.035, 0.02),
    ],
    ids=["steps of 10 ms", "jitter", "steps, a fifth missing", "half missing", "29.97", "a silence", "no fixed rate"],
)
def test_the_rate_is_the_camera_s(stamps: np.ndarray, period_s: float, tolerance: float) -> None:
    """And the even take is as long as the stamps say, to a frame."""
    assert estimate_frame_period_s(stamps - stamps[0]) == pytest.approx(period_s, rel=tolerance)
    even = resample_evenly(take(len(stamps), stamps - stamps[0]))
    assert abs(even.seconds[-1] - (stamps[-1] - stamps[0])) <= period_s
    assert estimate_frame_period_s(stamps[:1]) == pytest.approx(1 / 30)


def test_missing_frames_are_counted_in_spite_of_jitter() -> None:
    """A step of 1.6 periods between a late stamp and an early one is none; of no fixed rate, the mean tells."""
    late = GRID + RANDOM.uniform(0.0, 0.02, len(GRID))
    assert np.diff(late).max() > 1.55 / RATE and not count_missing_frames(late).any()
    assert count_missing_frames(np.delete(late, [100, 101, 200])).nonzero()[0].tolist() == [99, 197]
    varying = np.cumsum(RANDOM.uniform(0.02, 0.05, 400))
    assert not count_missing_frames(varying).any() and count_missing_frames(np.delete(varying, [50, 51, 52]))[49] in (2, 3, 4)


def test_markers_between_frames_that_both_have_them() -> None:
    own_s = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.6])
    markers = tracks([True, True, False, True, True, True], [0.0, 1.0, 9.0, 3.0, 4.0, 6.0])
    wanted_s = np.array([0.05, 0.1, 0.15, 0.203, 0.25, 0.297, 0.35, 0.5, 0.597, 0.7, -0.1])
    found = resample_markers(markers, own_s, wanted_s)
    # 0.297 s is within 5% of a period of frame 3, which has it; 0.5 s is in a silence of two periods.
    assert found.valid[:, 0].tolist() == [True, True, False, False, False, True, True, False, True, False, False]
    np.testing.assert_allclose(found.point_m[found.valid[:, 0], 0, 0], [0.5, 1.0, 3.0, 3.5, 6.0])
    assert not found.point_m[~found.valid].any()
    one = MarkerTracks(("m",), np.ones((1, 1, 3)), np.ones((1, 1), bool))
    assert (
        resample_markers(one, np.zeros(1), np.zeros(1)) is one and not resample_markers(one, np.zeros(1), np.ones(2)).valid.any()
    )


def test_silences_are_coasting_and_long_ones_lost() -> None:
    seconds = np.array([0.0, 0.1, 0.2, 0.4, 0.5, 1.0, 1.1])
    motion = take(7, seconds)
    even = resample_evenly(motion)
    np.testing.assert_allclose(even.seconds, np.arange(12) / 10.0, atol=1e-12)
    assert even.states == (T, T, T, C, T, T, L, L, L, L, T, T)
    np.testing.assert_allclose(even.root_m[3], 0.5 * (motion.root_m[2] + motion.root_m[3]), atol=1e-12)


def test_lost_poses_do_not_pull_at_their_neighbours() -> None:
    motion = take(5, np.arange(5) / 10.0, states=(L, T, T, L, T))
    even = resample_evenly(motion, 20.0)
    assert even.states == (L, T, T, T, T, L, L, T, T)
    for frame, source in ((1, 1), (2, 1), (4, 2), (5, 2), (7, 4), (8, 4)):
        np.testing.assert_allclose(even.root_m[frame], motion.root_m[source], atol=1e-12)
        np.testing.assert_allclose(even.local_rotations()[frame], motion.local_rotations()[source], atol=1e-9)
    still = fill_lost_frames(motion)
    assert still.root_m.tolist() == motion.root_m[[1, 1, 2, 2, 4]].tolist() and still.states == motion.states
    nowhere = take(3, states=(L, L, L))
    assert fill_lost_frames(nowhere) is nowhere and fill_lost_frames(take(3)).root_m.tolist() == take(3).root_m.tolist()


@pytest.mark.parametrize("fps", [24.0, 60.0, 119.88])
def test_a_rate_that_was_asked_for(fps: float) -> None:
    motion = take(31, np.arange(31) / 30.0)
    even = resample_evenly(motion, fps)
    assert len(even) == round(fps) + 1 and abs(even.seconds[-1] - 1.0) <= 0.5 / fps
    np.testing.assert_allclose(np.diff(even.seconds), 1.0 / fps)
    np.testing.assert_allclose(even.root_m[10], motion.root_m[0] + (motion.root_m[-1] - motion.root_m[0]) * 10 / fps, atol=1e-9)


def test_gaps_are_filled_at_the_right_time() -> None:
    whole = take(13)
    kept = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]  # frame 5 was dropped
    holed = Take(whole.skeleton, whole.seconds[kept], (TrackingState.TRACKING,) * 12, whole.rotvec[kept], whole.root_m[kept])
    even = resample_evenly(holed)
    assert len(even) == 13
    np.testing.assert_allclose(even.seconds, whole.seconds, atol=1e-12)
    np.testing.assert_allclose(even.positions_m()[kept], whole.positions_m()[kept], atol=1e-9)
    np.testing.assert_allclose(even.root_m[5], whole.root_m[5], atol=1e-9)
    # Between its neighbours: half of the shortest arc from frame 4 to frame 6.
    R4, R5, R6 = (even.local_rotations()[i, 7] for i in (4, 5, 6))
    np.testing.assert_allclose(R4.T @ R5, R5.T @ R6, atol=1e-9)
