"""The reconstruction's way out to the stream: poses, status and events become messages and are published."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calibration.camera import Rig
from calibration.subject import Subject
from capture.clock import now_ns
from capture.control import TUNING, Ask, Details
from capture.endpoints import KeySettings
from reconstruct.journal import Journal, NoJournal
from reconstruct.pose import Pose
from reconstruct.prediction import Predictor
from reconstruct.sink import RunStatus
from stream.compose import pose_message, rig_message, skeleton_message
from stream.messages import StatusMessage
from stream.outlet import Outlet
from stream.outputs import Output
from stream.publisher import Publisher


class StreamSink:
    """Publish one run.

    session: names the run in every message; predict_ms: publish poses as they will be so long after they were taken;
    outputs: hear every message as well, and are closed with the sink; keys: for an address that other machines reach. Raises
    StreamError when the address is taken, EndpointError where keys are missing.
    """

    def __init__(
        self,
        address: str,
        session: str,
        subject: Subject,
        rig: Rig,
        predict_ms: float = 0.0,
        outputs: Sequence[Output] = (),
        keys: KeySettings | None = None,
    ) -> None:
        self.outlet = Outlet(Publisher(address, keys=keys), session, outputs)
        self.journal: Journal = NoJournal()  # where what the poses are made from is written down, if it is
        self._session, self._seq = session, 0
        self._skeleton = skeleton_message(subject)
        self._predictor = Predictor(predict_ms * 1e-3, subject)
        self._calibration = {"baseline_m": rig.baseline_m, "floor_known": float(rig.floor_known)}
        if rig.error_px == rig.error_px:  # not NaN: known
            self._calibration["reprojection_px"] = rig.error_px
        self.outlet.publish(self._skeleton)
        self.outlet.publish(rig_message(rig, session, subject.up))

    @property
    def address(self) -> str:
        """Where the stream is."""
        return self.outlet.address

    def pose(self, pose: Pose) -> None:
        """Publish a pose, predicted if so wanted; its `publish` latency is what that and composing the message takes."""
        t_begin_ns = now_ns()
        pose, predicted_ns = self._predictor.step(pose)
        message = pose_message(pose, self._skeleton, self._session, self._seq, t_begin_ns, predicted_ns)
        t_publish_ns = now_ns()
        latency_ns = {**message.latency_ns, "publish": t_publish_ns - t_begin_ns}
        self.outlet.publish(replace(message, t_publish_ns=t_publish_ns, latency_ns=latency_ns))
        self._seq += 1

    def status(self, status: RunStatus) -> None:
        """Publish the state of the run."""
        self.outlet.publish(
            StatusMessage(
                session=self._session,
                t_ns=status.t_ns,
                state=str(status.state),
                rates_hz=status.rates_hz,
                drops=status.drops,
                skew_ns=status.skew_ns,
                calibration={**self._calibration, **status.calibration},
                cameras={name: told(details) for name, details in status.cameras.items()},
            )
        )

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Publish news in words."""
        self.outlet.event(t_ns, kind, text)

    def serve(self, t_ns: int) -> None:
        """Send the skeleton to whoever joined."""
        self.outlet.serve(t_ns)

    def asks(self) -> list[Ask]:
        """Give what the service was asked for that other processes have to do."""
        return self.outlet.asks()

    def close(self) -> None:
        """Let the last messages leave."""
        self.outlet.close()


def told(details: Details) -> dict[str, Any]:
    """Give what is known of a camera with its settings in force as a map of their own, `tuning`."""
    begin = f"{TUNING}."
    tuning = {key.removeprefix(begin): value for key, value in details.items() if key.startswith(begin)}
    others: dict[str, Any] = {key: value for key, value in details.items() if not key.startswith(begin)}
    return {**others, TUNING: tuning} if tuning else others
