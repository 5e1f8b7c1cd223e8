"""The tracking state machine: each event from each phase, and what is remembered."""

import numpy as np
import pytest

from reconstruct.history import BodyState
from reconstruct.pose import TrackingState
from reconstruct.tracking import Phase, Tracker

FRAME_NS = 20_000_000
POSE = BodyState(0, np.zeros((23, 3)), np.eye(3), np.zeros(3))


def tracked(n: int = 1) -> Tracker:
    """Return a tracker that has published frames 0 to n - 1, 20 ms apart; it coasts for half a second."""
    tracker = Tracker(0.5)
    for k in range(n):
        tracker.follow(k * FRAME_NS, None, True, False)
        tracker.publish(POSE, k * FRAME_NS)
    return tracker


def test_it_searches_until_a_pose_is_published() -> None:
    tracker = Tracker(0.5)
    assert (tracker.phase, tracker.followed, tracker.published) == (Phase.SEARCHING, None, None)
    tracker.miss(0)
    assert tracker.phase is Phase.SEARCHING and tracker.phase.published is TrackingState.LOST
    tracker.follow(FRAME_NS, None, True, False)
    tracker.withhold(FRAME_NS, astray=False)
    assert tracker.phase is Phase.LOST and tracker.followed is not None, "there is nothing to coast on, but a pose to follow"
    tracker.follow(2 * FRAME_NS, None, True, False)
    tracker.publish(POSE, 2 * FRAME_NS)
    assert tracker.phase is Phase.TRACKING


def test_missed_frames_coast_and_are_then_given_up() -> None:
    tracker = tracked()
    phases = []
    for k in range(1, 28):
        tracker.miss(k * FRAME_NS)
        phases.append(tracker.phase)
    assert phases == [Phase.COASTING] * 25 + [Phase.SEARCHING] * 2  # half a second is 25 frames
    assert tracker.followed is None and tracker.published is not None, "the last plausible pose is published on"


@pytest.mark.parametrize("astray", [False, True])
def test_implausible_poses_are_followed_but_not_published(astray: bool) -> None:
    tracker = tracked()
    phases = []
    for k in range(1, 28):
        tracker.follow(k * FRAME_NS, None, True, False)
        tracker.withhold(k * FRAME_NS, astray)
        phases.append(tracker.phase)
    assert phases == [Phase.COASTING] * 25 + [Phase.SEARCHING if astray else Phase.LOST] * 2
    assert (tracker.followed is None) == astray
    tracker.follow(28 * FRAME_NS, None, True, False)
    tracker.publish(POSE, 28 * FRAME_NS)
    assert tracker.phase is Phase.TRACKING


def test_a_gap_interrupts_and_the_torso_is_remembered_for_a_while() -> None:
    tracker = tracked(3)
    assert not tracker.interrupted(2 * FRAME_NS + 110_000_000) and tracker.interrupted(2 * FRAME_NS + 130_000_000)
    tracker.follow(10 * FRAME_NS, None, False, False)
    assert tracker.torso_is_recent(20 * FRAME_NS) and not tracker.torso_is_recent(28 * FRAME_NS), "last seen in frame 2"
    tracker.reset()
    assert not tracker.torso_is_recent(3 * FRAME_NS) and not tracker.interrupted(10**12)


def test_a_few_markers_hold_a_followed_pose_and_one_does_not_do_so_for_long() -> None:
    assert not Tracker(0.5).holds(3, 0), "there is no pose to hold"
    tracker = tracked()
    late = [round(s * 1e9) for s in (4.9, 5.1)]
    held = [[tracker.holds(n, t_ns) for n in (0, 1, 2, 3)] for t_ns in late]
    assert held == [[False, True, True, True], [False, False, False, True]]
    tracker.doubt(POSE, FRAME_NS)
    assert not tracker.holds(1, late[1]), "a doubtful pose is none to begin from anew"
    tracker.publish(POSE, 2 * FRAME_NS)
    assert tracker.holds(1, 2 * FRAME_NS + late[0])


def test_rays_that_fit_badly_are_counted_in_a_row() -> None:
    tracker = tracked()
    for k in range(1, 6):
        assert not tracker.rays_are_poor
        tracker.follow(k * FRAME_NS, None, True, True)
    assert tracker.rays_are_poor
    tracker.retry()
    assert not tracker.rays_are_poor
    tracker.follow(6 * FRAME_NS, None, True, True)
    tracker.follow(7 * FRAME_NS, None, True, True)
    assert tracker.rays_are_poor, "again the frame after next"
    tracker.follow(8 * FRAME_NS, None, True, False)
    assert tracker.poor_frames == 0


def test_the_search_is_timed_from_its_first_frame() -> None:
    tracker = Tracker(0.5)
    assert tracker.searching_s(10**9) == 0.0 and tracker.searching_s(3 * 10**9) == pytest.approx(2.0)
    tracker.follow(4 * 10**9, None, True, False)
    assert tracker.searching_s(5 * 10**9) == 0.0
