"""A Dask cluster of processes on this machine, which may be killed one by one."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.support.kept import Kept
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
READY_S = 30.0


class Cluster:
    """A scheduler and workers, each a process of its own. kept: ends them; scheduler: its process."""

    def __init__(self, kept: Kept, start: str = "", keys: Sequence[str] = ()) -> None:
        """start: Python that the scheduler runs before anything else; keys: Dask's options of TLS."""
        self._kept, self._keys = kept, keys
        self.address = f"{'tls' if keys else 'tcp'}://127.0.0.1:{free_port()}"
        self.scheduler = self._run("scheduler", "--host", "127.0.0.1", "--port", self.address.rpartition(":")[2], start=start)

    def _run(self, what: str, *words: str, start: str = "", **env: str) -> "subprocess.Popen[bytes]":
        """Start one of Dask's programs."""
        path = os.pathsep.join(part for part in (os.environ.get("PYTHONPATH", ""), str(ROOT)) if part)
        code = f"import sys; {start or 'pass'}; from distributed.cli.dask_{what} import main; sys.argv[0] = {what!r}; main()"
        command = [sys.executable, "-c", code, *words, *self._keys, "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path, **env}, **quiet)  # type: ignore[call-overload]
        self._kept.callback(kill, process)
        return process  # type: ignore[no-any-return]

    def worker(self, **env: str) -> "subprocess.Popen[bytes]":
        """Start a worker."""
        return self._run("worker", self.address, "--nthreads", "1", "--nworkers", "1", **env)

    def wait(self, n_workers: int) -> None:
        """Return when so many workers are there."""
        from distributed import Client

        with Client(self.address, timeout=READY_S, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=READY_S)
            time.sleep(0.2)


def kill_after(file: Path, pattern: str, process: "subprocess.Popen[bytes]") -> threading.Thread:
    """Kill a process as soon as a file of that pattern is in a folder; return the thread that does it."""

    def watch() -> None:
        while process.poll() is None and not any(file.rglob(pattern)):
            time.sleep(0.02)
        kill(process)

    killer = threading.Thread(target=watch, daemon=True)
    killer.start()
    return killer


def kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its children as a power cut would."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    process.wait()
