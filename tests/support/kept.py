"""What a test opens is closed when it ends, however it ends: a failing test must not leave sockets to the next ones."""

import subprocess
from contextlib import ExitStack, closing
from typing import Protocol, TypeVar


class Closes(Protocol):
    """Whatever can be closed."""

    def close(self) -> object: ...


T = TypeVar("T", bound=Closes)


class Kept(ExitStack):
    """Closes what it was given, the last first; the fixture `kept` in conftest.py."""

    def __call__(self, thing: T) -> T:
        """Keep a thing for closing, and give it back."""
        return self.enter_context(closing(thing))

    def process(self, process: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
        """Keep a process, which is killed at the end if it still runs, and its pipes closed."""
        self.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[str]") -> None:
    """Leave nothing of a process behind."""
    with process:
        if process.poll() is None:
            process.kill()
