"""The reconstruction's sink: poses, status and events become messages and are published."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.clock import now_ns
from capture.process.control import TUNING, Details, RequestedOrder
from capture.sockets.endpoints import KeySettings
from reconstruct.finish.prediction import Predictor
from reconstruct.pose import Pose
from reconstruct.process.journal import Journal, NoJournal
from reconstruct.process.sink import RunStatus
from stream.protocol.compose import compose_pose_message, compose_rig_message, compose_skeleton_message
from stream.protocol.messages import StatusMessage
from stream.publish.fanout import Output, OutputFanout
from stream.publish.publisher import Publisher


class StreamSink:
    """Publish one run.

    Args:
        session: name of the run in every message.
        predict_ms: publish poses predicted by this time after their capture.
        outputs: get every message as well, and are closed with the sink.
        keys: keys for an address that other machines reach.
    Raises: StreamError if the address is taken, EndpointError if keys are missing.
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
        self.fanout = OutputFanout(Publisher(address, keys=keys), session, outputs)
        self.journal: Journal = NoJournal()  # of what the poses are computed from, if it is recorded
        self.clock: Callable[[], int] = now_ns  # of the times of publishing
        self._session, self._seq = session, 0
        self._skeleton = compose_skeleton_message(subject)
        self._predictor = Predictor(predict_ms * 1e-3, subject)
        self._calibration = {"baseline_m": rig.baseline_m, "floor_known": 1.0}
        if not math.isnan(rig.error_px):
            self._calibration["reprojection_px"] = rig.error_px
        self.fanout.publish(self._skeleton)
        self.rig(rig)

    @property
    def address(self) -> str:
        """Address of the stream."""
        return self.fanout.address

    def pose(self, pose: Pose) -> None:
        """Publish a pose, predicted if wanted; its `publish` latency is the time of prediction and composition."""
        t_begin_ns = self.clock()
        pose, predicted_ns = self._predictor.step(pose)
        message = compose_pose_message(pose, self._skeleton, self._session, self._seq, t_begin_ns, predicted_ns)
        t_publish_ns = self.clock()
        latency_ns = {**message.latency_ns, "publish": t_publish_ns - t_begin_ns}
        self.fanout.publish(replace(message, t_publish_ns=t_publish_ns, latency_ns=latency_ns))
        self._seq += 1

    def rig(self, rig: Rig) -> None:
        """Publish the rig where it stands in the world from the next pose on."""
        self._predictor.forget()
        self.fanout.publish(compose_rig_message(rig, self._session))

    def status(self, status: RunStatus) -> None:
        """Publish the state of the run."""
        self.fanout.publish(
            StatusMessage(
                session=self._session,
                t_ns=status.t_ns,
                state=str(status.state),
                rates_hz=status.rates_hz,
                drops=status.drops,
                skew_ns=status.skew_ns,
                calibration={**self._calibration, **status.calibration},
                cameras={name: nest_tuning(details) for name, details in status.cameras.items()},
                resting=status.resting,
                lag_ns=status.lag_ns,
            )
        )

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Publish an event.

        Args:
            t_ns: time of the event [ns].
            kind: kind of the event.
            text: description of the event.
        """
        self.fanout.event(t_ns, kind, text)

    def serve(self, t_ns: int) -> None:
        """Do the periodic work of the stream; t_ns: now."""
        self.fanout.serve(t_ns)

    def asks(self) -> list[RequestedOrder]:
        """Return what other processes are to do by requests to the service, once."""
        return self.fanout.asks()

    def close(self) -> None:
        """Close the stream and its outputs."""
        self.fanout.close()


def nest_tuning(details: Details) -> dict[str, Any]:
    """Return the details of a camera, with its settings in force as a nested map, `tuning`."""
    prefix = f"{TUNING}."
    tuning = {key.removeprefix(prefix): value for key, value in details.items() if key.startswith(prefix)}
    others: dict[str, Any] = {key: value for key, value in details.items() if not key.startswith(prefix)}
    return {**others, TUNING: tuning} if tuning else others
