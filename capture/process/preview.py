"""Send and receive small images of a camera with what was detected; they are encoded only while somebody looks.

The one exception to "pixels stay in their camera's process" (docs/decisions/0021-previews.md). The reading thread hands over a
frame and goes on; a thread of the publisher makes the previews and sends them, at most one every PERIOD_NS, or every
LATE_PERIOD_NS while the machine is short.
"""

import logging
import re
import threading
from collections.abc import Callable

import zmq

from capture.packets import Blobs, Frame
from capture.process.preview_image import (
    DetectorOverlay,
    Preview,
    PreviewRequest,
    decode_preview,
    encode_preview,
    make_preview,
    parse_topic,
)
from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError

log = logging.getLogger(__name__)

PERIOD_NS = 100_000_000
LATE_PERIOD_NS = 1_000_000_000  # while detection does not keep up with the camera
SEND_BUFFER_MESSAGES = 4
TURN_MS = 100
MAX_SUBSCRIPTION_BYTES = 256
MAX_REQUESTS = 4  # at once; more are not served
JOIN_S = 1.0
LOOPBACK = r"tcp://127\.0\.0\.1:([0-9]{1,5})"


class PreviewPublisher:
    """The previews of one camera on a free loopback port; `offer` is called by one thread and never waits.

    overlay: returns what the detector saw in the frame, called by the thread that offers. address: where to subscribe; wanted:
    whether somebody looks; n_sent: number of previews sent; resting: whether they give way to detection.
    """

    def __init__(self, overlay: Callable[[], DetectorOverlay] | None = None) -> None:
        self._overlay: Callable[[], DetectorOverlay] = overlay or DetectorOverlay
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XPUB)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION_BYTES)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.n_sent = 0
        self._requests: dict[bytes, PreviewRequest] = {}
        self._latest: tuple[Frame, Blobs, DetectorOverlay] | None = None
        self._offered, self._stop = threading.Event(), threading.Event()
        self._t_offered_ns, self._period_ns = -PERIOD_NS, PERIOD_NS
        self.wanted = False
        self._thread = threading.Thread(target=self._run, name="preview", daemon=True)
        self._thread.start()

    @property
    def resting(self) -> bool:
        """Whether previews give way to detection, which does not keep up."""
        return self.wanted and self._period_ns == LATE_PERIOD_NS

    def offer(self, frame: Frame, blobs: Blobs, late: bool = False) -> None:
        """Hand over a frame and its blobs, if somebody looks and a preview is due; the image must not change any more.

        Args:
            blobs: the markers detected in it.
            late: detection took longer than a frame; previews are rare until the next one after a frame that was in time.
        """
        if late:
            self._period_ns = LATE_PERIOD_NS
        if not self.wanted or 0 <= frame.t_capture_ns - self._t_offered_ns < self._period_ns:
            return
        self._t_offered_ns, self._period_ns = frame.t_capture_ns, LATE_PERIOD_NS if late else PERIOD_NS
        self._latest = (frame, blobs, self._overlay())
        self._offered.set()

    def close(self) -> None:
        """End the thread and close the socket."""
        self._stop.set()
        self._offered.set()
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        """Wait for subscribers, then for frames; an error ends the previews and nothing else."""
        try:
            while not self._stop.is_set():
                self._read_subscriptions(0 if self._requests else TURN_MS)
                if self._requests and self._offered.wait(TURN_MS * 1e-3):
                    self._offered.clear()
                    self._send()
        except Exception as error:
            log.warning("no more previews of this camera: %s: %s", type(error).__name__, " ".join(str(error).split()))
            log.debug("the fault", exc_info=True)
        finally:
            self.wanted = False
            self._socket.close(0)

    def _read_subscriptions(self, timeout_ms: int) -> None:
        """Take subscriptions and cancellations."""
        wait_ms = timeout_ms
        while self._socket.poll(wait_ms, zmq.POLLIN):
            message, wait_ms = self._socket.recv(zmq.NOBLOCK), 0
            topic, request = message[1:], parse_topic(message[1:])
            if message[:1] != b"\x01":
                self._requests.pop(topic, None)
            elif request is not None and len(self._requests) < MAX_REQUESTS:
                self._requests[topic] = request
        self.wanted = bool(self._requests)

    def _send(self) -> None:
        """Encode and send the newest frame in every requested way."""
        latest, self._latest = self._latest, None
        if latest is None:
            return
        frame, blobs, overlay = latest
        for topic, request in self._requests.items():
            try:
                self._socket.send(topic + encode_preview(make_preview(frame, blobs, request, overlay)), zmq.NOBLOCK)
                self.n_sent += 1
            except zmq.Again:
                log.debug("a preview was not sent: the subscriber is slow")


class PreviewSubscriber:
    """Receive previews from an address of this machine, keeping only the newest; for one thread.

    n_malformed: messages that were no previews. Raises MalformedMessageError for any other address.
    """

    def __init__(self, address: str, request: PreviewRequest | None = None) -> None:
        port = re.fullmatch(LOOPBACK, address)
        if port is None or not 0 < int(port[1]) < 1 << 16:
            raise MalformedMessageError(f"{address[:100]!r} is no address of previews; expected tcp://127.0.0.1:PORT")
        self._request, self.address, self.n_malformed = request or PreviewRequest(), address, 0
        self._socket = self._connected()

    def request(self, request: PreviewRequest) -> None:
        """Request something else from now on."""
        if request != self._request:
            # A socket that keeps only the newest message does so in both directions: of two subscriptions one would be lost.
            self._socket.close()
            self._request = request
            self._socket = self._connected()

    def _connected(self) -> "zmq.Socket[bytes]":
        """Open a socket for the present request."""
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        socket.setsockopt(zmq.CONFLATE, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        socket.subscribe(self._request.topic)
        socket.connect(self.address)
        return socket

    def newest(self) -> Preview | None:
        """Return the newest preview if one came since the last call; never waits."""
        if not self._socket.poll(0):
            return None
        try:
            topic, end, payload = self._socket.recv(zmq.NOBLOCK).partition(b"\n")
            return decode_preview(payload) if topic + end == self._request.topic else None  # else it is late
        except MalformedMessageError as error:
            self.n_malformed += 1
            log.debug("%s", error)
            return None

    def close(self) -> None:
        """Close the socket; the camera then stops encoding."""
        self._socket.close()
