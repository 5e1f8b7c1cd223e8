"""A client of the service socket: ask the publishing process for its clock, for recordings and for what runs there."""

from collections.abc import Mapping
from typing import Any

import msgpack
import zmq

from capture.binding import connected
from capture.clock import now_ns
from capture.clock_offset import ClockFilter, ClockSample
from capture.endpoints import KeySettings
from capture.wire import MalformedMessageError, field_of, int_of, unpacked_map
from config.cameras import CAMERAS
from stream.service import MAX_REQUEST_BYTES, SCHEMA, ServiceError

TIMEOUT_MS = 2000
STOP_TIMEOUT_MS = 25_000
CLOCK_ROUNDS = 8
MAX_ANSWER_BYTES = 65536


class ServiceClient:
    """Ask one publisher; not shared between threads. clock: what is known of its clock, better with each `clock_offset`.

    Raises EndpointError for what is no address, KeyFileError for keys that are missing; each request raises ServiceError when no
    answer comes in time or the publisher refuses, in its words.
    """

    def __init__(self, address: str, keys: KeySettings | None = None, timeout_ms: int = TIMEOUT_MS) -> None:
        self.address, self.clock = address, ClockFilter()
        self._timeout_ms, self._number = timeout_ms, 0
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER_BYTES)
        connected(self._socket, address, keys)

    def clock_offset(self, rounds: int = CLOCK_ROUNDS) -> int:
        """Give the publisher's clock minus ours [ns], after some more round trips; `clock` holds the error bound."""
        for _ in range(rounds):
            answer, t3_ns = self._ask("clock", t0_ns=now_ns())
            t0_ns, t1_ns, t2_ns = (int_of(answer, key, -(2**63)) for key in ("t0_ns", "t_received_ns", "t_sent_ns"))
            self.clock.add(ClockSample(t0_ns, t1_ns, t2_ns, t3_ns))
        return self.clock.offset_ns

    def record_start(self, name: str | None = None) -> str:
        """Start recording under a plain name, or one of the time; gives the file on the publisher's machine."""
        return str(field_of(self._ask("record", on=True, name=name)[0], "file", str))

    def record_stop(self) -> str:
        """Stop recording; gives the file when it is complete."""
        return str(field_of(self._ask("record", STOP_TIMEOUT_MS, on=False)[0], "file", str))

    def info(self) -> dict[str, Any]:
        """Give session, subject, version, addresses and the recording of what runs there."""
        return self._ask("info")[0]

    def tune(self, camera: str, values: Mapping[str, int | float | str | None]) -> None:
        """Change settings of a running camera, `left`, `right` or both where it is empty: {"detector.k_sigma": 5.0}.

        A control of the camera is a text, "camera.exposure": "-6" or "auto"; None takes a setting back to what it is without
        tuning; "background": "learn" has the background learned anew.
        """
        self._ask("tune", camera=camera, values=dict(values))

    def sync(self, way: str, offset_ms: float | None = None) -> None:
        """Have the cameras' time offset found by a `flash` or a `jump`, which an event tells, or set it [ms]."""
        self._ask("sync", way=way, offset_ms=offset_ms)

    def save_tuned(self) -> tuple[str, str]:
        """Keep what was tuned for later runs; gives the file on the publisher's machine, and in words what will not count."""
        content = self._ask("save_tuned")[0]
        return str(field_of(content, "file", str)), str(field_of(content, "note", str))

    def settings(self) -> dict[str, dict[str, int | float | str]]:
        """Give what each camera was asked for, by setting."""
        content = self._ask("settings")[0]
        return {side: dict(field_of(content, side, dict)) for side in CAMERAS}

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _ask(self, request: str, timeout_ms: int | None = None, **values: Any) -> tuple[dict[str, Any], int]:
        """Send a request and wait for its answer; gives it with the time of its receipt [ns]."""
        self._number += 1
        content = {"schema": SCHEMA, "id": self._number, "request": request, **values}
        payload = bytes(msgpack.packb(content))
        if len(payload) > MAX_REQUEST_BYTES:
            raise ServiceError(f"a request of {len(payload)} bytes is too long; give a shorter name")
        wait_ms = max(timeout_ms or 0, self._timeout_ms)
        deadline_ns = now_ns() + wait_ms * 1_000_000
        try:
            self._socket.send(payload, zmq.NOBLOCK)
            while (left_ms := (deadline_ns - now_ns()) // 1_000_000) > 0 and self._socket.poll(left_ms):
                answer, t_ns = self._socket.recv(zmq.NOBLOCK), now_ns()
                found = self._matching(answer)
                if found is not None:
                    return found, t_ns
        except zmq.Again:
            pass
        raise ServiceError(f"{self.address}: no answer within {wait_ms / 1e3:g} s; does a duocap run there? see stream.service")

    def _matching(self, answer: bytes) -> dict[str, Any] | None:
        """Give the answer to the last request; None for a late one to an earlier request, or noise."""
        try:
            content = unpacked_map(answer)
            if int_of(content, "id") != self._number:
                return None
        except MalformedMessageError:
            return None
        if "error" in content:
            raise ServiceError(str(content["error"])[:1000])
        return content
