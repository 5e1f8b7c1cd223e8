"""Undo and redo of anything immutable."""

from typing import Generic, TypeVar

T = TypeVar("T")
MAX_STEPS = 500


class History(Generic[T]):
    """States in the order they were made. state: the one that is shown."""

    def __init__(self, state: T) -> None:
        self.state = state
        self._before: list[T] = []
        self._after: list[T] = []

    @property
    def can_undo(self) -> bool:
        """Whether there is a state before."""
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        """Whether a state was undone and nothing has been done since."""
        return bool(self._after)

    def push(self, state: T) -> None:
        """Add a new state; states that were undone are dropped, and the oldest of many."""
        self._before = [*self._before[-(MAX_STEPS - 1) :], self.state]
        self._after.clear()
        self.state = state

    def undo(self) -> bool:
        """Go back by one state; return whether there was one."""
        if not self._before:
            return False
        self._after.append(self.state)
        self.state = self._before.pop()
        return True

    def redo(self) -> bool:
        """Go forward again; return whether there was a state."""
        if not self._after:
            return False
        self._before.append(self.state)
        self.state = self._after.pop()
        return True
