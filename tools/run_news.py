"""What the user and the stream are told of a run's processes: news in words, and how its cameras are."""

from collections import deque
from collections.abc import Callable, Iterable

from capture.clock import now_ns
from capture.control import Order
from tools.child import Child
from tools.switchboard import Switchboard

MAX_UNSAID = 16
REJOIN_NS = 1_000_000_000  # subscribers need a moment to find a reconstruction that was started again


class RunNews:
    """News of one run. reconstruction: the process that puts them on the stream, None where there is none; tell: the user."""

    def __init__(self, board: Switchboard, reconstruction: Child | None, tell: Callable[[str], None]) -> None:
        self._board, self._reconstruction, self._tell = board, reconstruction, tell
        self._unsaid: deque[str] = deque(maxlen=MAX_UNSAID)

    def announce(self, text: str) -> None:
        """Tell the user and the stream, where there is one."""
        self._tell(text)
        if self._reconstruction is not None:
            self._unsaid.append(text)
            self.say_unsaid()

    def say_unsaid(self) -> None:
        """Put news on the stream, once a reconstruction that was started again has its subscribers back."""
        child = self._reconstruction
        if child is None:
            return
        back = child.restarts.n == 0 or (child.ready and now_ns() - child.ready_ns > REJOIN_NS)
        while back and self._unsaid:
            self._board.send(child, Order("event", text=self._unsaid.popleft()))

    def describe(self, cameras: Iterable[Child]) -> None:
        """Let the stream's status say what is known of the cameras here: previews, and nodes with their clocks."""
        if self._reconstruction is None:
            return
        for camera in cameras:
            if details := camera.described:
                self._board.send(self._reconstruction, Order("camera", text=camera.name, details=details))
