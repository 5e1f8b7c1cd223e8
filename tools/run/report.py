"""What a live run amounts to, in figures and in words; pure, times are passed in."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from config.settings import CAMERA_NAMES
from config.units import MS_PER_NS
from config.words import format_count
from stream.protocol.landmarks import PREFIX, LandmarkTally, format_landmarks
from stream.protocol.messages import EventMessage, PoseMessage, StatusMessage, read_number

UNSURE_MS = 1.0  # an offset less sure than that is not put to use
# Of a camera's facts and counts: frames that did not count, in words.
LOSSES = {
    "damaged": "damaged",
    "corrupt": "damaged",
    "stale": "too old",
    "skipped": "skipped",
    "overtaken": "overtaken by newer ones",
    "repeated": "repeated",
    "unsent": "not sent",
}
Camera = Mapping[str, int | float | str]
TOLD_DOUBTS = 10  # doubtful spans that are told
MAX_KEPT = 1 << 17  # of latencies: the last half hour at 60 Hz


@dataclass(frozen=True, slots=True)
class RunReport:
    """The figures of one run.

    Attributes:
        latency_ms: p50, p95, p99 from capture to receipt, empty when no pose came.
        drops: numbers of dropped moments by reason.
        cameras: a line for each, and others for the time between them.
        doubtful: a line for each of the first doubtful spans.
        n_doubtful: number of doubtful spans.
        landmarks: what became of landmarks, as `LandmarkTally.as_plain`.
    """

    seconds: float
    poses: int
    tracked: int
    latency_ms: tuple[float, ...]
    drops: dict[str, int]
    cameras: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    n_doubtful: int = 0
    landmarks: dict[str, Any] | None = None

    def lines(self) -> list[str]:
        """Return the report in words."""
        if not self.poses:
            return ["no pose came", *self.cameras]
        p50, p95, p99 = self.latency_ms
        lost = ", ".join(f"{count} {name}" for name, count in self.drops.items() if count) or "nothing"
        poses = format_count(self.poses, "pose")
        return [
            f"{poses} in {self.seconds:.0f} s, {100.0 * self.tracked / self.poses:.1f} % of them tracked",
            f"latency, capture to receipt: p50 {p50:.1f} ms, p95 {p95:.1f}, p99 {p99:.1f}",
            f"dropped: {lost}",
            *format_landmarks(self.landmarks),
            *self.doubtful,
            *(
                [f"and {more} more doubtful spans: events in the take"]
                if (more := self.n_doubtful - len(self.doubtful)) > 0
                else []
            ),
            *self.cameras,
        ]


class RunStatistics:
    """Counts a run's poses as they are received; held ones (nothing measured) count as poses that are not tracked."""

    def __init__(self) -> None:
        self.status: StatusMessage | None = None
        self.n_poses = self.n_tracked = 0
        self._latencies_ms = array("d")
        self._n_before = 0
        self._span_ns = [0, 0]
        self._t_first_capture_ns = self._t_last_capture_ns = -1
        self._doubts: list[EventMessage] = []
        self._n_doubts = 0
        self._landmarks = LandmarkTally()

    def add(self, pose: PoseMessage, t_ns: int) -> None:
        """Count a pose received at t_ns."""
        self.n_poses += 1
        self.n_tracked += pose.state == "tracking"
        if pose.landmarks:
            followed = [marker.cameras for marker in pose.markers if marker.name.startswith(PREFIX)]
            n_used = [sum(camera in cameras for cameras in followed) for camera in range(len(pose.landmarks))]
            self._landmarks.add(pose.landmarks, len(followed), n_used)
        self._span_ns = [self._span_ns[0] or t_ns, t_ns]
        if pose.t_capture_ns > self._t_last_capture_ns:  # a held pose repeats an old capture
            if self._t_first_capture_ns < 0:
                self._t_first_capture_ns = pose.t_capture_ns
            self._t_last_capture_ns = pose.t_capture_ns
            self._latencies_ms.append((t_ns - pose.t_capture_ns) * MS_PER_NS)

    def doubt(self, event: EventMessage) -> None:
        """Remember a span in which labels or poses were doubtful."""
        self._n_doubts += 1
        self._doubts = [*self._doubts, event][:TOLD_DOUBTS]

    def next_second(self) -> None:
        """Begin a new second of recent latencies; forget those of long ago."""
        del self._latencies_ms[: max(0, len(self._latencies_ms) - MAX_KEPT)]
        self._n_before = len(self._latencies_ms)

    def recent_ms(self) -> tuple[float, ...]:
        """Return p50 and p95 of the last second, empty when nothing came."""
        recent = self._latencies_ms[self._n_before :]
        return tuple(np.percentile(recent, [50, 95]).tolist()) if recent else ()

    def report(self) -> RunReport:
        """Sum up."""
        latency = tuple(np.percentile(self._latencies_ms, [50, 95, 99]).tolist()) if self._latencies_ms else ()
        drops = dict(self.status.drops) if self.status is not None else {}
        seconds = (self._span_ns[1] - self._span_ns[0]) * 1e-9
        lines = () if self.status is None else format_cameras(self.status, seconds)
        doubtful = tuple(f"at {(event.t_ns - self._t_first_capture_ns) * 1e-9:.1f} s: {event.text}" for event in self._doubts)
        return RunReport(
            seconds, self.n_poses, self.n_tracked, latency, drops, lines, doubtful, self._n_doubts, self._landmarks.as_plain()
        )


def format_status(status: StatusMessage, latency_ms: tuple[float, ...], recording: str = "") -> str:
    """Return in a line how the run is.

    Args:
        status: what it says of itself.
        latency_ms: p50 and p95 of the last second, or empty.
        recording: how the recording is, empty where there is none.
    """
    rates, names = status.rates_hz, [name for name in status.rates_hz if name != "pose"]
    words = [
        status.state,
        f"{rates.get('pose', 0.0):.0f} poses/s of {' and '.join(f'{rates.get(name, 0.0):.0f}' for name in names)} frames",
    ]
    if latency_ms:
        words.append(f"latency {latency_ms[0]:.0f} ms, p95 {latency_ms[1]:.0f}")
    if status.lag_ns:
        words.append(f"lag {status.lag_ns * MS_PER_NS:.0f} ms")
    if status.skew_ns:
        words.append(f"skew {status.skew_ns.get('median', 0.0) * MS_PER_NS:.1f} ms")
    words += format_stamp_offsets(status)
    landmarks_hz = [read_number(status.camera(name).get("landmarks_hz")) for name in status.cameras]
    if any(rate_hz is not None for rate_hz in landmarks_hz):
        words.append(f"landmarks in {' and '.join(f'{rate_hz or 0.0:.0f}' for rate_hz in landmarks_hz)} pictures/s")
    dropped = sum(status.drops.values())
    if dropped:
        words.append(f"{dropped} dropped")
    for name, camera in status.cameras.items():
        words += [line for line in (format_camera_state(name, camera), format_node(name, camera)) if line]
    return ", ".join([*words, *([recording] if recording else [])])


def format_stamp_offsets(status: StatusMessage) -> list[str]:
    """Return by how much the stamps of each camera but the first are late, with the uncertainty, where somebody knows."""
    lines = []
    for camera in CAMERA_NAMES[1:]:
        offset = status.time_offset(camera)
        if offset is not None and (offset.late_ms or offset.sigma_ms is None or offset.sigma_ms <= UNSURE_MS):
            within = "" if offset.sigma_ms is None else f" (within {2.0 * offset.sigma_ms:.1f})"
            lines.append(f"{camera} camera's stamps {offset.late_ms:+.1f} ms late{within}")
    return lines


def format_camera_state(name: str, camera: Camera) -> str:
    """Return in words the fault of a camera; empty for one that is well."""
    state, health = str(camera.get("state", "")), str(camera.get("health", ""))
    bad = state if state not in ("", "live", "waiting") else ""
    return f"{name} {': '.join(part for part in (bad, health) if part)}" if bad or health else ""


def format_cameras(status: StatusMessage, seconds: float) -> tuple[str, ...]:
    """Return in words the figures of each camera over a run of so many seconds, and the time between them."""
    lines = [_format_camera(name, camera, seconds) for name, camera in status.cameras.items()]
    return (*lines, *format_stamp_offsets(status))


def _format_camera(name: str, camera: Camera, seconds: float) -> str:
    """Return in words how one camera did."""
    called = camera.get("name") or camera.get("address")
    frames = int(camera.get("frames", 0))
    words = [format_count(frames, "frame") + (f", {frames / seconds:.1f}/s" if seconds >= 1.0 else "")]
    words += [f"{camera[key]} {said}" for key, said in LOSSES.items() if camera.get(key)]
    words += [line for line in (str(camera.get("otherwise", "")), str(camera.get("health", ""))) if line]
    return f"{name} camera{f' ({called})' if called else ''}: " + ", ".join(words)


def format_node(name: str, camera: Camera) -> str:
    """Return in words how a camera node and its clock are; empty for a camera of this machine."""
    if "node" not in camera:
        return ""
    if camera["node"] != "ready" or "clock_offset_ns" not in camera:
        return f"{name} node {camera['node']}"
    offset, error, rtt = (float(camera.get(key, 0)) * MS_PER_NS for key in ("clock_offset_ns", "clock_error_ns", "rtt_ns"))
    return f"{name} node's clock {offset:+.2f} ms (within {error:.2f}), round trip {rtt:.1f} ms"
