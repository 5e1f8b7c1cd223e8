"""What hears every published message beside the subscribers: recordings, VMC and whatever else is plugged in.

The sink may be made in a spawned process, so that what travels there are factories: a `functools.partial` of the output's class.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from stream.messages import Message


class Output(Protocol):
    """One way out beside the stream's socket; called from one thread, and never allowed to wait.

    Whatever it raises has it dropped, with an event on the stream: an output never ends a run.
    """

    def take(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Take one message with its bytes as published and the time of publishing [ns]."""

    def serve(self, t_ns: int) -> None:
        """Do what has to be done now and then, at least every second; t_ns: now."""

    def close(self) -> None:
        """Let the last of it leave."""


@runtime_checkable
class Reporting(Protocol):
    """An output that has something to say now and then."""

    def news(self) -> list[tuple[str, str]]:
        """Give what happened since the last time, as kind and words of events; asked after every `serve` and `close`."""


OutputFactory = Callable[[], Output]


def open_outputs(factories: Sequence[OutputFactory]) -> tuple[Output, ...]:
    """Make the outputs of a run; if one cannot be made those before it are closed. Raises what the factory raises."""
    made: list[Output] = []
    try:
        for factory in factories:
            made.append(factory())
    except BaseException:
        for output in made:
            output.close()
        raise
    return tuple(made)
