"""The viewer's memory: the right pose at every time, old ones let go, stretches of states, poses that never came."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.pose import TrackingState
from stream.viewer.history import SILENT, TRIM_EVERY, PoseHistory, StateSpan
from tests.support.stream_messages import POSE

MS = 1_000_000


def filled(times_ms: list[int], states: list[str] | None = None, keep_s: float = 1e9) -> PoseHistory:
    history = PoseHistory(keep_s)
    for n, t_ms in enumerate(times_ms):
        history.add(replace(POSE, seq=n, state=TrackingState(states[n]) if states else TrackingState.TRACKING), t_ms * MS)
    return history


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.floats(-1, 3))
def test_the_pose_at_a_time_is_the_last_by_then(steps_ms: list[int], t_s: float) -> None:
    times_ms = np.cumsum(steps_ms).tolist()
    history = filled(times_ms)
    since_s = [(t - times_ms[0]) * 1e-3 for t in times_ms]
    by_then = [n for n, at_s in enumerate(since_s) if at_s <= t_s + 1e-12]
    pose = history.pose_at(t_s)
    assert pose is not None and pose.seq == (by_then[-1] if by_then else 0)


def test_a_pose_comes_back_as_it_was() -> None:
    history = filled([0, 16, 33])
    pose = history.pose_at(0.02)
    assert pose is not None and pose.seq == 1 and pose.markers == POSE.markers and pose.root_m == POSE.root_m
    assert np.array_equal(pose.rotations_xyzw, POSE.rotations_xyzw)
    assert pose is history.pose_at(0.025), "one that is shown again is not decoded again"


def test_an_empty_history_shows_nothing() -> None:
    assert PoseHistory(1.0).pose_at(0.0) is None


def test_a_stamp_that_steps_back_counts_as_of_the_same_moment() -> None:
    history = filled([0, 100, 90, 120])
    assert history.end_s == pytest.approx(0.12)
    pose = history.pose_at(0.1)
    assert pose is not None and pose.seq == 2


def test_old_poses_go_and_the_numbers_of_the_others_stay() -> None:
    history = PoseHistory(1.0)
    for n in range(2 * TRIM_EVERY):
        history.add(replace(POSE, seq=n), n * 10 * MS)
    assert len(history) == 100 and history.begin_s == pytest.approx(history.end_s - 0.99)
    pose = history.pose_at(history.begin_s)
    assert pose is not None and pose.seq == history.index_at(history.begin_s) == 2 * TRIM_EVERY - 100
    assert [run.begin_s for run in history.runs] == [history.begin_s]


def test_states_make_runs_that_last_until_the_next_and_silence_is_one() -> None:
    history = filled([0, 100, 200, 300, 2300, 2400], ["tracking", "tracking", "coasting", "tracking", "tracking", "lost"])
    assert history.runs == (
        StateSpan(0.0, 0.2, "tracking"),
        StateSpan(0.2, pytest.approx(0.3), "coasting"),
        StateSpan(pytest.approx(0.3), pytest.approx(0.3), "tracking"),
        StateSpan(pytest.approx(0.3), pytest.approx(2.3), SILENT),
        StateSpan(pytest.approx(2.3), pytest.approx(2.4), "tracking"),
        StateSpan(pytest.approx(2.4), pytest.approx(2.4), "lost"),
    )


def test_poses_that_never_came_are_counted() -> None:
    history = PoseHistory(10.0)
    for seq in (5, 6, 9, 10, 20):
        history.add(replace(POSE, seq=seq), seq * MS)
    assert history.n_missed == 2 + 9
