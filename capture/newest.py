"""Hands what one thread gets to another that wants the newest: little waits, and what is too old is dropped."""

import threading
import time
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")
AWAY_S = 5.0  # whoever takes nothing for so long is not slow, but does not want any now
WAITING = 3  # two may come at once over a network and are both of use; at three, whoever takes is too slow


class Newest(Generic[T]):
    """A short queue; its taker gets the oldest, or the newest alone when it has fallen behind.

    dropped: how many it never got, besides those it did not want.
    """

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self.closed = False
        self.dropped = self._dropped_before = 0
        self._t_taken_s = time.monotonic()

    def put(self, item: T) -> None:
        """Add an item; the oldest goes where too many wait."""
        with self._changed:
            if len(self._items) == WAITING:
                self._items.popleft()
                self.dropped += 1
            self._items.append(item)
            self._changed.notify()

    def fail(self, error: Exception) -> None:
        """Say that no more will come; `take` raises this once everything is taken."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def close(self) -> None:
        """End the waiting; nothing is given any more."""
        with self._changed:
            self.closed = True
            self._items.clear()
            self._changed.notify_all()

    def take(self, timeout_s: float) -> T | None:
        """Give the next item, waiting for it; None when closed. Raises TimeoutError, or what `fail` was told."""
        until_s = time.monotonic() + timeout_s
        with self._changed:
            if until_s - timeout_s - self._t_taken_s > AWAY_S:
                self.dropped = self._dropped_before
            while not self._items and not self.closed:
                if self._error is not None:
                    raise self._error
                left_s = until_s - time.monotonic()
                if left_s <= 0.0:
                    raise TimeoutError
                self._changed.wait(left_s)
            if len(self._items) == WAITING:
                self.dropped += WAITING - 1
                self._items = deque([self._items[-1]])
            self._t_taken_s, self._dropped_before = time.monotonic(), self.dropped
            return self._items.popleft() if self._items else None
