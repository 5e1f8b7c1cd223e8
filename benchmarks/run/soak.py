"""`duocap run` for an hour from two network cameras at 60 Hz: its cost, growth of memory, latency of poses.

    python -m benchmarks.run.soak [--minutes 60] [--size 640x480] [--hz 60] [--faults] [--viewer] [--record] [--no-style]
        [--cpus 0] [--json F]

Two servers in their own processes play a rendered performance as MJPEG over HTTP, the right one 5 ms later, with timestamps of
a clock that is 80 ppm fast; the left one sends none. The run is the command itself, headless. With --faults one camera has a
fault in every minute but the first; with --viewer a headless Chromium, which draws by software, shows the run's page; with
--record the whole session is recorded, pictures too; --no-style: nothing is learned meanwhile; --cpus: the cores that the run
may use, not the servers or this program. CPU is in percent of one core.
"""

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.report import (
    ROOT,
    Column,
    Row,
    build_command,
    build_parser,
    compute_percentiles,
    find_chromium,
    find_database_file,
    format_table,
    number_columns,
    parse_size,
    run_main,
    write_json,
)
from benchmarks.run.heard import Minute, MinuteListener
from benchmarks.run.looped_scene import SKEW_S, LoopedScene, build_looped_scene
from benchmarks.run.processes import Processes
from stream.protocol.messages import StatusMessage
from tests.support.cameras.mjpeg import MjpegProcess, Play
from tests.support.ports import free_address, free_port
from tests.support.viewer.browser import Browser

SAMPLE_S = 10.0
READY_S = 600.0
WARM_S = 120.0  # until memory has its usual size
DRIFT_PPM = 80.0
FAULT_S = 5.0
SHARES = ("p50", "p95", "p99")
OURS = ("supervisor", "left", "right", "reconstruction")
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


def start_servers(scene: LoopedScene) -> list[MjpegProcess]:
    """Start both cameras."""
    t0_s = time.perf_counter()
    left, right = scene.jpegs
    return [
        MjpegProcess(Play(left, scene.fps, t0_s=t0_s, seed=1)),
        MjpegProcess(Play(right, scene.fps, t0_s=t0_s + SKEW_S, seed=2, stamps=True, drift_ppm=DRIFT_PPM)),
    ]


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """What a run does besides.

    page: port of the viewer, 0 without; record: folder of the recording, None without one; style: whether it learns one; cpus:
    that it may use, () for all.
    """

    page: int = 0
    record: Path | None = None
    style: bool = True
    cpus: tuple[int, ...] = ()


def start_run(
    scene: LoopedScene, urls: Sequence[str], address: str, database: Path | None, log: Path, beside: SoakOptions
) -> subprocess.Popen[str]:
    """Start `duocap run`.

    Args:
        scene: the scene.
        urls: of the cameras.
        address: of the stream.
        database: the motion database.
        log: file of the log.
        beside: what else runs.
    """
    words = ["run", "--left", urls[0], "--right", urls[1], "--rig", scene.rig, "--subject", scene.subject]
    words += ["--set", f"stream.address={address}", "--set", "stream.service="]
    words += ["--set", f"viewer.port={beside.page}"] if beside.page else ["--headless"]
    words += [] if beside.record is None else ["--record", beside.record]
    words += [] if database is None else ["--database", database]
    words += [] if beside.style else ["--no-style"]
    with log.open("w", encoding="utf-8") as errors:
        run = subprocess.Popen(
            build_command(*words),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=os.name != "nt",
        )
    if beside.cpus:
        psutil.Process(run.pid).cpu_affinity(list(beside.cpus))  # inherited by what it starts
    return run


class FaultSwitch:
    """Switches faults on and off: each for some seconds in every minute but the first, at one camera, then at the other."""

    def __init__(self, servers: Sequence[MjpegProcess]) -> None:
        self._servers, self._on, self._n = servers, False, 0

    def step(self, t_s: float) -> str:
        """Switch what is due; return the fault when it begins."""
        due = t_s >= 60.0 and 30.0 <= t_s % 60.0 < 30.0 + FAULT_S
        if due == self._on:
            return ""
        self._on = due
        fault, side = FAULTS[self._n % len(FAULTS)], self._n // len(FAULTS) % 2
        if due:
            self._servers[side].set(**fault)
            return f"{('left', 'right')[side]}: {next(iter(fault))}"
        self._servers[side].set(**{name: 0.0 if isinstance(value, float) else False for name, value in fault.items()})
        self._n += 1
        return ""


def read_offsets(status: StatusMessage | None) -> dict[str, float]:
    """Return the figures of a status on the cameras' time offset."""
    if status is None:
        return {}
    tables = {"": status.calibration, "skew_": status.skew_ns, **{f"{name}_": table for name, table in status.cameras.items()}}
    found = {f"{name}{key}": value for name, table in tables.items() for key, value in table.items()}
    return {key: float(value) for key, value in found.items() if ("offset" in key or "skew" in key) and _is_number(value)}


def _is_number(value: object) -> bool:
    """Return whether a value is a number."""
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
    report: list[str]
    log_bytes: int


def run_soak(
    scene: LoopedScene, minutes: float, database: Path | None, folder: Path, with_faults: bool, beside: SoakOptions
) -> Soak:
    """Run, and print a line a minute.

    Args:
        scene: the scene.
        minutes: how long [min].
        database: the motion database.
        folder: where files are written.
        with_faults: whether cameras fail now and then.
        beside: what else runs.
    """
    log, address = folder / "run.log", free_address()
    servers = start_servers(scene)
    heard = MinuteListener(address)
    run = start_run(scene, [server.url for server in servers], address, database, log, beside)
    looks = contextlib.ExitStack()
    try:
        pids = {f"server {side}": server.process.pid for side, server in zip(("left", "right"), servers, strict=True)}
        processes = Processes(run.pid, {**pids, "soak": os.getpid()})
        _wait_for_poses(heard, run, log)
        if beside.page:
            processes.watch_browser(looks.enter_context(_open_page(beside.page)).process.pid)
            heard.listen()
            heard.whole, heard.minute = Minute(), Minute()
        faults = FaultSwitch(servers) if with_faults else None
        rows = _sample_minutes(minutes, heard, processes, run, log, faults)
        looks.close()  # a run stays while somebody looks
        report = _end_run(run)
    finally:
        if run.poll() is None:
            run.kill()
        looks.close()
        heard.close()
        for server in servers:
            server.stop()
    status = heard.status
    drops: dict[str, int] = dict(status.drops) if status is not None else {}
    return Soak(minutes, rows, heard.whole, processes, drops, read_offsets(status), report, log.stat().st_size)


def _open_page(port: int) -> Browser:
    """Open the page of the run."""
    browser = Browser(find_chromium())
    browser.open(f"http://127.0.0.1:{port}")
    browser.wait("poses", lambda: "poses / s" in browser.text(), 90.0)
    for process in psutil.Process(browser.process.pid).children(recursive=True):
        if process.nice() < 0:
            process.nice(0)  # root's browser may go before everything else, a user's may not
    return browser


def _wait_for_poses(heard: MinuteListener, run: subprocess.Popen[str], log: Path) -> None:
    """Listen until the performer is tracked, and forget what was before."""
    until_s = time.monotonic() + READY_S
    while heard.whole.states["tracking"] < 10:
        heard.listen()
        if run.poll() is not None or time.monotonic() > until_s:
            raise SystemExit("no pose came:\n" + log.read_text(encoding="utf-8")[-2000:])
    heard.whole, heard.minute = Minute(), Minute()


def _sample_minutes(
    minutes: float, heard: MinuteListener, processes: Processes, run: subprocess.Popen[str], log: Path, faults: FaultSwitch | None
) -> list[dict[str, Any]]:
    """Listen and sample until the time is over or the run ends; give the rows."""
    t0_s, rows, n_samples = time.monotonic(), list[dict[str, Any]](), 0
    before: dict[str, Any] = {"drops": dict(heard.status.drops) if heard.status is not None else {}}
    while run.poll() is None:
        heard.listen()
        t_s = time.monotonic() - t0_s
        if faults is not None and (fault := faults.step(t_s)):
            print(f"    fault: {fault}", flush=True)
        if t_s >= n_samples * SAMPLE_S:
            processes.sample(t_s)
            n_samples += 1
        if t_s >= 60.0 * (len(rows) + 1):
            rows.append(_measure_minute(len(rows) + 1, heard, processes, log, rows[-1] if rows else before))
            print(format_row(rows[-1]), flush=True)
        if t_s >= 60.0 * minutes:
            break
    return rows


def _measure_minute(
    number: int, heard: MinuteListener, processes: Processes, log: Path, before: dict[str, Any]
) -> dict[str, Any]:
    """Return the figures of the minute that ends now."""
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
        "offsets": read_offsets(status),
        "events": minute.events,
        "log_bytes": log.stat().st_size,
    }


def _end_run(run: subprocess.Popen[str]) -> list[str]:
    """End the run as Ctrl-C does; give its report."""
    if run.poll() is None:
        run.send_signal(getattr(signal, "CTRL_C_EVENT", signal.SIGINT))
    try:
        out, _ = run.communicate(timeout=20.0)
    except subprocess.TimeoutExpired:
        run.kill()
        out, _ = run.communicate()
    return out.splitlines()


def format_row(row: dict[str, Any]) -> str:
    """Return the line of a minute."""
    p50, p95, p99 = row["latency_ms"]
    new = ", ".join(f"{count} {name}" for name, count in row["new_drops"].items() if count) or "none"
    cpu = " ".join(f"{row['cpu_percent'].get(name, math.nan):.0f}" for name in OURS)
    memory = " ".join(f"{row['uss_mb'].get(name, math.nan):.1f}" for name in OURS)
    return (
        f"{row['minute']:4d} min  {row['poses']:5d} poses {100.0 * row['tracked']:5.1f} %  latency {p50:.1f} {p95:.1f} {p99:.1f} "
        f"ms  gap {row['longest_gap_ms']:.0f} ms  dropped {new}  CPU {cpu} %  USS {memory} MB"
    )


def format_summary(found: Soak) -> str:
    """Return the figures of the whole run for a person."""
    heard, end_s = found.heard, 60.0 * found.minutes + 1.0
    warm_s = min(WARM_S, 0.25 * end_s)
    by_second = compute_percentiles(heard.p95_by_second_ms, 50.0, 95.0, 100.0)
    stages = [{"ms": stage, **dict(zip(SHARES, heard.percentiles(stage), strict=True))} for stage in heard.latencies_ms]
    processes = list[Row]()
    for name, watched in found.processes.watched.items():
        if watched.samples:
            first = next((sample for sample in watched.samples if sample[0] >= warm_s), watched.samples[0])
            last, counts = watched.samples[-1], {"restarts": watched.n_restarts, "threads": watched.n_threads}
            memory = {"RSS first": first[2], "RSS last": last[2], "USS first": first[3], "USS last": last[3]}
            figures = {"CPU %": watched.cpu_percent(0.0, end_s), **memory, "MB/h": watched.growth_mb_h(warm_s)}
            processes.append({"process": name, **figures, **counts})
    memory_columns = number_columns(1, "CPU %", "RSS first", "RSS last", "USS first", "USS last")
    lines = [
        f"{heard.states.total()} poses in {found.minutes:g} min, {100.0 * heard.tracked:.2f} % tracked, {dict(heard.states)}",
        f"longest time between two poses {heard.longest_gap_ms:.0f} ms; the run wrote {found.log_bytes} bytes of log",
        "dropped: " + (", ".join(f"{count} {name}" for name, count in found.drops.items()) or "nothing"),
        "time offset: " + (", ".join(f"{name} {value:.6g}" for name, value in found.offsets.items()) or "not told"),
        "p95 of a second [ms]: median {:.2f}, of the worst twentieth {:.2f}, worst {:.2f}".format(*by_second),
        *format_table((Column("ms"), *number_columns(2, *SHARES)), stages),
        *format_table(
            (Column("process"), *memory_columns, Column("MB/h", 2), *number_columns(0, "restarts", "threads")), processes
        ),
        f"(first: {warm_s:.0f} s after the first pose; MB/h: slope of USS from there on)",
        "report of the run:",
        *(f"    {line}" for line in found.report),
    ]
    return "\n".join(lines)


def convert_to_json(found: Soak) -> dict[str, Any]:
    """Return all figures as plain values."""
    watched = found.processes.watched
    return {
        "minutes": found.minutes,
        "rows": found.rows,
        "latency_ms": {stage: found.heard.percentiles(stage) for stage in found.heard.latencies_ms},
        "p95_by_second_ms": found.heard.p95_by_second_ms,
        "states": dict(found.heard.states),
        "drops": found.drops,
        "samples": {name: one.samples for name, one in watched.items()},
        "growth_mb_h": {name: one.growth_mb_h(WARM_S) for name, one in watched.items()},
        "report": found.report,
        "log_bytes": found.log_bytes,
    }


def main() -> None:
    """Run and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--size", type=parse_size, default=(640, 480), help="of the images (default 640x480)")
    parser.add_argument("--hz", type=float, default=60.0, help="frames a second of the cameras, 60 / n (default 60)")
    parser.add_argument("--viewer", action="store_true", help="with the viewer, its page open in Chromium")
    parser.add_argument("--record", action="store_true", help="record the session, pictures too")
    parser.add_argument("--faults", action="store_true", help="a camera has a fault in every minute but the first")
    parser.add_argument("--no-style", action="store_true", help="no style is learned")
    parser.add_argument("--cpus", type=int, nargs="*", default=(), help="cores that the run may use; default all")
    parser.add_argument("--database", type=Path, help="motion database; default the built-in motions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        scene = build_looped_scene(options.size, find_database_file(options.database), folder)
        every = max(1, round(scene.fps / options.hz))
        left, right = (jpegs[::every] for jpegs in scene.jpegs)
        scene = replace(scene, jpegs=(left, right), fps=scene.fps / every)
        beside = SoakOptions(
            free_port() if options.viewer else 0,
            folder / "session" if options.record else None,
            not options.no_style,
            tuple(options.cpus),
        )
        size_kb = sum(map(len, scene.jpegs[0])) / len(scene.jpegs[0]) / 1000
        print(f"{scene.fps:g} Hz, rounds of {scene.round_s:.1f} s, images of {size_kb:.0f} kB", flush=True)
        found = run_soak(scene, options.minutes, options.database, folder, options.faults, beside)
    print(format_summary(found))
    write_json(options.json, convert_to_json(found))


if __name__ == "__main__":
    run_main(main)
