"""What a subscriber hears of a run: poses by state, latencies by stage and second, events; minute by minute."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.report import compute_percentiles
from reconstruct.pose import TrackingState
from stream.protocol.messages import EventMessage, PoseMessage, StatusMessage
from stream.publish.subscriber import Subscriber

MS = 1e-6
TURN_MS = 5


@dataclass(slots=True)
class Minute:
    """Messages of a minute. latencies_ms: by stage and `total`, from capture to publishing."""

    states: Counter[str] = field(default_factory=Counter)
    latencies_ms: dict[str, "array[float]"] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    longest_gap_ms: float = 0.0
    seconds_ms: dict[int, "array[float]"] = field(default_factory=dict)

    @property
    def p95_by_second_ms(self) -> list[float]:
        """The 95th percentile of the latencies of each second."""
        return [compute_percentiles(values, 95.0)[0] for values in self.seconds_ms.values()]

    def percentiles(self, stage: str = "total") -> tuple[float, ...]:
        """Return p50, p95, p99 [ms]."""
        return compute_percentiles(self.latencies_ms.get(stage, ()))

    @property
    def tracked(self) -> float:
        """Share of the poses that were tracked."""
        return self.states["tracking"] / max(self.states.total(), 1)


class MinuteListener:
    """Receives the stream, minute by minute. whole: all of it."""

    def __init__(self, address: str) -> None:
        self._subscriber = Subscriber(address, ("pose", "status", "event"))
        self.minute = Minute()
        self.status: StatusMessage | None = None
        self.whole = Minute()
        self._t_last_ns = 0

    def listen(self) -> None:
        """Take the messages that have come."""
        for message in self._subscriber.receive(TURN_MS):
            if isinstance(message, PoseMessage):
                for minute in (self.minute, self.whole):
                    self._add(message, minute)
                self._t_last_ns = message.t_publish_ns
            elif isinstance(message, StatusMessage):
                self.status = message
            elif isinstance(message, EventMessage):
                self.minute.events.append(message.text)

    def next_minute(self) -> Minute:
        """Return the minute that ends, and begin the next."""
        ended, self.minute = self.minute, Minute()
        return ended

    def close(self) -> None:
        """Stop listening."""
        self._subscriber.close()

    def _add(self, pose: PoseMessage, minute: Minute) -> None:
        """Count one pose; only tracked ones have a latency."""
        minute.states[str(pose.state)] += 1
        if self._t_last_ns:
            minute.longest_gap_ms = max(minute.longest_gap_ms, (pose.t_publish_ns - self._t_last_ns) * MS)
        if pose.state is TrackingState.TRACKING:
            stages = {**pose.latency_ns, "total": pose.t_publish_ns - pose.t_capture_ns}
            for stage, value_ns in stages.items():
                minute.latencies_ms.setdefault(stage, array("d")).append(value_ns * MS)
            minute.seconds_ms.setdefault(pose.t_capture_ns // 10**9, array("d")).append(stages["total"] * MS)
