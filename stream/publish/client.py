"""A client of the service: requests to the publishing process for its clock, recordings and the tuning of its cameras."""

from collections.abc import Mapping
from typing import Any

import msgpack
import zmq

from capture.clock import now_ns
from capture.remote.clock_offset import ClockFilter, ClockSample
from capture.sockets.endpoints import KeySettings, connect_socket
from capture.sockets.wire import MalformedMessageError, read_int_field, read_message_field, unpack_map
from config.settings import CAMERA_NAMES
from stream.publish.service import MAX_REQUEST_BYTES, SCHEMA, ServiceError

TIMEOUT_MS = 2000
STOP_TIMEOUT_MS = 25_000
CLOCK_ROUNDS = 8
MAX_ANSWER_BYTES = 65536


class ServiceClient:
    """Send requests to one publisher; not shared between threads. clock: estimate of its clock, refined by `clock_offset`.

    Raises EndpointError for an invalid address, KeyFileError for keys that are missing; each request raises ServiceError if no
    answer comes in time or the publisher refuses.
    """

    def __init__(self, address: str, keys: KeySettings | None = None, timeout_ms: int = TIMEOUT_MS) -> None:
        self.address, self.clock = address, ClockFilter()
        self._timeout_ms, self._number = timeout_ms, 0
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_ANSWER_BYTES)
        connect_socket(self._socket, address, keys)

    def clock_offset(self, rounds: int = CLOCK_ROUNDS) -> int:
        """Return the publisher's clock minus ours [ns] after more round trips; `clock` has the error bound."""
        for _ in range(rounds):
            answer, t3_ns = self._request("clock", t0_ns=now_ns())
            t0_ns, t1_ns, t2_ns = (read_int_field(answer, key, -(2**63)) for key in ("t0_ns", "t_received_ns", "t_sent_ns"))
            self.clock.add(ClockSample(t0_ns, t1_ns, t2_ns, t3_ns))
        return self.clock.offset_ns

    def record_start(self, name: str | None = None) -> str:
        """Start recording under a plain name, or one by the time; return the file on the publisher's machine."""
        return str(read_message_field(self._request("record", on=True, name=name)[0], "file", str))

    def record_stop(self) -> str:
        """Stop recording; return the file when it is complete."""
        return str(read_message_field(self._request("record", STOP_TIMEOUT_MS, on=False)[0], "file", str))

    def info(self) -> dict[str, Any]:
        """Return session, subject, version, addresses and recording of the run."""
        return self._request("info")[0]

    def tune(self, camera: str, values: Mapping[str, int | float | str | None]) -> None:
        """Change settings of a running camera, `left`, `right`, `third`..., or all where it is empty: {"detector.k_sigma": 5.0}.

        Controls of the camera are texts, "camera.exposure": "-6" or "auto"; None takes the tuning of a setting back;
        "background": "learn" has the background learned again.
        """
        self._request("tune", camera=camera, values=dict(values))

    def sync(self, way: str, offset_ms: float | None = None, camera: str = CAMERA_NAMES[1]) -> None:
        """Have the cameras' time offsets estimated by a `flash` or a `jump`, told in events, or set that of a camera [ms].

        Args:
            way: `flash` or `jump`; of no meaning where offset_ms is given.
            offset_ms: offset to set [ms]; None to have it estimated.
            camera: camera whose offset is set, any but the first.
        """
        self._request("sync", way=way, offset_ms=offset_ms, camera=camera)

    def recentre(self) -> None:
        """Have the performer stand over the world's origin, looking along +Z, from the next pose on."""
        self._request("recentre")

    def save_tuned(self) -> tuple[str, str]:
        """Save the tuning for later runs; return the file on the publisher's machine, and a note on settings without effect."""
        content = self._request("save_tuned")[0]
        return str(read_message_field(content, "file", str)), str(read_message_field(content, "note", str))

    def settings(self) -> dict[str, dict[str, int | float | str]]:
        """Return the settings requested of each camera, by name."""
        content = self._request("settings")[0]
        return {name: dict(read_message_field(content, name, dict)) for name in CAMERA_NAMES if name in content}

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _request(self, kind: str, timeout_ms: int | None = None, **values: Any) -> tuple[dict[str, Any], int]:
        """Send a request; return its answer and the time of receipt [ns]."""
        self._number += 1
        payload = bytes(msgpack.packb({"schema": SCHEMA, "id": self._number, "request": kind, **values}))
        if len(payload) > MAX_REQUEST_BYTES:
            raise ServiceError(f"a request of {len(payload)} bytes is too long; give a shorter name")
        wait_ms = max(timeout_ms or 0, self._timeout_ms)
        deadline_ns = now_ns() + wait_ms * 1_000_000
        try:
            self._socket.send(payload, zmq.NOBLOCK)
            while (left_ms := (deadline_ns - now_ns()) // 1_000_000) > 0 and self._socket.poll(left_ms):
                answer, t_ns = self._socket.recv(zmq.NOBLOCK), now_ns()
                content = self._matching(answer)
                if content is not None:
                    return content, t_ns
        except zmq.Again:
            pass
        raise ServiceError(f"{self.address}: no answer within {wait_ms / 1e3:g} s; does a duocap run there? see stream.service")

    def _matching(self, answer: bytes) -> dict[str, Any] | None:
        """Return an answer if it is to the last request. Raises ServiceError if it is a refusal."""
        try:
            content = unpack_map(answer)
            if read_int_field(content, "id") != self._number:
                return None
        except MalformedMessageError:
            return None
        if "error" in content:
            raise ServiceError(str(content["error"])[:1000])
        return content
