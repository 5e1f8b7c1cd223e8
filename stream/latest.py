"""The newest pose of a stream, never a queue of old ones, and what there is to know of its health.

`Tally` is pure: messages and times in, figures out. `Latest` is a tally with a socket.
"""

from dataclasses import dataclass

from capture.endpoints import KeySettings
from stream.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.subscriber import Subscriber

SILENCE_NS = 2_500_000_000  # status comes every second: two of them are missing
BUFFER_MESSAGES = 64  # a second of poses
MAX_EVENTS = 100


@dataclass(frozen=True, slots=True)
class Gaps:
    """Poses that were lost on the way, by their `seq`. n: how often; n_missed: how many; longest: the most in a row."""

    n: int = 0
    n_missed: int = 0
    longest: int = 0

    def after(self, missed: int) -> "Gaps":
        """Give the gaps with one more of `missed` poses; 0: none."""
        return Gaps(self.n + 1, self.n_missed + missed, max(self.longest, missed)) if missed > 0 else self


class Tally:
    """What the messages of a stream amount to. Times are passed in, on the listener's clock [ns].

    pose, rig, status: the last of each that came; events: the last hundred; gaps: of all sessions heard so far;
    n_poses; n_sessions: runs heard so far; n_skeletons: times the skeleton came new or changed.
    """

    def __init__(self) -> None:
        self.pose: PoseMessage | None = None
        self.rig: RigMessage | None = None
        self.status: StatusMessage | None = None
        self.events: list[EventMessage] = []
        self.gaps = Gaps()
        self.n_poses = self.n_sessions = self.n_skeletons = 0
        self._skeleton: SkeletonMessage | None = None
        self._session = ""
        self._t_heard_ns: int | None = None
        self._t_pose_ns: int | None = None

    def take(self, message: Message, t_ns: int) -> None:
        """Take a message that came at t_ns."""
        self._t_heard_ns = t_ns
        if isinstance(message, SkeletonMessage):
            if self._skeleton is None or message.hash != self._skeleton.hash:
                self.n_skeletons += 1
            self._skeleton = message
            return
        self._enter(message.session)
        if isinstance(message, PoseMessage):
            self._take_pose(message, t_ns)
        elif isinstance(message, StatusMessage):
            self.status = message
        elif isinstance(message, RigMessage):
            self.rig = message
        else:
            self.events = [*self.events[1 - MAX_EVENTS :], message]

    def _enter(self, session: str) -> None:
        """Forget what belongs to another run once a new one is heard."""
        if session != self._session:
            self._session = session
            self.n_sessions += 1
            self.pose = self.rig = self.status = None

    def _take_pose(self, pose: PoseMessage, t_ns: int) -> None:
        """Keep a pose and count those that are missing before it."""
        if self.pose is not None:
            self.gaps = self.gaps.after(pose.seq - self.pose.seq - 1)
        self.pose, self._t_pose_ns = pose, t_ns
        self.n_poses += 1

    @property
    def session(self) -> str:
        """The run that is heard, empty before the first."""
        return self._session

    @property
    def skeleton(self) -> SkeletonMessage | None:
        """The skeleton of the newest pose; None while it has not come: a pose of another hash must not be drawn with it."""
        if self._skeleton is None or (self.pose is not None and self.pose.hash != self._skeleton.hash):
            return None
        return self._skeleton

    def age_ns(self, t_ns: int, offset_ns: int = 0) -> int | None:
        """Give how long ago the newest pose was captured, None without one.

        offset_ns: clock of the publisher's machine less that of t_ns; 0 on the same machine.
        """
        return None if self.pose is None else t_ns + offset_ns - self.pose.t_capture_ns

    def quiet_ns(self, t_ns: int) -> int | None:
        """Give for how long no pose has come, None before the first; needs no common clock."""
        return None if self._t_pose_ns is None else t_ns - self._t_pose_ns

    def silent_since_ns(self, t_ns: int) -> int | None:
        """Give when the last message came if the stream has fallen silent since (publisher or network gone), else None."""
        if self._t_heard_ns is None or t_ns - self._t_heard_ns < SILENCE_NS:
            return None
        return self._t_heard_ns


class Latest:
    """Listen to one stream for its newest pose; not shared between threads. tally: all that is known of it."""

    def __init__(self, address: str, keys: KeySettings | None = None) -> None:
        self._subscriber = Subscriber(address, keys=keys, buffer=BUFFER_MESSAGES)
        self.tally = Tally()

    @property
    def n_malformed(self) -> int:
        """How many messages were no messages of ours."""
        return self._subscriber.n_malformed

    def poll(self, t_ns: int, timeout_ms: int = 0) -> PoseMessage | None:
        """Read all that waits, at most timeout_ms for the first of it; give the newest pose if a new one came, else None."""
        n_poses = self.tally.n_poses
        for message in self._subscriber.heard(timeout_ms):
            self.tally.take(message, t_ns)
        return self.tally.pose if self.tally.n_poses > n_poses else None

    def close(self) -> None:
        """Close the socket."""
        self._subscriber.close()
