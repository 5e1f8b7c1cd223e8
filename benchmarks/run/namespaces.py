"""Two machines as network namespaces A and B, joined by a slow and lossy wire; B has its own monotonic clock."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.report import ROOT

RUN_HOST, NODE_HOST = "10.77.0.1", "10.77.0.2"
CLOCK_OFFSET_S = 1000


@dataclass(frozen=True, slots=True)
class Machines:
    """The names of the namespaces: a has the run, b the node."""

    a: str
    b: str
    wire: str

    def at_run(self, *command: str) -> list[str]:
        """Return a command to run at the run's machine."""
        return ["ip", "netns", "exec", self.a, *command]

    def at_node(self, *command: str) -> list[str]:
        """Return a command to run at the node's machine, whose monotonic clock is CLOCK_OFFSET_S ahead."""
        own_clock = ("unshare", "--time", "--monotonic", str(CLOCK_OFFSET_S), "--fork", "--kill-child")
        return ["ip", "netns", "exec", self.b, *own_clock, *command]


def find_unavailable_reason() -> str:
    """Return why two namespaces cannot be made here, empty if they can."""
    if sys.platform != "linux":
        return "network and time namespaces are Linux's"
    if os.geteuid() != 0:
        return "namespaces need root"
    missing = [name for name in ("ip", "unshare") if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (iproute2, util-linux)"
    name = f"dcx{os.getpid()}"
    tried = _try_command("ip", "netns", "add", name) or _try_command(*Machines(name, name, name).at_node("true"))
    _try_command("ip", "netns", "delete", name)
    return tried


@contextlib.contextmanager
def make_two_machines(delay_ms: float, loss: float, jitter_ms: float = 0.0) -> Iterator[Machines]:
    """Make the namespaces and the wire; everything is gone when the block ends.

    Args:
        delay_ms: each way [ms].
        loss: share of frames.
        jitter_ms: deviation of the delay [ms].
    """
    tag = f"{os.getpid() % 100000}"
    machines = Machines(f"dca{tag}", f"dcb{tag}", f"dcw{tag}")
    names = (machines.a, machines.b, machines.wire)
    wire: subprocess.Popen[str] | None = None
    try:
        for name in names:
            _run_command("ip", "netns", "add", name)
        for machine, host in ((machines.a, RUN_HOST), (machines.b, NODE_HOST)):
            _plug_into_wire(machine, host, machines.wire)
        arguments = ["--delay-ms", str(delay_ms), "--loss", str(loss), "--jitter-ms", str(jitter_ms)]
        program = [sys.executable, "-m", "benchmarks.run.wire", f"w{machines.b}", f"w{machines.a}", *arguments]
        wire = subprocess.Popen(["ip", "netns", "exec", machines.wire, *program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert wire.stdout is not None
        if wire.stdout.readline().strip() != "ready":
            raise OSError("the wire did not start")
        yield machines
    finally:
        if wire is not None:
            wire.terminate()
            wire.wait(5)
            wire.stdout.close()  # type: ignore[union-attr]
        for name in names:
            _try_command("ip", "netns", "delete", name)


def _plug_into_wire(machine: str, host: str, wire: str) -> None:
    """Add an interface to a machine, whose other end is in the wire's namespace."""
    end, other = f"e{machine}", f"w{machine}"
    _run_command("ip", "link", "add", end, "netns", machine, "type", "veth", "peer", "name", other, "netns", wire)
    inside = ("ip", "-n", machine)
    _run_command(*inside, "address", "add", f"{host}/24", "dev", end)
    _run_command(*inside, "link", "set", "lo", "up")
    _run_command(*inside, "link", "set", end, "up")
    _run_command("ip", "-n", wire, "link", "set", other, "up")
    code = (
        "import socket, sys; from benchmarks.run.wire import turn_offloads_off; turn_offloads_off(socket.socket(), sys.argv[1])"
    )
    _run_command("ip", "netns", "exec", machine, sys.executable, "-c", code, end)


def _run_command(*command: str) -> None:
    """Run a command. Raises OSError: it failed."""
    if message := _try_command(*command):
        raise OSError(f"{' '.join(command)}: {message}")


def _try_command(*command: str) -> str:
    """Run a command; return its error message, empty on success."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"
