"""What a recording publishes when it is played as if live, and when.

Time stamps move into the present and the session is new; everything else of a pose is as recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from config.errors import DuocapError
from stream.protocol.messages import EventMessage, PoseMessage, StatusMessage
from stream.recording.recording import Recording

LEFT_OUT = ("recording", "output", "play")  # kinds of events on the files and outputs of the recorded run


class PlaybackError(DuocapError):
    """There is nothing to play in a span."""


@dataclass(frozen=True, slots=True)
class DueMessage:
    """A message that is due after_ns from the beginning: the pose of an index, or an event; seq_offset: of the loop."""

    after_ns: int
    pose: int | None
    event: EventMessage | None = None
    seq_offset: int = 0


@dataclass(frozen=True, slots=True)
class PlaybackSpan:
    """Consecutive poses of a recording.

    Attributes:
        first: index of the first pose.
        last: index after the last pose.
        begin_ns: time at which the first pose was published [ns].
        end_ns: end of one loop [ns].
    """

    first: int
    last: int
    begin_ns: int
    end_ns: int

    def __len__(self) -> int:
        return self.last - self.first


def select_playback_span(recording: Recording, from_s: float | None, to_s: float | None) -> PlaybackSpan:
    """Return the poses of a part of a recording, in seconds from its first.

    Args:
        recording: the recording.
        from_s: the first time [s]; None: from the beginning.
        to_s: the last time [s]; None: to the end.
    Raises: PlaybackError: there are none.
    """
    times_ns = recording.t_publish_ns
    begin_ns = int(times_ns[0]) + _convert_to_ns(from_s or 0.0)
    end_ns = int(times_ns[-1]) if to_s is None else int(times_ns[0]) + _convert_to_ns(to_s)
    first, last = (int(np.searchsorted(times_ns, begin_ns)), int(np.searchsorted(times_ns, end_ns, side="right")))
    if first >= last:
        asked = f"from {from_s or 0:g} to {recording.duration_s if to_s is None else to_s:g} s"
        raise PlaybackError(
            f"{recording.file}: nothing to play {asked}; the recording is {recording.duration_s:.2f} s long, choose other times"
        )
    part = times_ns[first:last]
    period_ns = int(np.median(np.diff(part))) if len(part) > 1 else 1_000_000_000 // 60
    return PlaybackSpan(first, last, int(part[0]), int(part[-1]) + max(period_ns, 1_000_000))


def _convert_to_ns(seconds: float) -> int:
    """Convert seconds to ns, at most a year, since infinity has no integer."""
    return round(min(seconds, 3.2e7) * 1e9)


def schedule_playback(recording: Recording, span: PlaybackSpan, speed: float, loop: bool) -> Iterator[DueMessage]:
    """Return the messages that are due, by time; endless if looped. A loop ends one period after its last pose.

    Args:
        recording: the recording.
        span: the part that is played.
        speed: times as fast as it was.
        loop: begin again at the end.
    """
    items: list[tuple[int, int | None, EventMessage | None]]
    items = [(int(recording.t_publish_ns[index]), index, None) for index in range(span.first, span.last)]
    told = [event for event in recording.events if event.kind not in LEFT_OUT]
    items += [(event.t_ns, None, event) for event in told if span.begin_ns <= event.t_ns < span.end_ns]
    items.sort(key=lambda item: item[0])
    loop_ns, seqs = span.end_ns - span.begin_ns, [recording.poses[n].seq for n in (span.first, span.last - 1)]
    loop_seq = max(seqs[1] - seqs[0], len(span) - 1) + 1
    n_loops = 0
    while True:
        for t_ns, pose, event in items:
            yield DueMessage(round((n_loops * loop_ns + t_ns - span.begin_ns) / speed), pose, event, n_loops * loop_seq)
        if not loop:
            return
        n_loops += 1


def restamp_pose(pose: PoseMessage, session: str, seq_offset: int, t_publish_ns: int) -> PoseMessage:
    """Return a pose published at t_publish_ns, with the recorded latency.

    Args:
        pose: the pose as recorded.
        session: name of the session that plays it.
        seq_offset: added to its number.
        t_publish_ns: time of publishing [ns].
    """
    t_capture_ns = t_publish_ns - (pose.t_publish_ns - pose.t_capture_ns)
    seq = pose.seq + seq_offset
    return replace(pose, session=session, seq=seq, t_capture_ns=max(t_capture_ns, 0), t_publish_ns=t_publish_ns)


def build_played_status(recording: Recording, pose: PoseMessage, session: str, t_ns: int, rate_hz: float) -> StatusMessage:
    """Return the status while a recorded pose is played: the last one before it, or an empty one.

    Args:
        recording: the recording.
        pose: pose that is played.
        session: name of the session that plays it.
        t_ns: time of the status [ns].
        rate_hz: rate of the poses that are played.
    """
    before = [status for status in recording.statuses if status.t_ns <= pose.t_publish_ns]
    if not before:
        return StatusMessage(session, t_ns, pose.state, {"pose": rate_hz}, {}, {}, {}, {})
    rates_hz = {**before[-1].rates_hz, "pose": rate_hz}
    return replace(before[-1], session=session, t_ns=t_ns, state=pose.state, rates_hz=rates_hz, service="", recording="")
