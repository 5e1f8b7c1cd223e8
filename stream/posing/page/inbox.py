"""What comes from the page: actions in their order, and of each drag only the newest place."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from stream.posing.document import Point


@dataclass(frozen=True, slots=True)
class DragPlace:
    """A joint that was dragged.

    Attributes:
        joint: name of the joint, or `START`.
        place_m: its new place in the world [m]; where `turned` its orientation, a rotation vector in the world [rad]; of `START`
            the point of the latent plane's square, the last number 0.
        ended: whether it was let go there.
        page: number of the browser.
        time_s: of the motion, where its curve is dragged [s]; None: the pose that is shown.
    """

    joint: str
    place_m: Point
    ended: bool
    page: int
    turned: bool = False
    time_s: float | None = None


Action = Callable[[], None]


class PosingInbox:
    """Put in from any thread, taken out in order by the app's; newer places of a drag replace those nobody has taken out yet."""

    def __init__(self) -> None:
        self._waiting: list[Action | DragPlace] = []
        self._lock, self._wake = threading.Lock(), threading.Event()

    def put(self, action: Action) -> None:
        """Have an action run soon."""
        with self._lock:
            self._waiting.append(action)
        self._wake.set()

    def drag(self, place: DragPlace) -> None:
        """Note where a joint is dragged to."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            same = (place.joint, place.page, place.turned, False)
            if isinstance(last, DragPlace) and (last.joint, last.page, last.turned, last.ended) == same:
                self._waiting.pop()
            self._waiting.append(place)
        self._wake.set()

    def wait(self, timeout_s: float) -> None:
        """Return when something is there, or the time is over."""
        self._wake.wait(timeout_s)
        self._wake.clear()

    def take(self) -> list[Action | DragPlace]:
        """Return the waiting actions."""
        with self._lock:
            found, self._waiting = self._waiting, []
        return found
