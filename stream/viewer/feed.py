"""Where the viewer's tracks come from; here the running stream, heard as any client would."""

from collections.abc import Sequence
from typing import Protocol

from stream.messages import Message, PoseMessage, RigMessage, SkeletonMessage
from stream.subscriber import Subscriber
from stream.viewer.history import History
from stream.viewer.player import Span
from stream.viewer.track import Track

SILENT_NS = 1_500_000_000


class Feed(Protocol):
    """What the app plays."""

    @property
    def tracks(self) -> Sequence[Track]:
        """The performances, one or two."""

    @property
    def span(self) -> Span:
        """What can be shown of them."""

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Take what has come, waiting at most timeout_ms; tell whether tracks were exchanged for others."""

    def close(self) -> None:
        """Let go of sockets and files."""


class LiveFeed:
    """The stream at one address. keep_s: how much of it is kept; t_heard_ns: when the last pose came, 0 before the first."""

    def __init__(self, address: str, keep_s: float) -> None:
        self.address, self._keep_s = address, keep_s
        self._subscriber = Subscriber(address)
        self._skeletons: dict[str, SkeletonMessage] = {}
        self._rigs: dict[str, RigMessage] = {}
        self.track = Track(address, History(keep_s))
        self.t_heard_ns = 0

    @property
    def tracks(self) -> Sequence[Track]:
        """The one performance on the stream; the last one after its end."""
        return (self.track,)

    @property
    def span(self) -> Span:
        """What is kept; it grows."""
        return Span(self.track.history.begin_s, self.track.history.end_s, grows=True)

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Take what has come; a pose of another session begins a new track."""
        renewed = False
        for message in self._subscriber.heard(timeout_ms):
            renewed |= self._take(message, now_ns)
        return renewed

    def is_silent(self, now_ns: int) -> bool:
        """Tell whether no pose has come for a while."""
        return now_ns - self.t_heard_ns > SILENT_NS

    def close(self) -> None:
        """Close the socket."""
        self._subscriber.close()

    def _take(self, message: Message, now_ns: int) -> bool:
        """Take one message into the track it belongs to."""
        renewed = False
        if isinstance(message, SkeletonMessage):
            self._skeletons = {message.hash: message}  # a stream has one at a time
        elif isinstance(message, RigMessage):
            self._rigs = {message.session: message}
        elif isinstance(message, PoseMessage):
            self.t_heard_ns = now_ns
            if message.session != self.track.session and len(self.track.history):
                self.track, renewed = Track(self.address, History(self._keep_s)), True
        self.track.take(message, now_ns, now_ns)
        if isinstance(message, PoseMessage):
            self._complete(message)
        return renewed

    def _complete(self, pose: PoseMessage) -> None:
        """Give the track the skeleton and the rig that came before its first pose."""
        if self.track.skeleton is None or self.track.skeleton.hash != pose.hash:
            self.track.skeleton = self._skeletons.get(pose.hash)
        if self.track.rig is None or self.track.rig.session != pose.session:
            self.track.rig = self._rigs.get(pose.session)
