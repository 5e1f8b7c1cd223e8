"""What comes from the page: actions in their order, and of each drag only the newest place."""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from stream.posing.document import Point


@dataclass(frozen=True, slots=True)
class DragPlace:
    """A joint dragged to a place in the world [m]; ended: let go there; page: number of the browser."""

    joint: str
    place_m: Point
    ended: bool
    page: int


class PosingInbox:
    """Put in from any thread, taken out by the app's; a drag that is not taken out in time is replaced by its newer places."""

    def __init__(self) -> None:
        self._actions: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._drags: list[DragPlace] = []
        self._lock, self._wake = threading.Lock(), threading.Event()

    def put(self, action: Callable[[], None]) -> None:
        """Have an action run soon."""
        self._actions.put(action)
        self._wake.set()

    def drag(self, place: DragPlace) -> None:
        """Note where a joint is dragged to."""
        with self._lock:
            if self._drags and self._drags[-1].joint == place.joint and not self._drags[-1].ended:
                self._drags[-1] = place
            else:
                self._drags.append(place)
        self._wake.set()

    def wait(self, timeout_s: float) -> None:
        """Return when something is there, or the time is over."""
        self._wake.wait(timeout_s)
        self._wake.clear()

    def actions(self) -> list[Callable[[], None]]:
        """Return the actions that wait."""
        found = []
        while not self._actions.empty():
            found.append(self._actions.get())
        return found

    def drags(self) -> list[DragPlace]:
        """Return the drags that wait, the newest place of each."""
        with self._lock:
            found, self._drags = self._drags, []
        return found
