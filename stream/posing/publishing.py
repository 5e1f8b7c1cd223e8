"""The pose on the stream, as a run publishes poses: whatever listens, an avatar in a game engine, follows the hand."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from config.joints import N_JOINTS
from database.geometry.skeleton import Skeleton
from reconstruct.pose import JointSource, Pose, TrackingState
from stream.posing.document import StoredPose
from stream.protocol.compose import compose_bare_skeleton_message, compose_pose_message
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.publish.fanout import OutputFanout

SESSION = "pose"
PERIOD_NS = 33_000_000


def compose_posed_skeleton(skeleton: Skeleton) -> SkeletonMessage:
    """Return the message of a body that is posed."""
    return compose_bare_skeleton_message(skeleton, skeleton.name or "posed")


def compose_posed_pose(pose: StoredPose, skeleton: SkeletonMessage, certainty: float, seq: int, t_ns: int) -> PoseMessage:
    """Return a pose as a message of the stream.

    Args:
        pose: the pose.
        skeleton: skeleton of the body.
        certainty: 0 to 1, the confidence of its joints.
        seq: number of the message.
        t_ns: time of the message [ns].
    """
    none = np.zeros(0)
    packet = Pose(
        index=seq,
        t_capture_ns=t_ns,
        skew_ns=0,
        state=TrackingState.TRACKING,
        rotvec=pose.rotvec,
        root_m=pose.root_m,
        joint_source=np.full(N_JOINTS, JointSource.INFERRED, np.uint8),
        confidence=np.full(N_JOINTS, certainty),
        marker_m=np.zeros((0, 3)),
        measured=np.zeros(0, bool),
        residual_m=none,
        seen=np.zeros((2, 0), bool),
        residual_px=np.zeros((2, 0)),
        latency_ns={},
    )
    return compose_pose_message(packet, skeleton, SESSION, seq, t_ns)


@dataclass
class PosePublisher:
    """Publishes the newest pose while it is on, PERIOD_NS apart, whether it has moved or not; used from one thread.

    open: opens the stream. Raises what that raises, when it is switched on.
    """

    open: Callable[[], OutputFanout]
    skeleton: SkeletonMessage
    _fanout: OutputFanout | None = None
    _seq: int = 0
    _due_ns: int = 0

    @property
    def address(self) -> str:
        """Address of the stream, empty while it is off."""
        return "" if self._fanout is None else self._fanout.address

    def switch(self, on: bool) -> None:
        """Open the stream or close it. Raises DuocapError: the address is taken or not allowed."""
        if on and self._fanout is None:
            self._fanout = self.open()
            self._fanout.publish(self.skeleton)
        elif not on and self._fanout is not None:
            self._fanout.close()
            self._fanout = None

    def publish(self, pose: StoredPose, certainty: float, t_ns: int) -> None:
        """Publish a pose if it is time; serve clients that join.

        Args:
            pose: the pose.
            certainty: certainty of the pose.
            t_ns: time now [ns].
        """
        if self._fanout is None:
            return
        if t_ns >= self._due_ns:
            self._due_ns = t_ns + PERIOD_NS
            message = compose_posed_pose(pose, self.skeleton, certainty, self._seq, t_ns)
            self._fanout.publish(replace(message, t_publish_ns=t_ns))
            self._seq += 1
        self._fanout.serve(t_ns)
