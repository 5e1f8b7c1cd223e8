"""VMC as an output of the stream: every tracked pose, at most 200 a second, and the last one again while there is none.

The performer counts as tracked while tracked poses come. Coasting and lost poses are not sent: the last tracked pose is repeated
several times a second, with the state in /VMC/Ext/OK.
"""

from reconstruct.pose import TrackingState
from stream.protocol.messages import Message, PoseMessage, SkeletonMessage
from stream.vmc.composer import Composer, Heartbeat
from stream.vmc.sender import Sender, VmcTarget

MIN_PERIOD_NS = 5_000_000
REPEAT_PERIOD_NS = 100_000_000
STALE_NS = 500_000_000


class VmcOutput:
    """Send what is published to one receiver. Raises VmcError for a host that cannot be found.

    n_skipped: poses that were replaced by newer ones before they were due.
    """

    def __init__(self, target: VmcTarget) -> None:
        self.target = target
        self._sender = Sender(target)
        self.n_skipped = 0
        self._composer: Composer | None = None
        self._heartbeat = Heartbeat()
        self._skeleton: SkeletonMessage | None = None
        self._waiting: PoseMessage | None = None
        self._t_begin_ns: int | None = None
        self._t_sent_ns = self._t_tracked_ns = -STALE_NS
        self._has_pose = self._tracked = False

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Handle one message, published at t_ns.

        Args:
            message: the message.
            payload: the message as published.
            t_ns: time of publishing [ns].
        """
        if isinstance(message, PoseMessage):
            self._write_pose(message, t_ns)
        elif isinstance(message, SkeletonMessage) and (self._skeleton is None or message.hash != self._skeleton.hash):
            self._skeleton, self._composer = message, Composer(message, self.target.upper_chest)
            self._has_pose = False

    def serve(self, t_ns: int) -> None:
        """Send the pose that waits if it is due, or repeat the last one."""
        if self._waiting is not None and t_ns - self._t_sent_ns >= MIN_PERIOD_NS:
            self._send(self._waiting, t_ns)
        elif t_ns - self._t_sent_ns >= REPEAT_PERIOD_NS:
            self._tracked = self._tracked and t_ns - self._t_tracked_ns < STALE_NS
            self._send(None, t_ns)

    def close(self) -> None:
        """Close the socket."""
        self._sender.close()

    def _write_pose(self, pose: PoseMessage, t_ns: int) -> None:
        """Send a tracked pose if it is due; report the loss of tracking at once."""
        if self._skeleton is None or pose.hash != self._skeleton.hash:
            return
        was_tracked, self._tracked = self._tracked, pose.state is TrackingState.TRACKING
        if not self._tracked:
            self._waiting = None
            if was_tracked:
                self._send(None, t_ns)
            return
        self._t_tracked_ns = t_ns
        self.n_skipped += self._waiting is not None
        self._waiting = pose
        if t_ns - self._t_sent_ns >= MIN_PERIOD_NS:
            self._send(pose, t_ns)

    def _send(self, pose: PoseMessage | None, t_ns: int) -> None:
        """Send a new pose, or the last one again if there is one, with the present state."""
        if pose is not None:
            assert self._composer is not None
            self._composer.put_pose(pose)
            self._has_pose, self._waiting = True, None
        if self._t_begin_ns is None:
            self._t_begin_ns = t_ns
        source = self._composer if self._has_pose and self._composer is not None else self._heartbeat
        self._sender.send(source.datagrams(self._tracked, (t_ns - self._t_begin_ns) * 1e-9), t_ns)
        self._t_sent_ns = t_ns
