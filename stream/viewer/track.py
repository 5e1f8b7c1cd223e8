"""One performance as the viewer knows it: skeleton, rig, poses, figures and news, from the stream or from a recording."""

from collections import deque
from dataclasses import dataclass, field

from stream.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.viewer.history import History
from stream.viewer.meter import Meter

MAX_NEWS = 200


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened, in words, at t_s of the history."""

    t_s: float
    kind: str
    text: str


@dataclass(slots=True)
class Track:
    """Everything heard of one session.

    title: how the viewer calls it. Messages are given by `take`; the poses' session names the track's own.
    """

    title: str
    history: History
    session: str = ""
    skeleton: SkeletonMessage | None = None
    rig: RigMessage | None = None
    status: StatusMessage | None = None
    meter: Meter = field(default_factory=Meter)
    news: deque[News] = field(default_factory=lambda: deque(maxlen=MAX_NEWS))

    def take(self, message: Message, t_ns: int, t_received_ns: int | None = None) -> None:
        """Take a message that belongs to t_ns; t_received_ns: when it came, on the publisher's clock, None if unknown."""
        if isinstance(message, PoseMessage):
            self.session = message.session
            t_s = self.history.add(message, t_ns)
            self.meter.pose(message, t_received_ns, t_s, self.history.n_missed)
        elif isinstance(message, SkeletonMessage):
            self.skeleton = message
        elif isinstance(message, RigMessage):
            self.rig = message
        elif isinstance(message, StatusMessage):
            self.status = message
            self.meter.status(message)
        elif isinstance(message, EventMessage):
            self.news.append(News(self.history.seconds(t_ns), message.kind, message.text))

    def shown(self, t_s: float) -> PoseMessage | None:
        """Give the pose at a time, None where there is none or its skeleton is not known (yet)."""
        pose = self.history.pose_at(t_s)
        if pose is None or self.skeleton is None or pose.hash != self.skeleton.hash:
            return None
        return pose
