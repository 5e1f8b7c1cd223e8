"""What a recording publishes when it is played as if live, and when; pure, the time is passed in.

Stamps move into the present and the session is new; everything else of a pose is as it was recorded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from config.errors import DuocapError
from stream.messages import EventMessage, PoseMessage, StatusMessage
from stream.recording import Recording

UNTRUE_NOW = ("recording", "output", "play")  # kinds of events about the files and outputs of another day


class PlaybackError(DuocapError):
    """There is nothing to play in the span that was asked for."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is due: after_ns from the beginning of playing; index of the pose, or an event; seq_offset: of the lap."""

    after_ns: int
    pose: int | None
    event: EventMessage | None = None
    seq_offset: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """The poses first to last (that one not) of a recording; begin_ns, end_ns: when they were published, and the lap's end."""

    first: int
    last: int
    begin_ns: int
    end_ns: int

    def __len__(self) -> int:
        return self.last - self.first


def span_of(recording: Recording, from_s: float | None, to_s: float | None) -> Span:
    """Give the poses of a part of a recording, in seconds from its first. Raises PlaybackError: there are none."""
    times_ns = recording.t_publish_ns
    begin_ns = int(times_ns[0]) + _ns(from_s or 0.0)
    end_ns = int(times_ns[-1]) if to_s is None else int(times_ns[0]) + _ns(to_s)
    first, last = (int(np.searchsorted(times_ns, begin_ns)), int(np.searchsorted(times_ns, end_ns, side="right")))
    if first >= last:
        asked = f"from {from_s or 0:g} to {recording.duration_s if to_s is None else to_s:g} s"
        raise PlaybackError(
            f"{recording.file}: nothing to play {asked}; the recording is {recording.duration_s:.2f} s long, choose other times"
        )
    part = times_ns[first:last]
    period_ns = int(np.median(np.diff(part))) if len(part) > 1 else 1_000_000_000 // 60
    return Span(first, last, int(part[0]), int(part[-1]) + max(period_ns, 1_000_000))


def _ns(seconds: float) -> int:
    """Give seconds in ns, at most a year: infinity has no whole number."""
    return round(min(seconds, 3.2e7) * 1e9)


def steps(recording: Recording, span: Span, speed: float, loop: bool) -> Iterator[Step]:
    """Give what is due in the order of time; endless if looped. A lap ends one period after its last pose."""
    moments: list[tuple[int, int | None, EventMessage | None]]
    moments = [(int(recording.t_publish_ns[index]), index, None) for index in range(span.first, span.last)]
    moments += [(event.t_ns, None, event) for event in recording.events if _belongs(event, span)]
    moments.sort(key=lambda moment: moment[0])
    lap_ns, lap_seq = span.end_ns - span.begin_ns, laps_seq(recording.poses, span)
    lap = 0
    while True:
        for t_ns, pose, event in moments:
            yield Step(round((lap * lap_ns + t_ns - span.begin_ns) / speed), pose, event, lap * lap_seq)
        if not loop:
            return
        lap += 1


def laps_seq(poses: Sequence[PoseMessage], span: Span) -> int:
    """Give by how much seq goes on from one lap to the next."""
    return max(poses[span.last - 1].seq - poses[span.first].seq, len(span) - 1) + 1


def played(pose: PoseMessage, session: str, seq_offset: int, t_publish_ns: int) -> PoseMessage:
    """Give a pose as of now: as long after its capture as it was when it was recorded."""
    t_capture_ns = t_publish_ns - (pose.t_publish_ns - pose.t_capture_ns)
    seq = pose.seq + seq_offset
    return replace(pose, session=session, seq=seq, t_capture_ns=max(t_capture_ns, 0), t_publish_ns=t_publish_ns)


def played_status(recording: Recording, pose: PoseMessage, session: str, t_ns: int, rate_hz: float) -> StatusMessage:
    """Give the status while a recorded pose is played: the last one before it, else what is known without any.

    rate_hz: of the poses that are played.
    """
    before = [status for status in recording.statuses if status.t_ns <= pose.t_publish_ns]
    if not before:
        return StatusMessage(session, t_ns, pose.state, {"pose": rate_hz}, {}, {}, {}, {})
    rates_hz = {**before[-1].rates_hz, "pose": rate_hz}
    return replace(before[-1], session=session, t_ns=t_ns, state=pose.state, rates_hz=rates_hz, service="", recording="")


def _belongs(event: EventMessage, span: Span) -> bool:
    """Tell whether an event is of the span, and still true of what is played."""
    return span.begin_ns <= event.t_ns < span.end_ns and event.kind not in UNTRUE_NOW
