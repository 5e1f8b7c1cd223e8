"""Two machines as two network namespaces: camera node and reconstruction apart, with delay and loss between them.

    python -m benchmarks.run.two_machines [--delay-ms 20] [--loss 0.01] [--jitter-ms 0] [--seconds 30]
        [--nodes left|both] [--json F]

Needs root on Linux. The demo's performance is rendered to videos first; the node plays the left one at the far end of a wire
that delays every frame by `delay-ms` each way and loses a share `loss` each way, with keys, under a monotonic clock that is
1000 s ahead; run and right camera are at this end. What comes out is compared with the truth, clocks too. The same with
`--delay-ms 0 --loss 0` is for comparison. Cameras, wire and solver share this machine's cores.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.report import ROOT, build_command, build_parser, run_main, write_json
from benchmarks.run.namespaces import (
    CLOCK_OFFSET_S,
    NODE_HOST,
    RUN_HOST,
    Machines,
    find_unavailable_reason,
    make_two_machines,
)
from capture.clock import now_ns
from capture.sockets.endpoints import find_key_settings
from capture.sockets.keys import CLIENT, CLIENTS, PUBLISHER, SERVERS, add_public_key, make_key_pairs
from config.settings import CAMERA_NAMES, CaptureSettings, Settings, StreamSettings
from database.builtin import make_demo_performance
from database.default import find_default_database_path, open_default_database
from stream.protocol.latency import Receipt
from stream.protocol.messages import EventMessage, PoseMessage, SkeletonMessage, StatusMessage
from stream.publish.subscriber import Subscriber
from tools.demo.demo import SCENE, calibrate_demo_subject, stage_demo
from tools.demo.report import build_demo_report
from tools.run.cameras import plan_camera
from tools.run.run import LiveRun, plan_live_run
from tools.run.supervisor import Supervisor, choose_session_name
from tools.simulate import simulate_recording

READY_S = 180.0
SETTLE_S = 1.0
MS = 1e-6


@dataclass(frozen=True, slots=True)
class TwoMachinesFigures:
    """Figures of a run. Clock: estimate minus truth [ms], mean and worst over the run, and the stated bound [ms]."""

    frames: int
    poses: int
    tracked_share: float
    error_mm: tuple[float, float, float]
    latency_ms: dict[str, tuple[float, ...]]
    drops: dict[str, int]
    unsent: int
    silences: int
    clock_error_ms: tuple[float, float]
    clock_bound_ms: float
    rtt_ms: float
    clock_track_ms: list[float]


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    if arguments.inside is not None:
        figures = measure_run(arguments.inside, arguments.seconds, arguments.nodes == "both")
        print(json.dumps(asdict(figures)))
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # nodes and namespaces go in any case
    if reason := find_unavailable_reason():
        sys.exit(f"cannot play two machines here: {reason}")
    with tempfile.TemporaryDirectory(prefix="two-machines-") as name:
        folder = Path(name)
        prepare_folder(folder, arguments.seconds)
        with make_two_machines(arguments.delay_ms, arguments.loss, arguments.jitter_ms) as machines:
            figures = run_both(machines, folder, arguments)
    print_figures(figures, arguments)
    write_json(arguments.json, figures)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = build_parser(__doc__)
    parser.add_argument("--delay-ms", type=float, default=20.0, help="each way")
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="mean, from the node to the run; a quarter of it back")
    parser.add_argument("--loss", type=float, default=0.01, help="share of frames, each way")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--nodes", choices=("left", "both"), default="left")
    parser.add_argument("--inside", type=Path, default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


def prepare_folder(folder: Path, seconds: float) -> None:
    """Render the videos, make the database, and keys for two machines that know each other."""
    print(f"rendering {seconds:g} s of two cameras", file=sys.stderr)
    open_default_database()
    simulate_recording(SCENE, folder / "videos", clip=make_demo_performance(SCENE.fps, seconds))
    run_keys, node_keys = make_key_pairs(folder / "run"), make_key_pairs(folder / "node")
    add_public_key(folder / "run", CLIENTS, "node", node_keys[CLIENT])
    add_public_key(folder / "node", SERVERS, RUN_HOST, run_keys[PUBLISHER])


def run_both(machines: Machines, folder: Path, arguments: argparse.Namespace) -> TwoMachinesFigures:
    """Start the nodes at their machine and the run at its own; return the figures of the run.

    Args:
        machines: the namespaces.
        folder: where files are written.
        arguments: of the command line.
    """
    sides = CAMERA_NAMES[:2] if arguments.nodes == "both" else ("left",)
    nodes = []
    for side in sides:
        words = ["--camera", side, "--source", str(folder / "videos" / f"{side}.avi"), "--connect", RUN_HOST]
        launch = build_command("node", *words, "--set", f"stream.keys={folder / 'node'}")
        nodes.append(subprocess.Popen(machines.at_node(*launch), cwd=ROOT))
    try:
        inside = ["-m", "benchmarks.run.two_machines", "--inside", str(folder), "--seconds", str(arguments.seconds)]
        run = machines.at_run(sys.executable, *inside, "--nodes", arguments.nodes)
        done = subprocess.run(run, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    finally:
        for node in nodes:
            end_node(node)
    content: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return TwoMachinesFigures(**content)


def end_node(node: "subprocess.Popen[bytes]") -> None:
    """End a node as its user would; `unshare`, its parent, ignores signals."""
    for process in psutil.Process(node.pid).children(recursive=True)[-1:]:
        process.send_signal(signal.SIGINT)
    try:
        node.wait(10)
    except subprocess.TimeoutExpired:
        node.kill()
        node.wait()


def measure_run(folder: Path, seconds: float, both_nodes: bool) -> TwoMachinesFigures:
    """Run and compare with the truth; at the run's machine.

    Args:
        folder: where files are written.
        seconds: length [s].
        both_nodes: whether both cameras are at the other machine.
    """
    settings = Settings(
        stream=StreamSettings(keys=str(folder / "run"), preview=False),
        capture=CaptureSettings(f"tcp://{RUN_HOST}:5572", f"tcp://{RUN_HOST}:5573"),
    )
    performer, database, session = stage_demo(seconds), find_default_database_path(), choose_session_name()
    subject = calibrate_demo_subject(performer, database, settings)
    right = "node" if both_nodes else str(folder / "videos" / "right.avi")
    what = LiveRun(("node", right), performer.rig, subject, database)
    left_plan, right_plan = (plan_camera(source, camera, settings, None) for camera, source in enumerate(what.cameras))
    plan, entrance = plan_live_run(settings, what, session)
    tell = partial(print, file=sys.stderr)
    subscriber = Subscriber(settings.stream.address, ("",), find_key_settings(settings.stream))
    with Supervisor((left_plan, right_plan), plan, session, tell, entrance) as run:
        run.wait_ready(READY_S, READY_S)
        heard = list(subscriber.receive(2000))
        t_start_ns = run.start()
        times_ns = [0] * len(heard)
        t_ended_ns = 0
        while not t_ended_ns or now_ns() - t_ended_ns < SETTLE_S * 1e9:
            new = subscriber.receive(10)
            heard += new
            times_ns += [now_ns()] * len(new)
            run.turn(0)
            t_ended_ns = t_ended_ns or (now_ns() if run.ended else 0)
        counts = [child.counts for child in run.cameras]
    subscriber.close()
    skeleton = next(message for message in heard if isinstance(message, SkeletonMessage))
    received = [Receipt(m, t) for m, t in zip(heard, times_ns, strict=True) if isinstance(m, PoseMessage)]
    frames = (round(seconds * SCENE.fps), round(seconds * SCENE.fps))
    report = build_demo_report(
        skeleton,
        received,
        lambda times_s: performer.joints_at(times_s)[1],
        t_start_ns,
        frames,
        (counts[0]["frames"], counts[1]["frames"]),
    )
    statuses = [m for m in heard if isinstance(m, StatusMessage) and "clock_offset_ns" in m.cameras["left"]]
    track = [(float(s.cameras["left"]["clock_offset_ns"]) - CLOCK_OFFSET_S * 1e9) * MS for s in statuses]
    last = statuses[-1].cameras["left"]
    return TwoMachinesFigures(
        frames=frames[0],
        poses=report.poses,
        tracked_share=report.tracked_share,
        error_mm=report.error_mm,
        latency_ms={name: tuple(values) for name, values in report.latency_ms.items()},
        drops=dict(statuses[-1].drops),
        unsent=counts[0].get("unsent", 0),
        silences=sum(isinstance(m, EventMessage) and "no pairs" in m.text for m in heard),
        clock_error_ms=(float(np.mean(np.abs(track))), float(np.max(np.abs(track)))),
        clock_bound_ms=float(last["clock_error_ns"]) * MS,
        rtt_ms=float(last["rtt_ns"]) * MS,
        clock_track_ms=track,
    )


def print_figures(figures: TwoMachinesFigures, arguments: argparse.Namespace) -> None:
    """Print for a person."""
    print(
        f"wire: {arguments.delay_ms:g} ms and {100 * arguments.loss:g} % loss each way, jitter {arguments.jitter_ms:g} ms; "
        f"node at {NODE_HOST}: {arguments.nodes}, {arguments.seconds:g} s"
    )
    mean, median, p95 = figures.error_mm
    print(f"poses {figures.poses} of {figures.frames} frames, tracked {100 * figures.tracked_share:.1f} %")
    print(f"joint error: mean {mean:.1f} mm, median {median:.1f}, p95 {p95:.1f}")
    print(f"drops: {figures.drops}; not sent for a full line: {figures.unsent}; silences over 0.1 s: {figures.silences}")
    for name, ms in figures.latency_ms.items():
        print(f"latency {name:>10}, p50, p95, p99 [ms]:" + "".join(f"{value:9.2f}" for value in ms))
    mean, worst = figures.clock_error_ms
    print(f"clock offset against the truth of {CLOCK_OFFSET_S} s: mean |error| {mean:.3f} ms, worst {worst:.3f}")
    print(f"bound that is told: {figures.clock_bound_ms:.2f} ms; round trip {figures.rtt_ms:.2f} ms")
    print("clock error second by second [ms]: " + " ".join(f"{error:+.2f}" for error in figures.clock_track_ms))


if __name__ == "__main__":
    run_main(main)
