"""Playing a recording: what is due when, worked out by hand, and what a subscriber hears against what was published."""

import itertools
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from capture.clock import now_ns
from config.settings import StreamSettings
from reconstruct.pose import TrackingState
from stream.protocol.codec import encode_message
from stream.protocol.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.publish.subscriber import Subscriber
from stream.recording.playback import (
    PlaybackError,
    build_played_status,
    restamp_pose,
    schedule_playback,
    select_playback_span,
)
from stream.recording.recorder import Recorder
from stream.recording.recording import Recording, open_recording
from tests.stream.publish.test_fanout import Notebook
from tests.support.stream_messages import EVENT, POSE, RIG, SKELETON, STATUS, same
from tools.interrupt import raise_on_interrupt
from tools.replay.play import open_outlet, play_recording

T0 = 40_000_000_000
MS = 1_000_000
TIMES_MS = (0, 10, 20, 50, 60, 70)  # two poses are missing
SEQS = (100, 101, 102, 105, 106, 107)


def pose(k: int) -> PoseMessage:
    """Return the k-th pose, published 5 + k ms after its capture."""
    t_ns = T0 + TIMES_MS[k] * MS
    state, root_m = tuple(TrackingState)[k % 3], (0.1 * k, 1.0, float(-k))
    return replace(POSE, seq=SEQS[k], state=state, t_publish_ns=t_ns, t_capture_ns=t_ns - (5 + k) * MS, root_m=root_m)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Return six poses, a status before the second, and events of two kinds."""
    recorder = Recorder(tmp_path / "six.mcap", {"subject": "Änne"})
    sent: list[tuple[int, object]] = [(T0 - 5, SKELETON), (T0 - 4, RIG), *((pose(k).t_publish_ns, pose(k)) for k in range(6))]
    sent.append((T0 + 5 * MS, replace(STATUS, t_ns=T0 + 5 * MS, recording="x.mcap")))
    sent.append((T0 + 30 * MS, replace(EVENT, t_ns=T0 + 30 * MS)))
    sent.append((T0 + 31 * MS, EventMessage("s1", T0 + 31 * MS, "recording", "recording to x.mcap")))
    for t_ns, message in sorted(sent, key=lambda item: item[0]):
        recorder.write(encode_message(message), t_ns)  # type: ignore[arg-type]
    recorder.close()
    return open_recording(recorder.file)


def test_all_is_due_as_it_was_published(recording: Recording) -> None:
    span = select_playback_span(recording, None, None)
    due = list(schedule_playback(recording, span, 1.0, loop=False))
    assert [(step.after_ns // MS, step.pose) for step in due] == [(0, 0), (10, 1), (20, 2), (30, None), (50, 3), (60, 4), (70, 5)]
    assert due[3].event is not None and due[3].event.kind == "camera"  # not the one that tells of a recording
    twice = [step.after_ns for step in schedule_playback(recording, span, 2.0, loop=False)]
    assert twice == [step.after_ns // 2 for step in due]


def test_laps_follow_each_other_by_one_period_and_seq_goes_on(recording: Recording) -> None:
    span = select_playback_span(recording, None, None)
    due = list(itertools.islice(schedule_playback(recording, span, 1.0, loop=True), 21))
    poses = [step for step in due if step.pose is not None]
    assert [step.seq_offset for step in poses] == [0] * 6 + [8] * 6 + [16] * 6
    assert [step.after_ns // MS for step in poses[5:8]] == [70, 80, 90]
    seqs = [restamp_pose(recording.poses[step.pose or 0], "new", step.seq_offset, 0).seq for step in poses[:12]]
    assert seqs == [*SEQS, 108, 109, 110, 113, 114, 115]


def test_a_part_is_of_the_seconds_asked_for(recording: Recording) -> None:
    assert [step.pose for step in schedule_playback(recording, select_playback_span(recording, 0.015, 0.055), 1.0, False)] == [
        2,
        None,
        3,
    ]
    assert len(select_playback_span(recording, 0.07, None)) == 1 and len(select_playback_span(recording, None, 0.0)) == 1
    assert select_playback_span(recording, None, float("inf")) == select_playback_span(recording, None, 1e9)
    for from_s, to_s in ((0.021, 0.049), (0.08, None), (0.05, 0.02), (float("inf"), None)):
        with pytest.raises(PlaybackError, match=r"the recording is 0\.07 s long"):
            select_playback_span(recording, from_s, to_s)


def test_only_stamps_session_and_number_change(recording: Recording) -> None:
    now = restamp_pose(recording.poses[4], "new", 8, 999 * 1000 * MS)
    assert (now.session, now.seq, now.t_publish_ns, now.t_capture_ns) == ("new", 114, 999_000 * MS, 999_000 * MS - 9 * MS)
    assert same(
        replace(now, session="s1", seq=106, t_publish_ns=pose(4).t_publish_ns, t_capture_ns=pose(4).t_capture_ns), pose(4)
    )
    assert restamp_pose(recording.poses[4], "new", 8, 3 * MS).t_capture_ns == 0  # a clock that has just begun


def test_the_status_is_the_last_recorded_one(recording: Recording) -> None:
    status = build_played_status(recording, recording.poses[2], "new", 7, 100.0)
    assert (status.session, status.t_ns, status.state, status.recording) == ("new", 7, "lost", "")
    assert status.rates_hz == {"pose": 100.0} and status.drops == {"late": 1} and status.cameras == {"left": {"fps": 60.0}}
    before_any = build_played_status(recording, recording.poses[0], "new", 7, 1.0)
    assert before_any.rates_hz == {"pose": 1.0} and before_any.drops == {}


def test_subscribers_and_outputs_hear_what_was_published(recording: Recording) -> None:
    notes = Notebook()
    settings = StreamSettings(address="tcp://127.0.0.1:0", service="")
    heard: list[object] = []
    with open_outlet(settings, "new", [lambda: notes]) as outlet:
        listener = Subscriber(outlet.address)
        outlet.publish(recording.skeleton)
        while not heard:  # joined
            outlet.serve(now_ns())
            heard += listener.receive(20)
        heard.clear()
        span = select_playback_span(recording, None, None)
        before_ns = now_ns()
        n = play_recording(recording, span, outlet, "new", speed=0.5, loop=False, progress=lambda done, total: None)
        took_ns = now_ns() - before_ns
        while new := listener.receive(200):
            heard += new
        listener.close()
    assert n == 6 and took_ns >= 140 * MS and notes.closed == 1
    poses = [message for message in heard if isinstance(message, PoseMessage)]
    assert [p.seq for p in poses] == list(SEQS) and {p.session for p in poses} == {"new"}
    for k, p in enumerate(poses):
        assert before_ns + 2 * TIMES_MS[k] * MS <= p.t_publish_ns <= before_ns + took_ns
        assert p.t_publish_ns - p.t_capture_ns == (5 + k) * MS
        stamps = {"t_publish_ns": pose(k).t_publish_ns, "t_capture_ns": pose(k).t_capture_ns}
        assert encode_message(replace(p, session="s1", **stamps)) == encode_message(pose(k))
    assert any(isinstance(message, SkeletonMessage) and same(message, SKELETON) for message in heard)
    assert next(message.session for message in heard if isinstance(message, RigMessage)) == "new"
    assert any(isinstance(message, StatusMessage) and message.session == "new" for message in heard)
    assert [message.text for message in heard if isinstance(message, EventMessage)] == [EVENT.text]
    assert [message for message, _, _ in notes.taken if isinstance(message, PoseMessage)] != []


class Interrupting(Notebook):
    """Ends the process in the second lap, by the signal that is heard as Ctrl-C is and never ignored."""

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        super().write(message, payload, t_ns)
        if sum(isinstance(each, PoseMessage) for each, _, _ in self.taken) == 9:
            signal.raise_signal(signal.SIGTERM)


def test_an_interrupt_ends_a_loop_and_closes_what_is_open(recording: Recording) -> None:
    notes, settings = Interrupting(), StreamSettings(address="tcp://127.0.0.1:0", service="")
    span = select_playback_span(recording, None, None)
    with pytest.raises(KeyboardInterrupt), raise_on_interrupt(), open_outlet(settings, "new", [lambda: notes]) as outlet:
        play_recording(recording, span, outlet, "new", speed=4.0, loop=True, progress=lambda *_: None)
    assert notes.closed == 1


def test_a_damaged_pose_is_left_out_of_what_is_played(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "damaged.mcap", {})
    payloads = [encode_message(SKELETON), *(encode_message(pose(k)) for k in range(4))]
    payloads[3] = payloads[3].replace(b"\xa5state", b"\xa5stale")  # whole in the file, but no pose
    for number, payload in enumerate(payloads):
        recorder.write(payload, T0 + number * MS)
    recorder.close()
    heard = Notebook()
    damaged = open_recording(recorder.file)
    with open_outlet(StreamSettings("tcp://127.0.0.1:0", service=""), "again", [lambda: heard]) as outlet:
        n_played = play_recording(
            damaged, select_playback_span(damaged, None, None), outlet, "again", speed=4.0, loop=False, progress=lambda *_: None
        )
    assert n_played == 3
    assert [message.seq for message, _, _ in heard.taken if isinstance(message, PoseMessage)] == [100, 101, 105]
