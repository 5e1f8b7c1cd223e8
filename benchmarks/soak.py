"""`duocap run` for an hour from two network cameras at 60 Hz: what it takes, whether anything grows, how old poses are.

    python -m benchmarks.soak [--minutes 60] [--size 640x480] [--faults] [--database DB] [--json F.json] [--plot F.png]

Two servers in processes of their own play a rendered performance as MJPEG over HTTP, the right one 5 ms later, with time stamps
of a clock that runs 80 ppm fast; the left one sends none. The run is the command itself, headless, its processes as always. With
--faults something is wrong with one of the cameras in every minute but the first. CPU is in per cent of one core.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.soak_heard import Heard, Minute
from benchmarks.soak_processes import Processes
from benchmarks.soak_scene import SKEW_S, SoakScene, soak_scene
from benchmarks.soak_words import as_json, row_line, summary
from stream.messages import StatusMessage
from tests.camera_server import MjpegProcess, Play

ROOT = Path(__file__).resolve().parents[1]


SAMPLE_S = 10.0
READY_S = 600.0
DRIFT_PPM = 80.0
FAULT_S = 5.0
FAULTS: tuple[dict[str, Any], ...] = (
    {"stalled": True},
    {"jitter_s": 0.02},
    {"refuse": True},
    {"drop": 0.3},
    {"black": True},
    {"half_rate": True},
    {"corrupt": 0.3},
    {"frozen": True},
    {"overexposed": True},
)


def free_address() -> str:
    """Give an address on this machine that nobody publishes at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{one.getsockname()[1]}"


def servers_of(scene: SoakScene) -> list[MjpegProcess]:
    """Start both cameras, the right one looking a little later."""
    t0_s = time.perf_counter()
    left, right = scene.jpegs
    return [
        MjpegProcess(Play(left, scene.fps, t0_s=t0_s, seed=1)),
        MjpegProcess(Play(right, scene.fps, t0_s=t0_s + SKEW_S, seed=2, stamps=True, drift_ppm=DRIFT_PPM)),
    ]


def started(scene: SoakScene, urls: Sequence[str], address: str, database: Path | None, log: Path) -> subprocess.Popen[str]:
    """Start `duocap run`."""
    words = ["run", "--left", urls[0], "--right", urls[1], "--rig", str(scene.rig), "--subject", str(scene.subject), "--headless"]
    words += ["--set", f"stream.address={address}", "--set", "stream.service="]
    words += [] if database is None else ["--database", str(database)]
    with log.open("w", encoding="utf-8") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tools.launch", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=os.name != "nt",
        )


class Trouble:
    """Switches faults on and off: each for some seconds in every minute but the first, at one camera, then at the other."""

    def __init__(self, servers: Sequence[MjpegProcess]) -> None:
        self._servers, self._on, self.n = servers, False, 0

    def turn(self, t_s: float) -> str:
        """Do what is due; give its name when it begins."""
        due = t_s >= 60.0 and 30.0 <= t_s % 60.0 < 30.0 + FAULT_S
        if due == self._on:
            return ""
        self._on = due
        fault = FAULTS[self.n % len(FAULTS)]
        server = self._servers[self.n // len(FAULTS) % 2]
        if due:
            server.set(**fault)
            return f"{('left', 'right')[self.n // len(FAULTS) % 2]}: {next(iter(fault))}"
        server.set(**{name: 0.0 if isinstance(value, float) else False for name, value in fault.items()})
        self.n += 1
        return ""


def offsets_of(status: StatusMessage | None) -> dict[str, float]:
    """Give what the status says of the cameras' time offset."""
    if status is None:
        return {}
    tables = {"": status.calibration, "skew_": status.skew_ns, **{f"{name}_": table for name, table in status.cameras.items()}}
    found = {f"{name}{key}": value for name, table in tables.items() for key, value in table.items()}
    return {key: float(value) for key, value in found.items() if ("offset" in key or "skew" in key) and _is_number(value)}


def _is_number(value: object) -> bool:
    """Tell whether it is one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Soak:
    """All figures of a run. rows: one a minute."""

    minutes: float
    rows: list[dict[str, Any]]
    heard: Minute
    processes: Processes
    drops: dict[str, int]
    offsets: dict[str, float]
    words: list[str]
    log_bytes: int


def soak(scene: SoakScene, minutes: float, database: Path | None, folder: Path, with_faults: bool) -> Soak:
    """Run, and print a line a minute."""
    log, address = folder / "run.log", free_address()
    servers = servers_of(scene)
    heard = Heard(address)
    run = started(scene, [server.url for server in servers], address, database, log)
    try:
        processes = Processes(run.pid, {"server left": _pid(servers[0]), "server right": _pid(servers[1]), "soak": os.getpid()})
        _wait_for_poses(heard, run, log)
        trouble = Trouble(servers) if with_faults else None
        rows = _minutes(minutes, heard, processes, run, log, trouble)
        words = _end(run)
    finally:
        if run.poll() is None:
            run.kill()
        heard.close()
        for server in servers:
            server.stop()
    status = heard.status
    drops: dict[str, int] = dict(status.drops) if status is not None else {}
    return Soak(minutes, rows, heard.whole, processes, drops, offsets_of(status), words, log.stat().st_size)


def _pid(server: MjpegProcess) -> int:
    """Give a server's process."""
    assert server.process.pid is not None
    return server.process.pid


def _wait_for_poses(heard: Heard, run: subprocess.Popen[str], log: Path) -> None:
    """Listen until the performer is tracked, and forget what was before."""
    until_s = time.monotonic() + READY_S
    while heard.whole.states["tracking"] < 10:
        heard.listen()
        if run.poll() is not None or time.monotonic() > until_s:
            raise SystemExit("no pose came:\n" + log.read_text(encoding="utf-8")[-2000:])
    heard.whole, heard.minute = Minute(), Minute()


def _minutes(
    minutes: float, heard: Heard, processes: Processes, run: subprocess.Popen[str], log: Path, trouble: Trouble | None
) -> list[dict[str, Any]]:
    """Listen and sample until the time is over or the run ends; give the rows."""
    t0_s, rows, n_samples = time.monotonic(), list[dict[str, Any]](), 0
    before: dict[str, Any] = {"drops": dict(heard.status.drops) if heard.status is not None else {}}
    while run.poll() is None:
        heard.listen()
        t_s = time.monotonic() - t0_s
        if trouble is not None and (fault := trouble.turn(t_s)):
            print(f"    fault: {fault}", flush=True)
        if t_s >= n_samples * SAMPLE_S:
            processes.sample(t_s)
            n_samples += 1
        if t_s >= 60.0 * (len(rows) + 1):
            rows.append(_row(len(rows) + 1, heard, processes, log, rows[-1] if rows else before))
            print(row_line(rows[-1]), flush=True)
        if t_s >= 60.0 * minutes:
            break
    return rows


def _row(number: int, heard: Heard, processes: Processes, log: Path, before: dict[str, Any]) -> dict[str, Any]:
    """Give the figures of the minute that ends now."""
    minute, status = heard.next_minute(), heard.status
    from_s, to_s = 60.0 * (number - 1) - 1.0, 60.0 * number + 1.0
    drops: dict[str, int] = dict(status.drops) if status is not None else {}
    return {
        "minute": number,
        "poses": minute.states.total(),
        "tracked": minute.tracked,
        "states": dict(minute.states),
        "latency_ms": minute.percentiles(),
        "longest_gap_ms": minute.longest_gap_ms,
        "drops": drops,
        "new_drops": {name: count - before.get("drops", {}).get(name, 0) for name, count in drops.items()},
        "cpu_percent": {name: watched.cpu_percent(from_s, to_s) for name, watched in processes.watched.items()},
        "rss_mb": {name: watched.samples[-1][2] for name, watched in processes.watched.items() if watched.samples},
        "uss_mb": {name: watched.samples[-1][3] for name, watched in processes.watched.items() if watched.samples},
        "offsets": offsets_of(status),
        "events": minute.events,
        "log_bytes": log.stat().st_size,
    }


def _end(run: subprocess.Popen[str]) -> list[str]:
    """End the run as Ctrl-C does; give its report."""
    if run.poll() is None:
        run.send_signal(getattr(signal, "CTRL_C_EVENT", signal.SIGINT))
    try:
        out, _ = run.communicate(timeout=20.0)
    except subprocess.TimeoutExpired:
        run.kill()
        out, _ = run.communicate()
    return out.splitlines()


def main(given: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--size", default="640x480", help="of the pictures (default 640x480)")
    parser.add_argument("--faults", action="store_true", help="something is wrong with a camera in every minute but the first")
    parser.add_argument("--database", type=Path, help="motion database; default the built-in motions")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="latency, CPU and memory over time as a PNG")
    options = parser.parse_args(given)
    from database.default import default_database, default_database_path

    default_database()
    width, height = (int(number) for number in options.size.split("x"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        scene = soak_scene((width, height), options.database or default_database_path(), folder)
        size_kb = sum(map(len, scene.jpegs[0])) / len(scene.jpegs[0]) / 1000
        print(f"{options.size} at {scene.fps:g} Hz, rounds of {scene.round_s:.1f} s, pictures of {size_kb:.0f} kB", flush=True)
        found = soak(scene, options.minutes, options.database, folder, options.faults)
    print(summary(found))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(found), indent=1), encoding="utf-8")
    if options.plot is not None:
        from benchmarks.soak_plot import plot

        plot(options.plot, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
