"""Recordings as tracks of the viewer: one, or two that begin together.

An hour opens in seconds: the times and states of all poses are read first, the poses themselves when they are shown, and the
figures of the charts little by little while the page is open.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from capture.sockets.wire import MalformedMessageError
from config.errors import DuocapError
from stream.protocol.messages import PoseMessage
from stream.recording.recording import RecordedPoses, Recording, open_recording, read_pose_outline
from stream.viewer.history import PoseHistory
from stream.viewer.player import TimeSpan
from stream.viewer.track import Notice, ViewerTrack
from stream.viewer.videos import open_session_pictures

MAX_TAKES = 2
STEP_S = 0.006  # of every frame of the app, for the figures


class TakeHistory(PoseHistory):
    """The poses of a recording by time of capture, read from the file when they are shown."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(float("inf"))
        assert isinstance(recording.poses, RecordedPoses)
        self._poses = recording.poses
        self._numbers: list[int] = []
        for n in range(len(self._poses)):
            outline = read_pose_outline(self._poses.payload(n))
            if outline is not None:
                self._numbers.append(n)
                self._note(*outline)

    def _decoded(self, index: int) -> PoseMessage:
        """Read a pose; one that is damaged is replaced by the one before."""
        for n in reversed(self._numbers[: index + 1][-8:]):
            try:
                return self._poses[n]
            except MalformedMessageError:
                continue
        return self._poses[0]

    def timed_poses(self) -> Iterator[tuple[float, PoseMessage]]:
        """Return all poses that can be read, with their times [s]."""
        for t_s, n in zip(self._times_s, self._numbers, strict=True):
            try:
                yield t_s, self._poses[n]
            except MalformedMessageError:
                continue


class TakeFeed:
    """One or two recordings that begin together. Raises DuocapError: a file cannot be read, or holds no poses.

    Attributes:
        recordings: what is shown.
        tracks: the same as tracks.
        span: the time that can be shown.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        recordings = [open_recording(file) for file in files[:MAX_TAKES]]
        self._videos = [open_session_pictures(file, each.find_landmarks) for file, each in zip(files, recordings, strict=False)]
        self._replaced = False
        self.show(recordings)
        for file, track in zip(files, self.tracks, strict=False):
            if not len(track.history):
                raise DuocapError(f"{file}: a recording without poses; nothing to show, record again while a run tracks somebody")
        self._replaced = False

    def show(self, recordings: Sequence[Recording], titles: Sequence[str] = ()) -> None:
        """Show recordings in place of those that are shown, as after an edit; titles: in place of their files' names."""
        self.recordings = tuple(recordings)
        names = titles or [recording.file.stem for recording in recordings]
        self.tracks = tuple(_track_from_recording(name, one) for name, one in zip(names, recordings, strict=True))
        for track, videos in zip(self.tracks, self._videos, strict=False):
            track.videos = videos
        self.span = TimeSpan(0.0, max(track.history.end_s for track in self.tracks))
        self._work = [_fill_meter(track, recording) for track, recording in zip(self.tracks, recordings, strict=True)]
        self._replaced = True

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Read a little more for the charts; return whether other recordings are shown."""
        if self._replaced:
            self._replaced = False
            return True
        until_s = time.monotonic() + STEP_S
        while self._work and time.monotonic() < until_s:
            if next(self._work[0], None) is None:
                self._work.pop(0)
        return False

    def close(self) -> None:
        """Leave the rest unread."""
        self._work.clear()
        for videos in self._videos:
            if videos is not None:
                videos.close()


def _track_from_recording(title: str, recording: Recording) -> ViewerTrack:
    """Return a recording as a track, without figures yet."""
    history = TakeHistory(recording)
    track = ViewerTrack(title, history, skeleton=recording.skeleton, rig=recording.rig)
    first = history.pose_at(0.0)
    begin_ns = 0
    if first is not None:
        track.session, begin_ns = first.session, first.t_publish_ns
    track.notices.extend(Notice((event.t_ns - begin_ns) * 1e-9, event.text) for event in recording.events)
    track.status = recording.statuses[-1] if recording.statuses else None
    return track


def _fill_meter(track: ViewerTrack, recording: Recording) -> Iterator[float]:
    """Compute the figures of a track, pose by pose; yield the time reached [s]."""
    assert isinstance(track.history, TakeHistory)
    statuses = list(recording.statuses)[::-1]
    n_missed, last_seq = 0, None
    for t_s, pose in track.history.timed_poses():
        while statuses and statuses[-1].t_ns <= pose.t_publish_ns:
            track.meter.add_status(statuses.pop())
        n_missed += max(pose.seq - last_seq - 1, 0) if last_seq is not None else 0
        last_seq = pose.seq
        track.meter.add_pose(pose, None, t_s, n_missed)
        yield t_s
