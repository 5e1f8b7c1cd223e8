"""Undo and redo of anything immutable."""

from typing import Generic, TypeVar

T = TypeVar("T")
MAX_STEPS = 500


class History(Generic[T]):
    """States in the order they were made. state: the one that is shown; before, after: what can be undone, and done again."""

    def __init__(self, state: T) -> None:
        self.state = state
        self.before: list[T] = []
        self.after: list[T] = []

    def push(self, state: T) -> None:
        """Add a new state; states that were undone are dropped, and the oldest of many."""
        self.before = [*self.before[-(MAX_STEPS - 1) :], self.state]
        self.after.clear()
        self.state = state

    def undo(self) -> bool:
        """Go back by one state; return whether there was one."""
        return self._move(self.before, self.after)

    def redo(self) -> bool:
        """Go forward again; return whether there was a state."""
        return self._move(self.after, self.before)

    def _move(self, source: list[T], target: list[T]) -> bool:
        """Show the last of some states in place of the present one, which becomes the last of others."""
        if source:
            target.append(self.state)
            self.state = source.pop()
            return True
        return False
