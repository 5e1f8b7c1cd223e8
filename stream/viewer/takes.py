"""Recordings as tracks of the viewer: one, or two whose beginnings are laid on each other."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from capture.wire import MalformedMessageError
from config.errors import DuocapError
from stream.codec import decode
from stream.messages import Message, PoseMessage, RigMessage, SkeletonMessage
from stream.recording import Recording, open_recording
from stream.viewer.history import History
from stream.viewer.player import Span
from stream.viewer.track import Progress, Track

MAX_TAKES = 2


class TakeFeed:
    """Recordings, their beginnings laid on each other. Raises DuocapError: a file cannot be read, or holds no poses."""

    def __init__(self, files: Sequence[Path], progress: Progress = lambda done, total: None) -> None:
        self.tracks: Sequence[Track] = tuple(_read(file, progress) for file in files[:MAX_TAKES])
        self.span = Span(0.0, max(track.history.end_s for track in self.tracks))

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Nothing comes."""
        return False

    def close(self) -> None:
        """Nothing is open."""


def track_from_recording(title: str, recording: Recording, progress: Progress = lambda done, total: None) -> Track:
    """Give a recording as a track on the time of its captures."""
    track = Track(title, History(float("inf")), skeleton=recording.skeleton, rig=recording.rig)
    for n, (t_ns, message) in enumerate(_messages(recording)):
        if isinstance(message, PoseMessage):
            track.take(message, message.t_capture_ns)
        elif len(track.history) or not isinstance(message, SkeletonMessage | RigMessage):
            track.take(message, t_ns)
        progress(n + 1, None)
    return track


def _read(file: Path, progress: Progress) -> Track:
    """Read one recording."""
    track = track_from_recording(file.stem, open_recording(file), progress)
    if not len(track.history):
        raise DuocapError(f"{file}: a recording without poses; nothing to show, record again while a run tracks somebody")
    return track


def _messages(recording: Recording) -> Iterator[tuple[int, Message]]:
    """Give the messages of a recording in order; malformed ones are left out."""
    for t_ns, payload in recording.payloads():
        try:
            yield t_ns, decode(payload)
        except MalformedMessageError:
            continue
