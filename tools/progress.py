"""One look for the progress of long work, on standard error."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TextIO

import typer

SILENT_S = 5.0  # after which a stream that nobody publishes is told
QUIET_S = 10.0  # between two lines of a status where they are kept, as in a file
CLEAR = "\r\x1b[K"  # back to the line's beginning, and away with what stands there
Tell = Callable[[str], None]  # a line for the user
Progress = Callable[[int, int | None], None]  # how much is done, of how much where that is known


class ProgressState(Protocol):
    """A function that receives how much is done, of how much where that is known, and words that stand behind the bar."""

    def __call__(self, done: int, total: int | None, words: str = "", /) -> None: ...


def print_note(words: str) -> None:
    """Print a line beside what a command prints as its result, on standard error."""
    typer.echo(words, err=True)


_TELL: ContextVar[Tell] = ContextVar("tell", default=print_note)


@contextmanager
def tell_progress_to(tell: Tell) -> Iterator[None]:
    """Have what says how much is done now and then, in this thread, say it to another function than standard error."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


def print_warnings(warnings: Iterable[str]) -> None:
    """Print warnings of a job, a line each."""
    for words in warnings:
        print_note(f"duocap: warning: {words}")


def ignore_progress(done: int, total: int | None, words: str = "", /) -> None:
    """Show nothing."""


def print_now_and_then(description: str) -> ProgressState:
    """Return a function that says how much is done, on standard error, when QUIET_S have passed since it was made or last did."""
    told_s, tell = time.monotonic(), _TELL.get()

    def show(done: int, total: int | None, words: str = "", /) -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= QUIET_S:
            told_s = time.monotonic()
            tell(f"{description}: {done}{'' if total is None else f' of {total}'}{words and f', {words}'}")

    return show


@contextmanager
def open_progress_bar(description: str) -> Iterator[ProgressState]:
    """Return a function that receives how much is done, and of how much where that is known; outside of a terminal, lines."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        yield print_now_and_then(description)
        return
    words_column = TextColumn("{task.fields[words]}")
    with Progress(*columns, words_column, console=console, transient=True) as bars:
        task = bars.add_task(description, total=None, words="")

        def show(done: int, total: int | None, words: str = "", /) -> None:
            bars.update(task, completed=done, total=total, words=words)

        yield show


class StreamWatch:
    """Say once that nothing comes on a stream that is waited for, and once that it has come.

    Args:
        address: of the stream.
        tell: receives the lines.
        now_s: time at which the waiting begins.
    """

    def __init__(self, address: str, tell: Tell, now_s: float) -> None:
        self._address, self._tell, self._begun_s = address, tell, now_s
        self._told = self._heard = False

    def look(self, heard: bool, now_s: float) -> None:
        """Look at the stream again.

        Args:
            heard: whether a message has come.
            now_s: the time now.
        """
        if self._heard or not (heard or self._told or now_s - self._begun_s >= SILENT_S):
            return
        if heard:
            self._heard = True
            if self._told:
                self._tell(f"the stream at {self._address} has come")
        elif not self._told:
            self._told = True
            self._tell(
                f"nothing comes at {self._address} yet: does `duocap demo`, `run`, `replay` or `play` publish there? "
                "--set stream.address=... names another address; between machines see `duocap keys list`"
            )


class StatusLine:
    """How something that goes on is, in one line: rewritten in a terminal, elsewhere a line every QUIET_S. stream: written to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self._shown, self._told_s = "", -QUIET_S

    def show(self, words: str) -> None:
        """Show how it is now."""
        if self._is_terminal:
            self._shown = words[: max(shutil.get_terminal_size().columns - 1, 1)]
            self._stream.write(CLEAR + self._shown)
            self._stream.flush()
        elif time.monotonic() - self._told_s >= QUIET_S:
            self._told_s = time.monotonic()
            print(words, file=self._stream, flush=True)

    def tell(self, words: str) -> None:
        """Say news, which stay, above the line."""
        print(f"{CLEAR if self._shown else ''}{words}", file=self._stream, flush=True)
        if self._shown:
            self._stream.write(self._shown)
            self._stream.flush()

    def close(self) -> None:
        """End the line."""
        if self._shown:
            print(file=self._stream, flush=True)
            self._shown = ""


@contextmanager
def open_status_line() -> Iterator[StatusLine]:
    """Yield a status line on standard error."""
    line = StatusLine(sys.stderr)
    try:
        yield line
    finally:
        line.close()
