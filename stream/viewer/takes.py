"""Recordings as tracks of the viewer: one, or two whose beginnings are laid on each other.

An hour opens in seconds: times and states are read from every pose at first, the poses themselves when they are shown, and the
figures of the charts bit by bit while the page is already there.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgpack

from capture.wire import MalformedMessageError
from config.errors import DuocapError
from stream.messages import PoseMessage
from stream.recording import Poses, Recording, open_recording
from stream.viewer.history import History
from stream.viewer.player import Span
from stream.viewer.track import News, Track

MAX_TAKES = 2
STEP_S = 0.006  # of every turn, for the figures
INT64_MAX = 2**63 - 1


class TakeHistory(History):
    """The poses of a recording on the time of their captures, left in the file until they are shown. Raises DuocapError."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(float("inf"))
        assert isinstance(recording.poses, Poses)
        self._poses = recording.poses
        self._numbers: list[int] = []
        for n in range(len(self._poses)):
            glance = _glance(self._poses.payload(n))
            if glance is not None:
                self._numbers.append(n)
                self._note(*glance)

    def _decoded(self, index: int) -> PoseMessage:
        """Read a pose; a damaged one shows as the one before."""
        for n in reversed(self._numbers[: index + 1][-8:]):
            try:
                return self._poses[n]
            except MalformedMessageError:
                continue
        return self._poses[0]

    def figures(self) -> Iterator[tuple[float, PoseMessage]]:
        """Give all poses with their times, one after the other."""
        for t_s, n in zip(self._times_s, self._numbers, strict=True):
            try:
                yield t_s, self._poses[n]
            except MalformedMessageError:
                continue


class TakeFeed:
    """Recordings, their beginnings laid on each other. Raises DuocapError: a file cannot be read, or holds no poses."""

    def __init__(self, files: Sequence[Path]) -> None:
        recordings = [open_recording(file) for file in files[:MAX_TAKES]]
        self.tracks: Sequence[Track] = tuple(
            track_of(file.stem, recording) for file, recording in zip(files, recordings, strict=False)
        )
        for file, track in zip(files, self.tracks, strict=False):
            if not len(track.history):
                words = "a recording without poses; nothing to show, record again while a run tracks somebody"
                raise DuocapError(f"{file}: {words}")
        self.span = Span(0.0, max(track.history.end_s for track in self.tracks))
        self._work = [measured(track, recording) for track, recording in zip(self.tracks, recordings, strict=True)]

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Nothing comes; a little more is read for the charts."""
        until_s = time.monotonic() + STEP_S
        while self._work and time.monotonic() < until_s:
            if next(self._work[0], None) is None:
                self._work.pop(0)
        return False

    def close(self) -> None:
        """Leave the rest unread."""
        self._work.clear()


def track_of(title: str, recording: Recording) -> Track:
    """Give a recording as a track, as yet without figures."""
    history = TakeHistory(recording)
    track = Track(title, history, skeleton=recording.skeleton, rig=recording.rig)
    first = history.pose_at(0.0)
    track.session = first.session if first is not None else ""
    begin_ns = first.t_publish_ns if first is not None else 0
    track.news.extend(News((event.t_ns - begin_ns) * 1e-9, event.kind, event.text) for event in recording.events)
    track.status = recording.statuses[-1] if recording.statuses else None
    return track


def measured(track: Track, recording: Recording) -> Iterator[float]:
    """Read the figures of a track, pose by pose; gives the time reached [s]."""
    assert isinstance(track.history, TakeHistory)
    statuses = list(recording.statuses)[::-1]
    n_missed, last_seq = 0, None
    for t_s, pose in track.history.figures():
        while statuses and statuses[-1].t_ns <= pose.t_publish_ns:
            track.meter.status(statuses.pop())
        n_missed += max(pose.seq - last_seq - 1, 0) if last_seq is not None else 0
        last_seq = pose.seq
        track.meter.pose(pose, None, t_s, n_missed)
        yield t_s


def _glance(payload: bytes) -> tuple[int, str, int] | None:
    """Read seq, state and time of capture [ns] of a pose and nothing else: ten times faster. None if they are not there."""
    try:
        content: Any = msgpack.unpackb(payload.partition(b" ")[2])
        seq, state, t_ns = content["seq"], content["state"], content["t_capture_ns"]
    except (ValueError, TypeError, KeyError, msgpack.UnpackException):
        return None
    sound = type(seq) is int and type(t_ns) is int and isinstance(state, str) and 0 <= t_ns <= INT64_MAX
    return (seq, state, t_ns) if sound else None
