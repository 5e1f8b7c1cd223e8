"""Where the viewer's tracks come from: the protocol of all feeds, and the live stream as one."""

from collections.abc import Sequence
from typing import Protocol

from capture.sockets.endpoints import KeySettings
from stream.protocol.messages import Message, PoseMessage, SkeletonMessage, StatusMessage, find_publish_time_ns
from stream.publish.subscriber import Subscriber
from stream.viewer.history import PoseHistory
from stream.viewer.player import TimeSpan
from stream.viewer.track import ViewerTrack

SILENT_NS = 1_500_000_000


class Feed(Protocol):
    """Source of the tracks that the app shows."""

    @property
    def tracks(self) -> Sequence[ViewerTrack]:
        """The performances, one or two."""

    @property
    def span(self) -> TimeSpan:
        """The time that can be shown."""

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Read the new messages, waiting at most timeout_ms; return whether the tracks were replaced."""

    def close(self) -> None:
        """Close sockets and files."""


class LiveFeed:
    """The stream at one address.

    Args:
        keep_s: length of the stream that is kept [s].
        keys: keys as in the settings.
        offset_ns: the publisher's clock less ours, 0 on one machine; set it once it is known.
        heard: whether any message has come.
        late: whether frames come faster than they can be solved, as the last status says.
    """

    def __init__(self, address: str, keep_s: float, keys: KeySettings | None = None) -> None:
        self.address, self._keep_s = address, keep_s
        self._subscriber = Subscriber(address, keys=keys)
        self._skeleton: SkeletonMessage | None = None
        self.track = self._next = ViewerTrack(address, PoseHistory(keep_s))
        self._t_pose_ns: int | None = None
        self.offset_ns = 0
        self.heard = self.late = False

    @property
    def tracks(self) -> Sequence[ViewerTrack]:
        """The one performance on the stream; after its end, the last one."""
        return (self.track,)

    @property
    def span(self) -> TimeSpan:
        """The time that is kept; it grows."""
        return TimeSpan(self.track.history.begin_s, self.track.history.end_s, grows=True)

    def poll(self, timeout_ms: int, now_ns: int) -> bool:
        """Read the new messages, waiting at most timeout_ms; return whether a new session has begun."""
        replaced = False
        for message in self._subscriber.receive(timeout_ms):
            replaced |= self.add(message, now_ns)
        return replaced

    def is_silent(self, now_ns: int) -> bool:
        """Return whether no pose has come for a while."""
        return self._t_pose_ns is None or now_ns - self._t_pose_ns > SILENT_NS

    def close(self) -> None:
        """Close the socket."""
        self._subscriber.close()

    def add(self, message: Message, now_ns: int) -> bool:
        """Add one message to the track of its session; return whether its pose is the first of a new session."""
        self.heard = True
        if isinstance(message, SkeletonMessage):
            self._skeleton = message
            self._next.add(message, 0)
            return False
        if message.session != self._next.session:
            self._next = ViewerTrack(self.address, PoseHistory(self._keep_s), message.session, skeleton=self._skeleton)
        if isinstance(message, StatusMessage):
            self.late = bool(message.resting)
        t_received_ns = now_ns + self.offset_ns
        self._next.add(message, find_publish_time_ns(message, t_received_ns), t_received_ns)
        if not isinstance(message, PoseMessage):
            return False
        self._t_pose_ns = now_ns
        replaced, self.track = self._next is not self.track, self._next
        return replaced
