"""What passes between the app and its panels: a snapshot of the app several times a second, and actions back to it."""

import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import viser

from stream.viewer.player import Playhead, TimeSpan
from stream.viewer.track import ViewerTrack


@dataclass(frozen=True, slots=True)
class AppSnapshot:
    """The app at one time.

    Attributes:
        live: a stream, not recordings.
        silent: no pose has come for a while.
        waiting: whether no message has come yet.
        address: address of the stream.
        budget_ms: budget of the latency [ms].
        dark: whether the page is dark.
        folder: where a recording is written, "" if unknown.
        recording: the file that is being recorded, "" if none.
        take: folder of the session that the whole run is recorded to, "" if it is not.
    """

    tracks: Sequence[ViewerTrack]
    span: TimeSpan
    player: Playhead
    live: bool
    silent: bool
    waiting: bool
    address: str
    budget_ms: float
    dark: bool = True
    folder: str = ""
    recording: str = ""
    take: str = ""

    @property
    def cursor_s(self) -> float:
        """Time that is shown [s]."""
        return self.player.cursor_s


class Panel(Protocol):
    """One block of controls or figures in a tab of the page. period_s: how often `update` is wanted [s]."""

    period_s: float

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets, once, in the container that is open."""

    def update(self, view: AppSnapshot) -> None:
        """Update the widgets to the app's state; only changes are sent."""


class PageActions:
    """Actions of the page: put in from any thread, run in the app's."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def put(self, action: Callable[[], None]) -> None:
        """Have an action run soon."""
        self._queue.put(action)

    def run(self) -> None:
        """Run the actions that wait."""
        while not self._queue.empty():
            self._queue.get()()
