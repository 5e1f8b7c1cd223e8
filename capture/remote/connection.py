"""A camera node's connection to the run it serves, on another machine: orders in, reports out, and the run's clock."""

import secrets
from collections.abc import Callable

import zmq

from capture.clock import now_ns
from capture.process.control import ClockOrder, Details, Order, ReportKind
from capture.process.link import ReportSender
from capture.remote.clock_offset import ClockFilter, ClockSample
from capture.sockets.endpoints import KeySettings, connect_socket

CLOCK_PERIOD_NS = 200_000_000
CLOCK_BURST_NS = 25_000_000  # between the first round trips
BURST = 12
ANSWER_NS = 3_000_000_000  # without an answer for so long the run is out of reach


class NodeConnection(ReportSender):
    """The node's end of the connection; for one thread. It reconnects by itself, without limit."""

    def __init__(self, address: str, keys: KeySettings | None) -> None:
        super().__init__(f"node-{secrets.token_hex(6)}", "", 300)
        self._socket.setsockopt(zmq.IMMEDIATE, 1)  # nothing is queued for a run that is not there
        self._socket.setsockopt(zmq.SNDHWM, 16)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 200)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        connect_socket(self._socket, address, keys)
        self.filter = ClockFilter()
        self._clock_due_ns = 0
        self.t_heard_ns = 0

    @property
    def is_answering(self) -> bool:
        """Whether the run's machine answered lately."""
        return self.t_heard_ns > 0 and now_ns() - self.t_heard_ns < ANSWER_NS

    @property
    def clock_known(self) -> bool:
        """Whether there were enough round trips to rely on the clock."""
        return self.filter.n_samples >= BURST

    def run_time_ns(self, t_ns: int) -> int:
        """Return what the clock of the run's machine showed when ours showed t_ns; may be called by any thread."""
        return self.filter.map.there(t_ns)

    def beat(self, counts: Callable[[], dict[str, int]], details: Callable[[], Details] = dict) -> None:
        """Report that the node lives, its state and its clock, every BEAT_PERIOD_NS."""
        super().beat(lambda: {**counts(), **self.clock_counts()}, details)

    def clock_counts(self) -> dict[str, int]:
        """Return the offset of this machine's clock (ours minus the run's), its bound and the round trip [ns]."""
        if not self.filter.known:
            return {}
        offset_ns = -self.filter.map.offset_at(now_ns())
        return {
            "clock_offset_ns": offset_ns,
            "clock_error_ns": self.filter.error_ns,
            "rtt_ns": self.filter.rtt_ns,
            "clock_jumps": self.filter.n_jumps,
        }

    def orders(self, timeout_ms: int) -> list[Order]:
        """Return the orders that came, waiting at most timeout_ms for the first; ask for the time when due."""
        orders: list[Order] = []
        self._request_time()
        due_ms = max(1, (self._clock_due_ns - now_ns()) // 1_000_000)
        if not self._socket.poll(min(timeout_ms, due_ms)):
            return orders
        for order, t_ns in self._receive_orders():
            self.t_heard_ns = t_ns
            if isinstance(order, ClockOrder):
                self.filter.add(ClockSample(order.t0_ns, order.t1_ns, order.t2_ns, t_ns))
            else:
                orders.append(order)
        return orders

    def _request_time(self) -> None:
        """Begin a round trip when due."""
        now = now_ns()
        if now >= self._clock_due_ns:
            period_ns = CLOCK_PERIOD_NS if self.clock_known else CLOCK_BURST_NS
            self._clock_due_ns = now + period_ns
            self.report(ReportKind.CLOCK, counts={"t0_ns": now_ns()})
