"""Where the messages of a run go: to the publisher first, then to every output; an output that fails is dropped and reported.

Recordings are one of the outputs; they start when `record` or a request to the service asks for one. The sink may be created in a
spawned process, so other outputs are passed as factories: a `functools.partial` of the output's class.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from capture.clock import now_ns
from capture.process.control import TUNING, RequestedOrder
from capture.sockets.endpoints import find_key_settings
from config.errors import DuocapError
from config.settings import StreamSettings
from stream.protocol.messages import (
    EventKind,
    EventMessage,
    Message,
    OutputEvent,
    SkeletonMessage,
    StatusMessage,
    find_publish_time_ns,
)
from stream.protocol.report import list_versions
from stream.publish.publisher import Publisher
from stream.publish.service import Service
from stream.publish.tuning import TuningState
from stream.recording.folders import find_recordings_folder
from stream.recording.outputs import RecordingSwitch, SessionTake

log = logging.getLogger(__name__)


class Output(Protocol):
    """One output beside the stream's socket; called from one thread, and never allowed to wait.

    An output that raises anything is dropped, with an event on the stream; it never ends a run.
    """

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Handle one message with its bytes as published and the time of publishing [ns].

        Args:
            message: the message.
            payload: the message as published.
            t_ns: time of publishing [ns].
        """

    def serve(self, t_ns: int) -> None:
        """Do periodic work, at least every second; t_ns: now."""

    def close(self) -> None:
        """Finish and close."""


@runtime_checkable
class Reporting(Protocol):
    """An output that reports events."""

    def events(self) -> list[OutputEvent]:
        """Return the events since the last call; called after every `serve` and `close`."""


OutputFactory = Callable[[], Output]


def open_outputs(factories: Sequence[OutputFactory]) -> tuple[Output, ...]:
    """Create the outputs of a run; if one cannot be created, those before it are closed and its exception is passed on."""
    opened: list[Output] = []
    try:
        for factory in factories:
            opened.append(factory())
    except BaseException:
        for output in opened:
            output.close()
        raise
    return tuple(opened)


class OutputFanout:
    """Pass each message to the publisher and then to the outputs; used from one thread, owns all it is given."""

    def __init__(self, publisher: Publisher, session: str, outputs: Sequence[Output] = ()) -> None:
        self._publisher, self._session = publisher, session
        self._switch = RecordingSwitch(session)
        self._outputs: list[Output] = [self._switch, *outputs]
        self._reporting = [output for output in self._outputs if isinstance(output, Reporting)]
        self._service: Service | None = None
        self._subject = ""
        self._tuning: TuningState | None = None

    @property
    def address(self) -> str:
        """Address of the stream."""
        return self._publisher.address

    @property
    def service_address(self) -> str:
        """Address of the service, empty without one."""
        return "" if self._service is None else self._service.address

    def open_service(self, settings: StreamSettings, tuning: TuningState | None = None) -> None:
        """Answer requests at `settings.service`; if it cannot be opened, a warning is logged and the run goes on without.

        tuning: tuning state of the run's cameras, None without cameras.
        """
        if not settings.service:
            return
        self._tuning = tuning
        try:
            folder = find_recordings_folder(settings.recordings)
            self._service = Service(settings.service, self._switch, folder, self._info, find_key_settings(settings), tuning)
        except DuocapError as error:
            log.warning("nothing can be recorded from the viewer or by clients: %s", error)

    def asks(self) -> list[RequestedOrder]:
        """Return the orders for other processes from requests to the service, once."""
        return [] if self._tuning is None else self._tuning.asks()

    def record(self, file: Path) -> None:
        """Record from now on to a new file. Raises RecordingError."""
        self._switch.start(file)

    def publish(self, message: Message) -> None:
        """Publish a message and pass it to every output; a status is completed with service and recording."""
        if isinstance(message, SkeletonMessage):
            self._subject = message.subject
        if isinstance(message, StatusMessage):
            message = self._completed(message)
        payload = self._publisher.publish(message)
        t_ns = find_publish_time_ns(message, now_ns())
        self._each(lambda output: output.write(message, payload, t_ns))

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Publish an event.

        Args:
            t_ns: time of the event [ns].
            kind: kind of the event.
            text: description of the event.
        """
        self.publish(EventMessage(self._session, t_ns, kind, text))

    def serve(self, t_ns: int) -> None:
        """Do the periodic work of publisher and outputs; t_ns: now."""
        self._publisher.serve(t_ns)
        self._each(lambda output: output.serve(t_ns))
        self._publish_events(t_ns)

    def close(self) -> None:
        """Close the service, then the outputs, then the publisher."""
        if self._service is not None:
            self._service.close()
        self._each(lambda output: output.close())
        self._outputs = []
        self._publish_events(now_ns())
        self._publisher.close()

    def _completed(self, status: StatusMessage) -> StatusMessage:
        """Return a status with service, recording and malformed requests; learn the settings in force from it."""
        for name in status.cameras:
            tuning = status.camera(name).get(TUNING)
            if self._tuning is not None and isinstance(tuning, dict):
                self._tuning.learn(name, tuning)
        n_malformed = self._publisher.n_malformed + (0 if self._service is None else self._service.n_malformed)
        drops = {**status.drops, "requests": n_malformed}
        return replace(status, drops=drops, service=self.service_address, recording=str(self._switch.file or ""))

    def _info(self) -> dict[str, str]:
        """Return the answer to an info request."""
        return {
            "session": self._session,
            "subject": self._subject,
            "version": list_versions()["duocap"],
            "stream": self._publisher.address,
            "recording": str(self._switch.file or ""),
            "take": next((str(output.folder) for output in self._outputs if isinstance(output, SessionTake)), ""),
        }

    def _publish_events(self, t_ns: int) -> None:
        """Publish the events of outputs."""
        for output in tuple(self._reporting):
            for event in output.events():
                self.event(t_ns, event.kind, event.text)

    def _each(self, work: Callable[[Output], None]) -> None:
        """Call a function with every output; drop those that fail, and report that afterwards."""
        dropped = []
        for output in tuple(self._outputs):
            try:
                work(output)
            except Exception as error:  # whatever it is, the poses go on
                log.warning("an output failed and is dropped: %s: %s", type(output).__name__, error)
                log.debug("the fault", exc_info=True)
                self._outputs.remove(output)
                self._reporting = [other for other in self._reporting if other is not output]
                with contextlib.suppress(Exception):
                    output.close()
                dropped.append(f"{type(output).__name__} failed and is dropped: {error or type(error).__name__}")
        for text in dropped:
            self.event(now_ns(), EventKind.OUTPUT, text)
