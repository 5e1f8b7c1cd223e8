"""Whether the poses of a replay are the very ones that were published live."""

from dataclasses import dataclass, field

from calibration.camera import Rig
from capture.process.control import RequestedOrder
from reconstruct.finish.prediction import Predictor
from reconstruct.pose import Pose
from reconstruct.process.sink import RunStatus
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage
from stream.recording.recording import Recording
from tools.replay.opening import OpenedSession
from tools.replay.replay import PoseSink


@dataclass
class VerifyResult:
    """How many of the poses that were published came out the same, to the bit. first: the first other one, None where none is."""

    n_recorded: int = 0
    n_same: int = 0
    first: int | None = None
    gaps: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether all are the same; of none nothing can be said."""
        return 0 < self.n_recorded == self.n_same and not self.gaps

    def lines(self) -> list[str]:
        """Return how many poses are the same, in words."""
        words = [f"{self.n_same} of {self.n_recorded} poses bit-identical"]
        if self.first is not None:
            words.append(f"the first other one is pose {self.first}")
        return words + self.gaps


class VerifyingSink:
    """The sink of a replay: composes messages as live, compares them with what was recorded, and hands poses on."""

    def __init__(self, session: OpenedSession, recorded: Recording | None, sink: PoseSink | None, verdict: VerifyResult) -> None:
        self._skeleton = compose_skeleton_message(session.subject)
        self._predictor = Predictor(session.settings.stream.predict_ms * 1e-3, session.subject)
        self._poses = {} if recorded is None else {pose.seq: n for n, pose in enumerate(recorded.published)}
        self._recorded, self._sink, self._verdict, self._seq = recorded, sink, verdict, 0
        verdict.n_recorded += len(self._poses)

    def pose(self, pose: Pose) -> None:
        """Compare a pose with the one published live under its number."""
        predicted, ahead_ns = self._predictor.step(pose)
        n = self._poses.get(self._seq)
        if n is not None and self._recorded is not None:
            message = compose_pose_message(predicted, self._skeleton, "", self._seq, 0, ahead_ns)
            if is_same(message, self._recorded.published[n]):
                self._verdict.n_same += 1
            elif self._verdict.first is None:
                self._verdict.first = self._seq
        self._seq += 1
        if self._sink is not None:
            self._sink.pose(pose)

    def rig(self, rig: Rig) -> None:
        """Hand the rig on, in its new place."""
        self._predictor.forget()
        if self._sink is not None:
            self._sink.rig(rig)

    def status(self, status: RunStatus) -> None:
        """Say nothing."""

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Say nothing: the events are in the take.

        Args:
            t_ns: time of the event [ns].
            kind: kind of the event.
            text: description of the event.
        """

    def serve(self, t_ns: int) -> None:
        """Serve clients that join."""
        if self._sink is not None:
            self._sink.serve(t_ns)

    def asks(self) -> list[RequestedOrder]:
        """RequestedOrder for nothing."""
        return []

    def close(self) -> None:
        """Leave the real sink to who opened it."""


def is_same(one: PoseMessage, other: PoseMessage) -> bool:
    """Return whether two poses are the same to the bit, but for when they were published and how long that took."""
    arrays = ("rotations_xyzw", "joint_source", "confidence")
    if any(getattr(one, name).tobytes() != getattr(other, name).tobytes() for name in arrays):
        return False
    plain = ("hash", "seq", "t_capture_ns", "skew_ns", "state", "root_m", "contacts", "markers", "predicted_ns")
    return all(getattr(one, name) == getattr(other, name) for name in plain)
