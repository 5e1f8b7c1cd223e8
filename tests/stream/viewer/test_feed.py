"""The live stream as the viewer's feed: sessions, times and silence."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from stream.protocol.messages import EventMessage
from stream.viewer.feed import SILENT_NS, LiveFeed
from stream.viewer.player import TimeSpan
from tests.support.ports import free_port as any_free_port
from tests.support.stream_messages import POSE, SKELETON


@pytest.fixture
def silent_feed() -> Iterator[LiveFeed]:
    feed = LiveFeed(f"tcp://127.0.0.1:{any_free_port()}", 60.0)
    yield feed
    feed.close()


def test_a_new_session_shows_with_its_first_pose_and_not_before(silent_feed: LiveFeed) -> None:
    feed = silent_feed
    feed.add(SKELETON, 0)
    feed.add(replace(POSE, session="a"), 10)
    first = feed.track
    assert not feed.add(EventMessage("b", 5, "process", "begun"), 20) and feed.track is first
    assert feed.add(replace(POSE, session="b"), 30) and feed.track is not first
    assert [notice.text for notice in feed.track.notices] == ["begun"] and feed.track.skeleton is SKELETON


def test_poses_stand_at_the_times_of_their_publishing_however_late_they_are_heard(silent_feed: LiveFeed) -> None:
    for n in range(3):
        silent_feed.add(replace(POSE, seq=n, t_publish_ns=10**9 + n * 16_000_000), 77 * 10**9)
    assert silent_feed.span == TimeSpan(0.0, pytest.approx(0.032), grows=True)


def test_silence_is_told_by_the_listener_s_clock(silent_feed: LiveFeed) -> None:
    assert silent_feed.is_silent(0)
    silent_feed.add(POSE, 100)
    assert not silent_feed.is_silent(100 + SILENT_NS) and silent_feed.is_silent(101 + SILENT_NS)
