"""What a live run amounts to, in figures and in words; pure, times are passed in."""

from dataclasses import dataclass

import numpy as np

from stream.messages import PoseMessage, StatusMessage

MS = 1e-6
MAX_KEPT = 1 << 17  # of latencies: the last half hour at 60 Hz


@dataclass(frozen=True, slots=True)
class RunReport:
    """The figures of one run. latency_ms: p50, p95, p99 from capture to receipt, empty when no pose came; drops: by reason."""

    seconds: float
    poses: int
    tracked: int
    latency_ms: tuple[float, ...]
    drops: dict[str, int]

    def lines(self) -> list[str]:
        """Give the report in words."""
        if not self.poses:
            return ["no pose came"]
        p50, p95, p99 = self.latency_ms
        lost = ", ".join(f"{count} {name}" for name, count in self.drops.items() if count) or "nothing"
        return [
            f"{self.poses} poses in {self.seconds:.0f} s, {100.0 * self.tracked / self.poses:.1f} % of them tracked",
            f"latency, capture to receipt: p50 {p50:.1f} ms, p95 {p95:.1f}, p99 {p99:.1f}",
            f"dropped: {lost}",
        ]


class RunTally:
    """Counts a run's poses as they are received; held ones (nothing measured) count as poses that are not tracked."""

    def __init__(self) -> None:
        self.status: StatusMessage | None = None
        self.n_poses = self.n_tracked = 0
        self._latencies_ms: list[float] = []
        self._n_before = 0
        self._span_ns = [0, 0]
        self._t_last_capture_ns = -1

    def add(self, pose: PoseMessage, t_ns: int) -> None:
        """Count a pose received at t_ns."""
        self.n_poses += 1
        self.n_tracked += pose.state == "tracking"
        self._span_ns = [self._span_ns[0] or t_ns, t_ns]
        if pose.t_capture_ns > self._t_last_capture_ns:  # a held pose repeats an old capture
            self._t_last_capture_ns = pose.t_capture_ns
            self._latencies_ms.append((t_ns - pose.t_capture_ns) * MS)

    def next_second(self) -> None:
        """Begin a new second of recent latencies; forget those of long ago."""
        del self._latencies_ms[: max(0, len(self._latencies_ms) - MAX_KEPT)]
        self._n_before = len(self._latencies_ms)

    def recent_ms(self) -> tuple[float, ...]:
        """Give p50 and p95 of the last second, empty when nothing came."""
        recent = self._latencies_ms[self._n_before :]
        return tuple(np.percentile(recent, [50, 95]).tolist()) if recent else ()

    def report(self) -> RunReport:
        """Sum up."""
        latency = tuple(np.percentile(self._latencies_ms, [50, 95, 99]).tolist()) if self._latencies_ms else ()
        drops = dict(self.status.drops) if self.status is not None else {}
        return RunReport((self._span_ns[1] - self._span_ns[0]) * 1e-9, self.n_poses, self.n_tracked, latency, drops)


def status_line(status: StatusMessage, latency_ms: tuple[float, ...]) -> str:
    """Say in one line how the run is."""
    rates = status.rates_hz
    words = [
        status.state,
        f"{rates.get('pose', 0.0):.0f} poses/s of {rates.get('left', 0.0):.0f} and {rates.get('right', 0.0):.0f} frames",
    ]
    if latency_ms:
        words.append(f"latency {latency_ms[0]:.0f} ms, p95 {latency_ms[1]:.0f}")
    if status.skew_ns:
        words.append(f"skew {status.skew_ns.get('median', 0.0) * MS:.1f} ms")
    dropped = sum(status.drops.values())
    if dropped:
        words.append(f"{dropped} dropped")
    words += [line for name, camera in status.cameras.items() if (line := node_words(name, camera))]
    return ", ".join(words)


def node_words(name: str, camera: dict[str, int | float | str]) -> str:
    """Say how a camera node and its clock are; empty for a camera of this machine."""
    if "node" not in camera:
        return ""
    if camera["node"] != "ready" or "clock_offset_ns" not in camera:
        return f"{name} node {camera['node']}"
    offset, error, rtt = (float(camera.get(key, 0)) * MS for key in ("clock_offset_ns", "clock_error_ns", "rtt_ns"))
    return f"{name} node's clock {offset:+.2f} ms (within {error:.2f}), round trip {rtt:.1f} ms"
