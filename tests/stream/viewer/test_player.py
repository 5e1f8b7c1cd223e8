"""The viewer's player: wherever it is sent, it stays within what there is; it plays on from where it was put."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.viewer.player import EDGE_S, Playhead, TimeSpan

SPAN = TimeSpan(2.0, 10.0)
GROWING = TimeSpan(2.0, 10.0, grows=True)
seconds = st.floats(-1e4, 1e4)
spans = st.builds(
    lambda begin, length, grows: TimeSpan(begin, begin + length, grows), st.floats(0, 1e4), st.floats(0, 1e4), st.booleans()
)
players = st.builds(Playhead, seconds, st.booleans(), st.booleans(), st.floats(0.1, 4.0), st.booleans())


@given(players, spans, st.floats(0, 1e5))
def test_the_cursor_never_leaves_the_span(player: Playhead, span: TimeSpan, dt_s: float) -> None:
    moved = player.step(dt_s, span)
    assert span.begin_s <= moved.cursor_s <= span.end_s
    assert moved.speed == player.speed and moved.loop == player.loop


@given(players, spans, seconds, st.floats(0, 100))
def test_a_scrub_shows_the_nearest_moment_and_plays_on_from_there(
    player: Playhead, span: TimeSpan, t_s: float, dt_s: float
) -> None:
    put = player.scrubbed(t_s, span)
    assert span.begin_s <= put.cursor_s <= span.end_s
    if not put.live:
        assert put.cursor_s == min(max(t_s, span.begin_s), span.end_s)
        assert put.playing == player.playing
        if not put.playing:
            assert put.step(dt_s, span).cursor_s == put.cursor_s
        elif put.cursor_s + dt_s * put.speed < span.end_s:
            assert put.step(dt_s, span).cursor_s == pytest.approx(put.cursor_s + dt_s * put.speed)


def test_speed_is_kept_within_what_can_be_followed() -> None:
    assert Playhead().at_speed(100.0).speed == 4.0
    assert Playhead().at_speed(0.0).speed == 0.1


def test_the_end_begins_again_or_stops() -> None:
    assert Playhead(9.5, loop=True).step(1.0, SPAN).cursor_s == 2.5
    stopped = Playhead(9.5, loop=False).step(1.0, SPAN)
    assert (stopped.cursor_s, stopped.playing) == (10.0, False)
    assert stopped.resumed(SPAN).cursor_s == 2.0, "play at the end means once more"
    assert Playhead(4.0, playing=False).resumed(SPAN).cursor_s == 4.0


def test_the_live_edge_is_held_while_the_stream_grows() -> None:
    live = Playhead().at_edge(GROWING)
    assert live.live and live.step(0.016, TimeSpan(2.0, 11.5, grows=True)).cursor_s == 11.5


def test_a_pause_stands_still_while_more_comes_until_that_moment_is_gone() -> None:
    paused = Playhead().at_edge(GROWING).paused()
    assert paused.step(5.0, TimeSpan(3.0, 15.0, grows=True)).cursor_s == 10.0
    assert paused.step(5.0, TimeSpan(12.0, 300.0, grows=True)).cursor_s == 12.0


def test_playing_faster_than_it_grows_comes_to_the_live_edge() -> None:
    behind = Playhead(8.0, speed=4.0)
    caught_up = behind.step(1.0, TimeSpan(2.0, 11.0, grows=True))
    assert caught_up.live and caught_up.cursor_s == 11.0


def test_scrubbing_to_the_right_end_is_live_and_back_is_not() -> None:
    assert Playhead(5.0, playing=False).scrubbed(10.0 - EDGE_S / 2, GROWING).live
    back = Playhead().at_edge(GROWING).scrubbed(7.0, GROWING)
    assert not back.live and back.playing and back.step(0.5, GROWING).cursor_s == 7.5


def test_a_recording_is_never_live() -> None:
    assert not Playhead(live=True).step(0.1, SPAN).live
    assert not Playhead().at_edge(SPAN).live
