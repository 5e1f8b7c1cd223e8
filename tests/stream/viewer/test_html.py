"""What the viewer says of a stream: figures by the second, the strip of states, plain words, nothing that could run as script."""

import re
from dataclasses import replace

import numpy as np
import pytest

from reconstruct.pose import TrackingState
from stream.protocol.messages import MarkerReading
from stream.viewer.history import PoseHistory, StateSpan
from stream.viewer.html import draw_strip_svg, format_clock, format_head_html, format_legend_html, format_notices_html
from stream.viewer.meter import Meter, MeterSample
from stream.viewer.panels.charts import chart_rates, collect_missed_poses, format_latency_html, stack_stage_medians
from stream.viewer.player import Playhead, TimeSpan
from stream.viewer.scene.colors import BODIES
from stream.viewer.track import Notice, ViewerTrack
from stream.viewer.view import AppSnapshot
from stream.web.html import BAD, GOOD
from tests.support.stream_messages import POSE, SKELETON, STATUS
from tests.support.viewer.walking_stream import rig

MS = 1_000_000
TOTAL = (20.0, 30.0, 40.0)


def sample(t_s: float = 1.0, total: tuple[float, float, float] = TOTAL, n_missed: int = 0) -> MeterSample:
    stages = {"detect": (2.0, 3.0, 4.0), "solve": (5.0, 6.0, 7.0)}
    return MeterSample(t_s, 60.0, stages, total, 1.0, 4.0, n_missed, {"left": 59.0})


def view(track: ViewerTrack, **changes: object) -> AppSnapshot:
    plain = AppSnapshot(
        (track,), TimeSpan(0.0, 90.0, True), Playhead(75.25, live=True), True, False, False, "tcp://127.0.0.1:5570", 33.0
    )
    return replace(plain, **changes)


def test_a_second_of_poses_makes_one_sample() -> None:
    meter = Meter()
    for n in range(61):
        captured_ns = n * 16 * MS
        late_ns = (10 if n % 10 else 50) * MS
        pose = replace(POSE, seq=n, t_capture_ns=captured_ns, t_publish_ns=captured_ns + 8 * MS)
        meter.add_pose(pose, captured_ns + late_ns, n * 0.02, n_missed=3)
    (made,) = meter.samples
    assert made.poses_hz == pytest.approx(50.0)
    assert made.total_ms[0] == pytest.approx(10.0) and made.total_ms[2] == pytest.approx(50.0)
    assert made.latency_ms["received"][0] == pytest.approx(2.0)
    assert made.latency_ms["detect"] == pytest.approx((1.5, 1.5, 1.5)) and list(made.latency_ms) == [
        "detect",
        "solve",
        "received",
    ]
    assert made.residual_mm == pytest.approx(4.0) and made.skew_ms == pytest.approx(-2.0) and made.n_missed == 3


def test_without_a_common_clock_the_way_to_the_page_is_left_out() -> None:
    meter = Meter()
    for n in range(3):
        meter.add_pose(POSE, None, float(n), 0)
    assert "received" not in meter.samples[0].latency_ms
    assert meter.samples[0].total_ms[0] == pytest.approx((POSE.t_publish_ns - POSE.t_capture_ns) / MS)


def test_rates_of_cameras_are_those_of_the_status() -> None:
    meter = Meter()
    meter.add_status(
        replace(STATUS, rates_hz={"left": 58.0}, cameras={"left": {"fps": 1.0}, "right": {"fps": 57.0}, "odd": {"fps": "x"}})
    )
    for n in range(3):
        meter.add_pose(POSE, None, float(n), 0)
    assert meter.samples[0].cameras_hz == {"left": 58.0, "right": 57.0}


def test_stages_lie_upon_one_another() -> None:
    columns = stack_stage_medians([sample()])
    assert columns == {"solve": [7.0], "detect": [2.0]}
    assert chart_rates([sample()]) == {"poses": [60.0], "left": [59.0]}
    assert collect_missed_poses([sample(n_missed=4), sample(n_missed=4), sample(n_missed=9)]) == {"missed": [0.0, 0.0, 5.0]}


def test_the_budget_is_kept_or_not_by_p95() -> None:
    assert GOOD in format_latency_html(sample(), 33.0) and "within 33" in format_latency_html(sample(), 33.0)
    over = format_latency_html(sample(total=(20.0, 40.2, 41.0)), 33.0)
    assert BAD in over and "7 over 33" in over


def test_a_lag_that_was_asked_for_is_said_and_widens_the_budget() -> None:
    late = sample(total=(120.0, 131.0, 141.0))
    lagging = replace(late, latency_ms={**late.latency_ms, "lag": (100.0, 101.0, 102.0)})
    words = format_latency_html(lagging, 33.0)
    assert GOOD in words and "within 133" in words and "<td>lag</td><td>100.0</td>" in words
    track = ViewerTrack("stream", PoseHistory(60.0), "s1", SKELETON)
    track.meter.samples.append(lagging)
    head = format_head_html(view(track), POSE)
    assert "budget 133" in head and "ms of lag" in head and "<b>100</b>" in head
    track.meter.samples.append(late)
    assert "ms of lag" not in format_head_html(view(track), POSE)


def test_the_strip_has_its_bars_where_the_time_says() -> None:
    runs = [StateSpan(0.0, 6.0, "tracking"), StateSpan(6.0, 8.0, "lost"), StateSpan(8.0, 10.0, "tracking")]
    svg = draw_strip_svg(runs, TimeSpan(0.0, 10.0), 2.5)
    bars = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)" y="0" width="([\d.]+)" height="10" fill="#0', svg)]
    assert bars == [(0.0, 600.0), (800.0, 200.0)]
    assert 'x="600.0" y="0" width="200.0" height="10" fill="#d55e00"' in svg
    assert 'x="248.7" y="0" width="2.6"' in svg, "the playhead's middle is at a quarter"


def test_a_loss_of_one_frame_can_be_seen() -> None:
    svg = draw_strip_svg([StateSpan(0.0, 300.0, "tracking"), StateSpan(300.0, 300.016, "lost")], TimeSpan(0.0, 600.0), None)
    width = float(re.search(r'width="([\d.]+)" height="10" fill="#d55e00"', svg).group(1))  # type: ignore[union-attr]
    assert width >= 1.0
    assert svg.index("#d55e00") > svg.index("#009e73"), "drawn over the tracking around it"


def test_the_legend_gives_shares_of_what_occurs() -> None:
    legend = format_legend_html([StateSpan(0.0, 6.0, "tracking"), StateSpan(6.0, 8.0, "lost")])
    assert "tracking 75 %" in legend and "lost 25 %" in legend and "coasting" not in legend


def test_times_read_as_minutes_and_seconds() -> None:
    assert [format_clock(t) for t in (0.0, 59.96, 75.25, 3600.0, -1.0)] == ["0:00.0", "0:59.9", "1:15.2", "60:00.0", "0:00.0"]


def test_the_head_says_who_and_how_fast_and_how_late() -> None:
    track = ViewerTrack("stream", PoseHistory(60.0), "s1", SKELETON)
    track.meter.samples.append(sample(total=(20.0, 41.3, 60.0)))
    words = format_head_html(view(track), POSE)
    for part in ("Änne", "tracking", "session s1, live", "1:15.2", "60.0", "41.3", "budget 33", BAD):
        assert part in words
    assert GOOD in format_head_html(view(track, budget_ms=50.0), POSE)
    error_m = np.full(len(POSE.confidence), 0.014, np.float32)
    error_m[-1] = 0.06
    assert f"14 mm off, the worst 60 mm ({SKELETON.names[-1]})" in format_head_html(view(track), replace(POSE, error_m=error_m))
    assert "mm off" not in words
    assert "14.8 s behind" in format_head_html(view(track, player=Playhead(75.25)), POSE)
    assert "stream ended" in format_head_html(view(track, silent=True), POSE)
    assert "recording to walk.mcap" in format_head_html(view(track, recording="walk.mcap"), POSE)


def test_two_takes_have_the_names_and_colours_of_their_bodies() -> None:
    first, second = (ViewerTrack(title, PoseHistory(60.0), "s1", SKELETON) for title in ("walk", "walk again"))
    words = format_head_html(view(first, tracks=(first, second), live=False), POSE)
    for name, color in (("walk (Änne)", BODIES[0]), ("walk again (Änne)", BODIES[1])):
        assert f"background:rgb{color}" in words.split(name)[0].rpartition("<span")[2]
    assert f"background:rgb{BODIES[0]}" not in format_head_html(view(first), POSE)


def test_the_head_says_how_many_cameras_see_the_performer() -> None:
    track = ViewerTrack("stream", PoseHistory(60.0), "s1", SKELETON)
    names = [f"m{n}" for n in range(5)]
    cameras = [(0, 2, 3), (0, 2), (2, 3), (3,), ()]
    pose = replace(
        POSE, markers=tuple(MarkerReading(name, (0.0,) * 3, None, seen) for name, seen in zip(names, cameras, strict=True))
    )
    track.rig = rig("s1", 4)
    words = format_head_html(view(track), pose)
    assert "seen by 3 of 4 cameras (not right); markers: 1 by 3, 2 by 2, 1 by 1, 1 by none" in words
    track.rig = None
    assert "seen by 3 cameras;" in format_head_html(view(track), pose)
    assert "seen by" not in format_head_html(view(track), replace(POSE, markers=()))
    assert "seen by 2 of 2 cameras" in format_head_html(view(track), replace(POSE, markers=(), views=2))


def test_waiting_says_for_what_and_what_to_do() -> None:
    words = format_head_html(view(ViewerTrack("", PoseHistory(1.0)), waiting=True), None)
    assert "tcp://127.0.0.1:5570" in words and "duocap demo" in words


def test_what_came_over_the_stream_is_never_html() -> None:
    evil = "<img src=x onerror=alert(1)>"
    track = ViewerTrack("stream", PoseHistory(60.0), evil, replace(SKELETON, subject=evil))
    stage = replace(sample(), latency_ms={evil: (1.0, 2.0, 3.0)})
    shown = (
        format_head_html(view(track), replace(POSE, state=TrackingState.LOST))
        + format_notices_html([Notice(0.0, evil)])
        + format_latency_html(stage, 33.0)
    )
    assert "<img" not in shown and "&lt;img" in shown


def test_news_stand_newest_first_and_are_few() -> None:
    words = format_notices_html([Notice(float(n), f"news {n}.") for n in range(20)])
    assert words.index("news 19.") < words.index("news 12.") and "news 11." not in words


def test_meter_and_history_agree_on_what_a_track_took() -> None:
    track = ViewerTrack("stream", PoseHistory(60.0))
    for n in np.arange(0, 3.0, 0.5):
        track.add(replace(POSE, seq=int(4 * n), t_publish_ns=int(n * 1e9)), int(n * 1e9))
    assert track.history.n_missed == 5 and track.session == "s1" and [s.t_s for s in track.meter.samples] == [1.0, 2.0]
    assert track.pose_at(1.0) is None, "without its skeleton a pose cannot be drawn"
    track.skeleton = SKELETON
    pose = track.pose_at(1.2)
    assert pose is not None and pose.seq == 4
