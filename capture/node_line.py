"""A camera node's line to the run it works for, on another machine: orders in, reports out, and the run's clock."""

import logging
import secrets
from collections.abc import Callable

import zmq

from capture.binding import connected
from capture.clock import now_ns
from capture.clock_offset import ClockFilter, ClockMap, ClockSample
from capture.control import Details, Order, Report, decode_order, encode_report
from capture.endpoints import KeySettings
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError

log = logging.getLogger(__name__)

BEAT_PERIOD_NS = 250_000_000
CLOCK_PERIOD_NS = 200_000_000
CLOCK_BURST_NS = 25_000_000  # between the first round trips
BURST = 12
ANSWER_NS = 3_000_000_000  # a question without an answer for so long: the run is out of reach


class RunClock:
    """The clock of the run's machine as this one knows it; one thread sets the map, any may read it."""

    def __init__(self) -> None:
        self.map = ClockMap()

    def now_ns(self) -> int:
        """Give what it shows now."""
        return self.map.there(now_ns())

    def of(self, t_ns: int) -> int:
        """Give what it showed when this machine's clock showed t_ns."""
        return self.map.there(t_ns)


class NodeLine:
    """The node's end of the connection; use it from one thread. It connects again by itself, for as long as it takes."""

    def __init__(self, address: str, keys: KeySettings | None) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IDENTITY, f"node-{secrets.token_hex(6)}".encode())
        self._socket.setsockopt(zmq.LINGER, 300)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.IMMEDIATE, 1)  # nothing is kept for a run that is not there
        self._socket.setsockopt(zmq.SNDHWM, 16)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 200)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        connected(self._socket, address, keys)
        self.session = ""
        self.clock = RunClock()
        self.filter = ClockFilter()
        self._beat_due_ns = self._clock_due_ns = 0
        self.t_heard_ns = 0
        self.n_malformed = 0

    @property
    def reached(self) -> bool:
        """Whether the run's machine answered lately."""
        return self.t_heard_ns > 0 and now_ns() - self.t_heard_ns < ANSWER_NS

    @property
    def clock_known(self) -> bool:
        """Whether the clock was asked often enough to rely on."""
        return self.filter.n_samples >= BURST

    def report(self, kind: str, text: str = "", counts: dict[str, int] | None = None, details: Details | None = None) -> None:
        """Tell the run something; never waits, and what cannot leave is lost."""
        try:
            self._socket.send(encode_report(Report(kind, self.session, text, counts or {}, details or {})), zmq.NOBLOCK)
        except zmq.Again:
            log.debug("out of reach; report %s dropped", kind)

    def beat(self, counts: Callable[[], dict[str, int]], details: Callable[[], Details] = dict) -> None:
        """Tell that the node lives, how it is and what its clock is, a few times a second."""
        now = now_ns()
        if now >= self._beat_due_ns:
            self._beat_due_ns = now + BEAT_PERIOD_NS
            self.report("beat", counts={**counts(), **self.clock_counts()}, details=details())

    def clock_counts(self) -> dict[str, int]:
        """Give this machine's clock against the run's: offset (ours minus the run's), its bound and the round trip [ns]."""
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
        """Give the orders that came, waiting at most timeout_ms for the first; asks for the time when that is due."""
        orders: list[Order] = []
        self._ask_time()
        due_ms = max(1, (self._clock_due_ns - now_ns()) // 1_000_000)
        if not self._socket.poll(min(timeout_ms, due_ms)):
            return orders
        while self._socket.poll(0):
            payload = self._socket.recv(zmq.NOBLOCK)
            t_ns = now_ns()
            try:
                order = decode_order(payload)
                if order.kind == "clock":
                    self._take_time(order, t_ns)
                else:
                    orders.append(order)
                self.t_heard_ns = t_ns
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return orders

    def _ask_time(self) -> None:
        """Begin a round trip when it is due."""
        now = now_ns()
        if now >= self._clock_due_ns:
            period_ns = CLOCK_PERIOD_NS if self.clock_known else CLOCK_BURST_NS
            self._clock_due_ns = now + period_ns
            self.report("clock", counts={"t0_ns": now_ns()})

    def _take_time(self, order: Order, t_ns: int) -> None:
        """End a round trip."""
        stamps = [order.details.get(name) for name in ("t0_ns", "t1_ns", "t2_ns")]
        if not all(isinstance(stamp, int) for stamp in stamps):
            raise MalformedMessageError("an answer of the clock without its stamps came; it was dropped")
        t0, t1, t2 = (int(stamp) for stamp in stamps if stamp is not None)
        self.filter.add(ClockSample(t0, t1, t2, t_ns))
        self.clock.map = self.filter.map

    def close(self) -> None:
        """Let the last report leave, then close."""
        self._socket.close()
