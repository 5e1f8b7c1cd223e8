"""Where messages leave a run: the publisher first, then every output; a failing output is dropped and told of.

Recordings are one of the outputs, on as soon as somebody asks for one: `record` here, or a request to the service socket.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from capture.clock import now_ns
from capture.control import TUNING, Ask
from capture.endpoints import key_settings
from config.errors import DuocapError
from config.settings import StreamSettings
from stream.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.outputs import Output, Reporting
from stream.publisher import Publisher
from stream.recording_names import recordings_folder
from stream.recording_switch import RecordingSwitch
from stream.report import versions
from stream.service import Service
from stream.tuning import TuningBook

log = logging.getLogger(__name__)


class Outlet:
    """Hand each message to the publisher and then to the outputs; used from one thread, owns all it is given."""

    def __init__(self, publisher: Publisher, session: str, outputs: Sequence[Output] = ()) -> None:
        self._publisher, self._session = publisher, session
        self._switch = RecordingSwitch(session)
        self._outputs: list[Output] = [self._switch, *outputs]
        self._service: Service | None = None
        self._subject = ""
        self._tuning: TuningBook | None = None

    @property
    def address(self) -> str:
        """Where the stream is."""
        return self._publisher.address

    def open_service(self, settings: StreamSettings, tuning: TuningBook | None = None) -> None:
        """Answer requests at `settings.service`; where that cannot be the run goes on without, and the log says so.

        tuning: of the run's cameras, None where what is streamed has none.
        """
        if not settings.service:
            return
        self._tuning = tuning
        try:
            folder = recordings_folder(settings.recordings)
            self._service = Service(settings.service, self._switch, folder, self._info, key_settings(settings), tuning)
        except DuocapError as error:
            log.warning("nothing can be recorded from the viewer or by clients: %s", error)

    def asks(self) -> list[Ask]:
        """Give what the service was asked for that other processes have to do, once."""
        return [] if self._tuning is None else self._tuning.asks()

    def record(self, file: Path) -> None:
        """Record from now on to a new file. Raises RecordingError."""
        self._switch.start(file)

    def publish(self, message: Message) -> None:
        """Publish a message, then give it to every output; a status also tells of service and recording."""
        if isinstance(message, SkeletonMessage):
            self._subject = message.subject
        if isinstance(message, StatusMessage):
            message = self._completed(message)
        payload = self._publisher.publish(message)
        t_ns = time_of(message)
        self._each(lambda output: output.take(message, payload, t_ns))

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Publish news in words."""
        self.publish(EventMessage(self._session, t_ns, kind, text))

    def serve(self, t_ns: int) -> None:
        """Attend to whoever joins, and let the outputs do what they have to do now and then."""
        self._publisher.serve(t_ns)
        self._each(lambda output: output.serve(t_ns))
        self._tell(t_ns, self._outputs)

    def close(self) -> None:
        """Complete a recording and let the last messages leave."""
        if self._service is not None:
            self._service.close()
        self._each(lambda output: output.close())
        closed, self._outputs = self._outputs, []
        self._tell(now_ns(), closed)
        self._publisher.close()

    def _completed(self, status: StatusMessage) -> StatusMessage:
        """Add to a status what only the outlet knows."""
        self._learn(status)
        file = self._switch.file
        address, n_malformed = ("", 0) if self._service is None else (self._service.address, self._service.n_malformed)
        drops = {**status.drops, "requests": self._publisher.n_malformed + n_malformed}
        return replace(status, drops=drops, service=address, recording=str(file or ""))

    def _learn(self, status: StatusMessage) -> None:
        """Let the book of requests know what the cameras tell to be in force."""
        for name, told in status.cameras.items():
            if self._tuning is not None and isinstance(tuning := told.get(TUNING), dict):
                self._tuning.told(name, tuning)

    def _info(self) -> dict[str, str]:
        """Say what runs here."""
        return {
            "session": self._session,
            "subject": self._subject,
            "version": versions()["duocap"],
            "stream": self._publisher.address,
            "recording": str(self._switch.file or ""),
        }

    def _tell(self, t_ns: int, outputs: Sequence[Output]) -> None:
        """Publish what outputs have to say."""
        for output in tuple(outputs):
            if isinstance(output, Reporting):
                for kind, text in output.news():
                    self.event(t_ns, kind, text)

    def _each(self, work: Callable[[Output], None]) -> None:
        """Do something with every output; drop those that fail, and say so when all have had their turn."""
        dropped = []
        for output in tuple(self._outputs):
            try:
                work(output)
            except Exception as error:  # whatever it is, the poses go on
                log.warning("an output failed and is dropped: %s: %s", type(output).__name__, error)
                log.debug("the fault", exc_info=True)
                self._outputs.remove(output)
                with contextlib.suppress(Exception):
                    output.close()
                dropped.append(f"{type(output).__name__} failed and is dropped: {error or type(error).__name__}")
        for text in dropped:
            self.event(now_ns(), "output", text)


def time_of(message: Message) -> int:
    """Give when a message was published [ns]: as it says itself, now for those that do not say."""
    if isinstance(message, PoseMessage):
        return message.t_publish_ns
    if isinstance(message, SkeletonMessage | RigMessage):
        return now_ns()
    return message.t_ns
