"""Small pictures of a camera for the eyes of the user, with what was detected: encoded only while somebody looks.

The one exception to "pixels stay in their camera's process" (docs/decisions/0021-previews.md). The camera's thread hands over a
frame and goes on; a thread of the preview's own makes of it what is wished for, and sends it, at most PERIOD_NS apart.
"""

import logging
import re
import threading
from collections.abc import Callable

import zmq

from capture.look import Look, Looks
from capture.packets import Blobs, Frame
from capture.preview_picture import Preview, Wish, decode_preview, encode_preview, preview_of, wish_of
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError

log = logging.getLogger(__name__)

PERIOD_NS = 100_000_000
SEND_BUFFER_MESSAGES = 4
TURN_MS = 100
MAX_SUBSCRIPTION_BYTES = 256
MAX_WISHES = 4  # at once; more are not encoded
JOIN_S = 1.0
LOOPBACK = r"tcp://127\.0\.0\.1:([0-9]{1,5})"


class PreviewPublisher:
    """The previews of one camera on a free loopback port; `offer` is called by one thread and never waits for anything.

    looks: tells what the detector saw of the frame, if it does; asked in the thread that offers. address: where to subscribe;
    n_sent: how many were sent, for tests and logs.
    """

    def __init__(self, looks: Looks | None = None) -> None:
        self._looks: Callable[[], Look] = looks or Look
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XPUB)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION_BYTES)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.n_sent = 0
        self._wishes: dict[bytes, Wish] = {}
        self._latest: tuple[Frame, Blobs, Look] | None = None
        self._offered, self._stop = threading.Event(), threading.Event()
        self._due_ns = 0
        self.wanted = False
        self._thread = threading.Thread(target=self._run, name="preview", daemon=True)
        self._thread.start()

    def offer(self, frame: Frame, blobs: Blobs) -> None:
        """Hand over a frame and its blobs, if somebody looks and it is time for a picture; the image must not change any more."""
        if not self.wanted or 0 < self._due_ns - frame.t_capture_ns <= PERIOD_NS:
            return
        self._due_ns = frame.t_capture_ns + PERIOD_NS
        self._latest = (frame, blobs, self._looks())
        self._offered.set()

    def close(self) -> None:
        """End the thread and close the socket."""
        self._stop.set()
        self._offered.set()
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        """Wait for somebody to look, then for frames; an error ends the previews and nothing else."""
        try:
            while not self._stop.is_set():
                self._hear(0 if self._wishes else TURN_MS)
                if self._wishes and self._offered.wait(TURN_MS * 1e-3):
                    self._offered.clear()
                    self._send()
        except Exception as error:
            log.warning("no more previews of this camera: %s: %s", type(error).__name__, " ".join(str(error).split()))
            log.debug("the fault", exc_info=True)
        finally:
            self.wanted = False
            self._socket.close(0)

    def _hear(self, timeout_ms: int) -> None:
        """Take note of who begins and ceases to look."""
        wait_ms = timeout_ms
        while self._socket.poll(wait_ms, zmq.POLLIN):
            request, wait_ms = self._socket.recv(zmq.NOBLOCK), 0
            topic, wish = request[1:], wish_of(request[1:])
            if request[:1] != b"\x01":
                self._wishes.pop(topic, None)
            elif wish is not None and len(self._wishes) < MAX_WISHES:
                self._wishes[topic] = wish
        self.wanted = bool(self._wishes)

    def _send(self) -> None:
        """Encode and send the newest frame, in every way it is wished for."""
        latest, self._latest = self._latest, None
        if latest is None:
            return
        frame, blobs, look = latest
        for topic, wish in self._wishes.items():
            try:
                self._socket.send(topic + encode_preview(preview_of(frame, blobs, wish, look)), zmq.NOBLOCK)
                self.n_sent += 1
            except zmq.Again:
                log.debug("a preview was not sent: whoever looks is slow")


class PreviewSubscriber:
    """Look at the previews at one address of this machine; only the newest is ever kept. Use it from one thread.

    wish: what to see, which `want` changes; n_malformed: messages that were no previews. Raises MalformedMessageError for any
    other address.
    """

    def __init__(self, address: str, wish: Wish | None = None) -> None:
        port = re.fullmatch(LOOPBACK, address)
        if port is None or not 0 < int(port[1]) < 1 << 16:
            raise MalformedMessageError(f"{address[:100]!r} is no address of previews; expected tcp://127.0.0.1:PORT")
        self.wish, self.address, self.n_malformed = wish or Wish(), address, 0
        self._socket = self._connected()

    def want(self, wish: Wish) -> None:
        """See something else from now on."""
        if wish != self.wish:
            # A socket that keeps only the newest message does so in both directions: of two orders the first would be lost.
            self._socket.close()
            self.wish = wish
            self._socket = self._connected()

    def _connected(self) -> "zmq.Socket[bytes]":
        """Open a socket that hears what is wished for."""
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        socket.setsockopt(zmq.CONFLATE, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        socket.subscribe(self.wish.topic)
        socket.connect(self.address)
        return socket

    def newest(self) -> Preview | None:
        """Give the newest preview if one has come since the last call; never waits."""
        if not self._socket.poll(0):
            return None
        try:
            topic, end, payload = self._socket.recv(zmq.NOBLOCK).partition(b"\n")
            return decode_preview(payload) if topic + end == self.wish.topic else None  # else it comes late
        except MalformedMessageError as error:
            self.n_malformed += 1
            log.debug("%s", error)
            return None

    def close(self) -> None:
        """Look no longer; the camera then stops encoding."""
        self._socket.close()
