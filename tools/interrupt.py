"""Ends that come from outside: Ctrl-C, and SIGTERM, which ends a command as Ctrl-C does.

A KeyboardInterrupt that is raised while a library's compiled code runs, such as ZeroMQ's, may be printed there and lost. So that
it was asked for is remembered, and loops look.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_asked = threading.Event()
_n_open = 0  # blocks that are open, one within another


@contextlib.contextmanager
def raise_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block by a KeyboardInterrupt, so that processes started within are ended in order.

    A signal that is ignored, as Ctrl-C is by a job in the background, stays so. In a block within another, such as a guided
    calibration on the start page, it ends both, also where the inner one takes the exception as its own end.
    """
    global _n_open
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        _asked.set()
        raise KeyboardInterrupt

    if not _n_open:
        _asked.clear()
    _n_open += 1
    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _n_open -= 1
        if not _n_open:
            _asked.clear()


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt where one was asked for in a `raise_on_interrupt` block; loops in it call this at every turn."""
    if _asked.is_set():
        raise KeyboardInterrupt
