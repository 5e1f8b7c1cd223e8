"""Where the viewer's tracks come from; here the running stream, heard as any client would."""

from collections.abc import Sequence
from typing import Protocol

from capture.endpoints import KeySettings
from stream.messages import EventMessage, Message, PoseMessage, SkeletonMessage, StatusMessage
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
    """The stream at one address.

    keep_s: how much of it is kept [s]; keys: as the settings have them; offset_ns: the publisher's clock less ours, 0 on one
    machine; assign it once it is known.
    """

    def __init__(self, address: str, keep_s: float, keys: KeySettings | None = None) -> None:
        self.address, self._keep_s = address, keep_s
        self._subscriber = Subscriber(address, keys=keys)
        self._skeleton: SkeletonMessage | None = None
        self.track = self._next = Track(address, History(keep_s))
        self._t_heard_ns: int | None = None
        self.offset_ns = 0

    @property
    def tracks(self) -> Sequence[Track]:
        """The one performance on the stream; the last one after its end."""
        return (self.track,)

    @property
    def span(self) -> Span:
        """What is kept; it grows."""
        return Span(self.track.history.begin_s, self.track.history.end_s, grows=True)

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Take what has come; the first pose of another session begins a new track."""
        renewed = False
        for message in self._subscriber.heard(timeout_ms):
            renewed |= self.take(message, now_ns)
        return renewed

    def is_silent(self, now_ns: int) -> bool:
        """Tell whether no pose has come for a while."""
        return self._t_heard_ns is None or now_ns - self._t_heard_ns > SILENT_NS

    def close(self) -> None:
        """Close the socket."""
        self._subscriber.close()

    def take(self, message: Message, now_ns: int) -> bool:
        """Take one message into the track of its session; tell whether that is another one than before."""
        if isinstance(message, SkeletonMessage):
            self._skeleton = message
            self._next.take(message, 0)
            return False
        if message.session != self._next.session:
            self._next = Track(self.address, History(self._keep_s), message.session, self._skeleton)
        t_ns = _when(message, now_ns + self.offset_ns)
        self._next.take(message, t_ns, now_ns + self.offset_ns)
        if not isinstance(message, PoseMessage):
            return False
        self._t_heard_ns = now_ns
        renewed, self.track = self._next is not self.track, self._next
        return renewed


def _when(message: Message, now_ns: int) -> int:
    """Give the publisher's time of a message: even, whenever it is heard."""
    if isinstance(message, PoseMessage):
        return message.t_publish_ns
    return message.t_ns if isinstance(message, EventMessage | StatusMessage) else now_ns
