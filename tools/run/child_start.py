"""Starting processes of a run: with one thread for the numerical libraries, and ahead of time."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any

# Two cores must do: a pool of threads in each process would only have them fight.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class PreparedProcesses:
    """Processes that import the modules they will need while their plans are still being made.

    Use it as a context manager: those that nobody has taken end with the block.
    """

    def __init__(self, modules: Sequence[Sequence[str]]) -> None:
        """Start the processes; modules: what each imports, that of the function it is to call first."""
        self._lock = threading.Lock()
        self._waiting: list[tuple[SpawnProcess, Connection, str]] = []
        for names in modules:
            far, near = multiprocessing.get_context("spawn").Pipe(duplex=False)
            with far:
                self._waiting.append((start_process(_prepared_main, (far, tuple(names)), "duocap-prepared"), near, names[0]))

    def __enter__(self) -> "PreparedProcesses":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process, connection, _ in self._waiting:
            connection.close()
            process.terminate()

    def take(self, target: Callable[..., None], *arguments: Any) -> SpawnProcess | None:
        """Have a process that imports the target's module call it, and return it; None where there is none left."""
        with self._lock:
            fitting = [waiting for waiting in self._waiting if waiting[2] == target.__module__]
            if not fitting:
                return None
            self._waiting.remove(fitting[0])
        process, connection, _ = fitting[0]
        try:
            with connection:
                connection.send((target, arguments))
        except OSError:  # it has died
            return None
        return process


def _prepared_main(connection: Connection, modules: Sequence[str]) -> None:
    """Import modules, then wait for what is to be called; end where nobody wants anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in modules:
        import_module(module)
    try:
        with connection:
            target, arguments = connection.recv()
    except EOFError:
        return
    target(*arguments)


def start_process(target: Callable[..., None], arguments: tuple[Any, ...], name: str) -> SpawnProcess:
    """Start a process, whose numerical libraries have one thread.

    Args:
        target: a function of a module.
        arguments: arguments of the main function.
    """
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, name=name, daemon=True)
    with limit_threads():
        process.start()
    return process


@contextlib.contextmanager
def limit_threads() -> Iterator[None]:
    """Limit the numerical libraries of the processes started within to one thread; they read it when imported."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
