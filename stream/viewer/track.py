"""One performance as the viewer knows it: skeleton, rig, poses, figures and notices, from the stream or from a recording."""

from collections import deque
from dataclasses import dataclass, field

from config.settings import CAMERA_NAMES
from stream.protocol.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.viewer.history import PoseHistory
from stream.viewer.meter import Meter
from stream.viewer.videos import SessionPictures

MAX_NOTICES = 200


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened, in words, at t_s of the history [s]."""

    t_s: float
    text: str


@dataclass(slots=True)
class ViewerTrack:
    """Everything that is known of one session.

    Attributes:
        title: name of the session in the viewer.
        session: session of its poses.
        videos: pictures of its cameras by time, of a recorded session.
    """

    title: str
    history: PoseHistory
    session: str = ""
    videos: SessionPictures | None = None
    skeleton: SkeletonMessage | None = None
    rig: RigMessage | None = None
    status: StatusMessage | None = None
    meter: Meter = field(default_factory=Meter)
    notices: deque[Notice] = field(default_factory=lambda: deque(maxlen=MAX_NOTICES))

    @property
    def camera_names(self) -> tuple[str, ...]:
        """The cameras in the order of the rig; those of the status while no rig is known."""
        if self.rig is not None:
            return CAMERA_NAMES[: len(self.rig.cameras)]
        told = () if self.status is None else self.status.cameras
        return tuple(name for name in CAMERA_NAMES if name in told)

    def add(self, message: Message, t_ns: int, t_received_ns: int | None = None) -> None:
        """Add a message of time t_ns.

        Args:
            message: message of the stream or a recording.
            t_ns: time of the message [ns].
            t_received_ns: time of receipt on the publisher's clock, None if unknown.
        """
        if isinstance(message, PoseMessage):
            self.session = message.session
            t_s = self.history.add(message, t_ns)
            self.meter.add_pose(message, t_received_ns, t_s, self.history.n_missed)
        elif isinstance(message, SkeletonMessage):
            self.skeleton = message
        elif isinstance(message, RigMessage):
            self.rig = message
        elif isinstance(message, StatusMessage):
            self.status = message
            self.meter.add_status(message)
        elif isinstance(message, EventMessage):
            self.notices.append(Notice(self.history.seconds(t_ns), message.text))

    def pose_at(self, t_s: float) -> PoseMessage | None:
        """Return the pose at a time; None where there is none or its skeleton is not known."""
        pose = self.history.pose_at(t_s)
        return None if pose is None or self.skeleton is None or pose.hash != self.skeleton.hash else pose
