"""Where messages leave a run: the publisher first, then every output; a failing output is dropped and told of."""

import contextlib
import logging
from collections.abc import Callable, Sequence

from capture.clock import now_ns
from stream.messages import EventMessage, Message, PoseMessage, RigMessage, SkeletonMessage
from stream.outputs import Output
from stream.publisher import Publisher

log = logging.getLogger(__name__)


class Outlet:
    """Hand each message to the publisher and then to the outputs; used from one thread, owns all it is given."""

    def __init__(self, publisher: Publisher, session: str, outputs: Sequence[Output] = ()) -> None:
        self._publisher, self._session = publisher, session
        self._outputs = list(outputs)

    @property
    def address(self) -> str:
        """Where the stream is."""
        return self._publisher.address

    def publish(self, message: Message) -> None:
        """Publish a message, then give it to every output."""
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

    def close(self) -> None:
        """Let the last messages leave."""
        self._each(lambda output: output.close())
        self._publisher.close()

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
