"""One look for the progress of long work, on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class ProgressState(Protocol):
    """A function that receives how much is done, of how much where that is known, and words that stand behind the bar."""

    def __call__(self, done: int, total: int | None, words: str = "", /) -> None: ...


def ignore_progress(done: int, total: int | None, words: str = "", /) -> None:
    """Show nothing."""


@contextmanager
def open_progress_bar(description: str) -> Iterator[ProgressState]:
    """Return a function that receives how much is done, and of how much where that is known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    words_column = TextColumn("{task.fields[words]}")
    with Progress(*columns, words_column, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(description, total=None, words="")

        def show(done: int, total: int | None, words: str = "", /) -> None:
            bars.update(task, completed=done, total=total, words=words)

        yield show
