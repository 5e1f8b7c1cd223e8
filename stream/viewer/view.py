"""What the panels are shown and how they answer: a snapshot of the app a few times a second, and orders back to it."""

import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import viser

from stream.viewer.player import Player, Span
from stream.viewer.track import Track

Order = Callable[[], None]


@dataclass(frozen=True, slots=True)
class View:
    """The app at one moment.

    live: a stream, not recordings; silent: no pose has come for a while; waiting: none has ever come; address: of the stream;
    budget_ms: what the latency should keep to; recording: the file that is being recorded, "" if none.
    """

    tracks: Sequence[Track]
    span: Span
    player: Player
    live: bool
    silent: bool
    waiting: bool
    address: str
    budget_ms: float
    recording: str = ""

    @property
    def cursor_s(self) -> float:
        """What is shown [s]."""
        return self.player.cursor_s


class Panel(Protocol):
    """One block of controls or figures in a tab of the page. period_s: how often `update` is wanted."""

    period_s: float

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets, once, in the container that is open."""

    def update(self, view: View) -> None:
        """Bring the widgets to the app's state; only what changed is sent."""


class Orders:
    """Orders of the page, given in any thread, carried out in the app's own."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def give(self, order: Order) -> None:
        """Have an order carried out soon."""
        self._queue.put(order)

    def carry_out(self) -> None:
        """Carry out what was ordered."""
        while not self._queue.empty():
            self._queue.get()()


def set_html(handle: viser.GuiHtmlHandle, content: str) -> None:
    """Show other content, sending nothing if it is the same."""
    if handle.content != content:
        handle.content = content
