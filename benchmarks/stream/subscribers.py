"""The stream with 1, 10 and 50 subscribers, with one of them slow or stopped (SIGSTOP); and how soon a late one has the skeleton.

    python -m benchmarks.stream.subscribers [--seconds 4] [--hz 60] [--joins 40] [--json F]

Poses of 23 joints and 9 markers. `publish`: time of the call; `received`: from publication to receipt in another process;
`missed`: poses that the healthy subscribers lack; `burst`: growth of the publisher's memory over 5000 poses without a pause,
with the slow or stopped one; ratios are to the same number of healthy ones alone. The subscribers share the machine's cores.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import psutil

from benchmarks.report import build_parser, compute_percentiles, format_ratio_cells, write_json
from benchmarks.stream.examples import SKELETON, build_moving_poses
from benchmarks.stream.subscriber_processes import Peers, ReceptionFigures, join_repeatedly, receive_poses, receive_slowly
from capture.clock import now_ns
from stream.protocol.messages import EventMessage
from stream.publish.publisher import Publisher
from tests.support.stream_messages import STATUS

COUNTS = (1, 10, 50)
TROUBLES = ("none", "slow", "stopped")
N_PROCESSES = 2
N_BURST = 5000
JOIN_S = 30.0
SERVE_S = 0.02
HEAD = (
    "subscribers  trouble   publish p50  p99 us  received p50  p99 us  missed  burst MB   "
    "x alone: publish p50, p99, received p50, p99"
)


@dataclass(frozen=True, slots=True)
class SubscriberFigures:
    """Of one case; times [us], memory [MB]; poses: published at the steady rate."""

    subscribers: int
    trouble: str
    poses: int
    publish_p50_us: float
    publish_p99_us: float
    received_p50_us: float
    received_p99_us: float
    missed: int
    burst_mb: float


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of poses for each case")
    parser.add_argument("--hz", type=float, default=60.0)
    parser.add_argument("--joins", type=int, default=40)
    options = parser.parse_args(given)
    print(HEAD)
    cases: list[SubscriberFigures] = []
    for n in COUNTS:
        alone: SubscriberFigures | None = None
        for trouble in TROUBLES:
            figures = measure_subscribers(n, trouble, round(options.seconds * options.hz), options.hz)
            alone = alone or figures
            cases.append(figures)
            print(_format_line(figures, alone), flush=True)
    joins = {name: measure_joins(options.joins, hz) for name, hz in (("while poses come", options.hz), ("between poses", 0.0))}
    for name, waited_ms in joins.items():
        middle, worst = np.median(waited_ms), max(waited_ms)
        print(f"late joiner has the skeleton, {name}: median {middle:.1f} ms, worst of {len(waited_ms)} {worst:.1f} ms")
    write_json(options.json, {"cases": cases, "late_join_ms": joins})
    return 0


def _format_line(f: SubscriberFigures, alone: SubscriberFigures) -> str:
    """Return a line of the table."""
    times, ours = ([g.publish_p50_us, g.publish_p99_us, g.received_p50_us, g.received_p99_us] for g in (f, alone))
    return (
        f"{f.subscribers:11d}  {f.trouble:8s}  {f.publish_p50_us:11.0f}  {f.publish_p99_us:6.0f}  {f.received_p50_us:12.0f}  "
        f"{f.received_p99_us:6.0f}  {f.missed:6d}  {f.burst_mb:8.1f}   " + format_ratio_cells(times, ours)
    )


def measure_subscribers(n: int, trouble: str, n_poses: int, hz: float) -> SubscriberFigures:
    """Publish to n healthy subscribers, and one with trouble if any is named.

    Args:
        n: healthy subscribers.
        trouble: kind of the troubled one, or empty.
        n_poses: how many are published.
        hz: how many a second.
    """
    publisher = Publisher("tcp://127.0.0.1:0")
    publisher.publish(SKELETON)
    shares = [len(range(k, n, N_PROCESSES)) for k in range(N_PROCESSES)]
    healthy = [Peers(receive_poses, publisher.address, share, n_poses) for share in shares if share]
    others = [] if trouble == "none" else [Peers(receive_slowly, publisher.address)]
    try:
        _serve_until(publisher, lambda: publisher.n_subscriptions >= 2 * n + len(others))
        for other in others:
            if trouble == "stopped":
                other.stop()
        publish_us = _publish_steadily(publisher, n_poses, hz)
        burst_mb = _publish_burst(publisher, n_poses)
        time.sleep(0.5)
        publisher.publish(EventMessage("s", 0, "end", "end"))
        _serve_until(publisher, lambda: all(peers.is_done for peers in healthy))
        heard: list[ReceptionFigures] = [peers.answer() for peers in healthy]
    finally:
        for peers in (*healthy, *others):
            peers.close()
        publisher.close()
    latency_us = np.concatenate([some.latency_us for some in heard])
    missed = sum(some.missed for some in heard)
    return SubscriberFigures(
        n, trouble, n_poses, *compute_percentiles(publish_us, 50, 99), *compute_percentiles(latency_us, 50, 99), missed, burst_mb
    )


def measure_joins(n: int, hz: float) -> list[float]:
    """Return how long each of n late joiners waited for the skeleton [ms]; hz 0: only serve() is called, every 20 ms."""
    publisher = Publisher("tcp://127.0.0.1:0")
    publisher.publish(SKELETON)
    pose = build_moving_poses(1)[0]
    peers = Peers(join_repeatedly, publisher.address, n, 0.0313)
    try:
        while not peers.is_done:
            if hz:
                publisher.publish(pose)
            publisher.serve(now_ns())
            time.sleep(1.0 / hz if hz else SERVE_S)
        waited_ms: list[float] = peers.answer()
        return waited_ms
    finally:
        peers.close()
        publisher.close()


def _publish_steadily(publisher: Publisher, n_poses: int, hz: float) -> list[float]:
    """Publish poses at a rate, with serve() and status as in a run; return the time of each call [us]."""
    pose, took_us = build_moving_poses(1)[0], []
    due = time.perf_counter()
    for seq in range(n_poses):
        time.sleep(max(0.0, due - time.perf_counter()))
        due = max(due, time.perf_counter()) + 1.0 / hz  # after a delay none are made up for, as with cameras
        publisher.serve(now_ns())
        if seq % round(hz) == 0:
            publisher.publish(STATUS)
        message = replace(pose, seq=seq, t_publish_ns=now_ns())
        start = time.perf_counter()
        publisher.publish(message)
        took_us.append((time.perf_counter() - start) * 1e6)
    return took_us


def _publish_burst(publisher: Publisher, first: int) -> float:
    """Publish many poses without a pause; return the growth of this process's memory [MB]."""
    pose = build_moving_poses(1)[0]
    before = psutil.Process().memory_info().rss
    for seq in range(first, first + N_BURST):
        publisher.publish(replace(pose, seq=seq))
    return float(psutil.Process().memory_info().rss - before) / 1e6


def _serve_until(publisher: Publisher, done: Callable[[], bool]) -> None:
    """Serve until a condition holds."""
    deadline = time.monotonic() + JOIN_S
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("the subscribers did not answer; is the machine busy?")
        publisher.serve(now_ns())
        time.sleep(0.005)


if __name__ == "__main__":
    sys.exit(main())
