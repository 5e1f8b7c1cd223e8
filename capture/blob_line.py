"""How a camera's blobs leave its process: when the frames of a recording are due, and the socket they go by."""

import zmq

from capture.binding import connected
from capture.endpoints import KeySettings, is_loopback
from capture.packets import Frame

SEND_BUFFER_MESSAGES = 8


class Pace:
    """When the frames of a paced source are due, by the clock of the machine that reconstructs.

    A frame that is a whole period late is skipped, as a camera would drop it.
    """

    def __init__(self, t_start_ns: int, fps: float) -> None:
        self._t_start_ns, self._period_ns = t_start_ns, int(1e9 / fps)

    def due_ns(self, frame: Frame) -> int:
        """Give the time at which a frame is captured."""
        return self._t_start_ns + frame.t_capture_ns

    def is_late(self, frame: Frame, now: int) -> bool:
        """Tell whether the next frame is already due as well."""
        return now > self.due_ns(frame) + self._period_ns


class BlobLine:
    """The socket blobs leave by; the address may change, as when the reconstruction is started again. One thread uses it."""

    def __init__(self, keys: KeySettings | None) -> None:
        self._keys, self._address = keys, ""
        self._socket: zmq.Socket[bytes] | None = None

    def send(self, payload: bytes, address: str) -> bool:
        """Send without waiting; False where nobody took it. Raises EndpointError, KeyFileError."""
        if address != self._address or self._socket is None:
            self._connect(address)
        assert self._socket is not None
        try:
            self._socket.send(payload, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def _connect(self, address: str) -> None:
        """Leave the old address for a new one."""
        self.close(0)
        self._socket = zmq.Context.instance().socket(zmq.PUSH)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, 0)
        # Across a network, what cannot be delivered now is of no use later: a peer that comes back begins with the present.
        self._socket.setsockopt(zmq.IMMEDIATE, 0 if is_loopback(address) else 1)
        connected(self._socket, address, self._keys)
        self._address = address

    def close(self, linger_ms: int = 500) -> None:
        """Close the socket, letting the last leave."""
        if self._socket is not None:
            self._socket.close(linger_ms)
            self._socket = None
