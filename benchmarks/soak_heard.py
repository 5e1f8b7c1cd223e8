"""What the soak hears of a run, minute by minute."""

import math
from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from stream.messages import EventMessage, PoseMessage, StatusMessage
from stream.subscriber import Subscriber

MS = 1e-6
TURN_MS = 5


@dataclass(slots=True)
class Minute:
    """What was heard in a minute. latencies_ms: by stage and `total`, from the capture's stamp to publishing."""

    states: Counter[str] = field(default_factory=Counter)
    latencies_ms: dict[str, "array[float]"] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    longest_gap_ms: float = 0.0

    def percentiles(self, stage: str = "total") -> list[float]:
        """Give p50, p95, p99 [ms]."""
        found = self.latencies_ms.get(stage)
        return np.percentile(np.frombuffer(found, float), [50, 95, 99]).tolist() if found else [math.nan] * 3

    @property
    def tracked(self) -> float:
        """Share of the poses that were tracked."""
        return self.states["tracking"] / max(self.states.total(), 1)


class Heard:
    """Listens to the stream, minute by minute."""

    def __init__(self, address: str) -> None:
        self._subscriber = Subscriber(address, ("pose", "status", "event"))
        self.minute = Minute()
        self.status: StatusMessage | None = None
        self.whole = Minute()
        self._t_last_ns = 0

    def listen(self) -> None:
        """Take what came."""
        for message in self._subscriber.heard(TURN_MS):
            if isinstance(message, PoseMessage):
                for minute in (self.minute, self.whole):
                    self._add(message, minute)
                self._t_last_ns = message.t_publish_ns
            elif isinstance(message, StatusMessage):
                self.status = message
            elif isinstance(message, EventMessage):
                self.minute.events.append(message.text)

    def next_minute(self) -> Minute:
        """Give the minute that ends, and begin another."""
        ended, self.minute = self.minute, Minute()
        return ended

    def close(self) -> None:
        """Stop listening."""
        self._subscriber.close()

    def _add(self, pose: PoseMessage, minute: Minute) -> None:
        """Count one pose; those that are only held have no latency."""
        minute.states[pose.state] += 1
        if self._t_last_ns:
            minute.longest_gap_ms = max(minute.longest_gap_ms, (pose.t_publish_ns - self._t_last_ns) * MS)
        if pose.state == "tracking":
            stages = {**pose.latency_ns, "total": pose.t_publish_ns - pose.t_capture_ns}
            for stage, value_ns in stages.items():
                minute.latencies_ms.setdefault(stage, array("d")).append(value_ns * MS)
