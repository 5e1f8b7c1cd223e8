"""States beside the truth: shares, episodes and expected errors by hand."""

import numpy as np
import pytest

from reconstruct.pose import TrackingState
from tools.evaluate.states import JudgedPoses, count_states, states_table

T, C, L = TrackingState.TRACKING, TrackingState.COASTING, TrackingState.LOST


def judged(states: tuple[TrackingState, ...], mean_mm: list[float], expected_mm: list[float]) -> JudgedPoses:
    """Return poses at 10 Hz with two joints, one of them right and one twice as far off as the mean."""
    error_m = 1e-3 * np.outer(mean_mm, [0.0, 2.0])
    return JudgedPoses(states, error_m, 1e-3 * np.repeat(np.array(expected_mm)[:, None], 2, axis=1), 10.0)


FIRST = judged((T, T, T, C, L, T), [20.0, 120.0, 250.0, 40.0, 300.0, 101.0], [30.0, 130.0, 200.0, 90.0, np.nan, 300.0])
SECOND = judged((T, C), [60.0, 49.0], [60.0, 49.0])


def test_shares_are_of_all_frames_together_and_episodes_of_single_runs() -> None:
    found = count_states([FIRST, SECOND])
    assert found.frames == 8 and found.tracking == pytest.approx(5 / 8)
    assert found.far == pytest.approx((4 / 5, 3 / 5, 1 / 5))
    assert found.refused == pytest.approx(2 / 3)
    assert found.within == pytest.approx((9 / 14, 13 / 14))
    assert found.episodes == 2 and found.longest_s == pytest.approx(0.2)


def test_states_and_errors_of_every_frame_are_told() -> None:
    plain = SECOND.as_json()
    assert plain["states"] == ["tracking", "coasting"] and plain["mean_mm"].tolist() == [60.0, 49.0]
    assert plain["tracking_over_50_mm"] == 1.0 and plain["good_not_tracking"] == 1.0


def test_nothing_to_count_is_no_share() -> None:
    lines = states_table([("a", [FIRST]), ("none tracked", [judged((C,), [10.0], [np.nan])])])
    assert lines[1].split()[1:3] == ["6", "66.7"] and lines[2].split()[-6:-2] == ["nan", "100.00", "nan", "nan"]
