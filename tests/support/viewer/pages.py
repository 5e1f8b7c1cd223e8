"""Pages of the tests that go on by themselves: an app is turned in a thread, as a program turns it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from tests.support.waiting import wait_until


class Turns(Protocol):
    """An app of a page."""

    def update(self) -> None: ...

    def close(self) -> None: ...


App = TypeVar("App", bound=Turns)


def updated(app: Turns, condition: Callable[[], bool]) -> None:
    """Turn an app until a condition holds."""
    wait_until(lambda: app.update() or condition(), pause_s=0.0)


@contextmanager
def turned(app: App) -> Iterator[App]:
    """Turn an app while the block runs, and close it."""
    ending = threading.Event()

    def turn() -> None:
        while not ending.is_set():
            app.update()

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    try:
        yield app
    finally:
        ending.set()
        thread.join()
        app.close()
