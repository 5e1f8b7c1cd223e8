"""The stream for browsers: a subscriber that hands each message on over WebSocket, the newest pose to whoever is slow.

A binary WebSocket message is one message of the stream, byte for byte: topic, space, msgpack map. Any page a user visits can try
to reach this machine's ports, so pages of other sites are refused unless their origin was named.
"""

import asyncio
import errno
import logging
import re
import threading
from collections import deque
from collections.abc import Sequence

import zmq
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Origin

from capture.binding import connected
from capture.endpoints import KeySettings
from capture.wire import MAX_MESSAGE_BYTES
from config.errors import DuocapError, reason

log = logging.getLogger(__name__)

LAST_VALUES = (b"skeleton", b"rig", b"status", b"pose")  # of these, only the newest matters
EVENTS_KEPT = 100
MAX_CONNECTIONS = 64
MAX_REQUEST_BYTES = 1024
POLL_MS = 100
OWN_ORIGINS = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


class RelayError(DuocapError):
    """The relay's own address cannot be used."""


class Mailbox:
    """What one browser has not been sent yet: the newest message of each kind, and the events."""

    def __init__(self) -> None:
        self._newest: dict[bytes, bytes] = {}
        self._events: deque[bytes] = deque(maxlen=EVENTS_KEPT)
        self.filled = asyncio.Event()
        self.n_skipped = 0

    def put(self, payload: bytes) -> None:
        """Take a message; an older one of its kind that still waits is dropped."""
        topic = payload.partition(b" ")[0]
        if topic == b"event":
            self._events.append(payload)
        elif topic in LAST_VALUES:
            self.n_skipped += topic in self._newest
            self._newest[topic] = payload
        else:
            return
        self.filled.set()

    def take(self) -> list[bytes]:
        """Give all that waits: a skeleton before the poses that need it."""
        waiting = [self._newest.pop(topic) for topic in LAST_VALUES if topic in self._newest]
        waiting += self._events
        self._events.clear()
        self.filled.clear()
        return waiting


class Relay:
    """Hand one stream on to browsers; lives in one event loop. n_refused: pages turned away."""

    def __init__(self, origins: Sequence[str] = ()) -> None:
        self._origins = [OWN_ORIGINS, None, *(Origin(origin) for origin in origins)]
        self._last: dict[bytes, bytes] = {}
        self._mailboxes: set[Mailbox] = set()
        self._server: Server | None = None
        self.n_refused = 0

    @property
    def n_listening(self) -> int:
        """How many browsers are connected."""
        return len(self._mailboxes)

    async def open(self, host: str, port: int) -> int:
        """Listen; give the port, a free one for 0. Raises RelayError."""
        try:
            self._server = await serve(
                self._attend,
                host,
                port,
                origins=self._origins,
                process_request=self._admit,
                process_response=self._count,
                compression=None,  # packed floats hardly shrink, and it costs time on both sides
                max_size=MAX_REQUEST_BYTES,
                max_queue=1,
            )
        except OSError as error:
            why = f"port {port} is taken" if error.errno == errno.EADDRINUSE else reason(error)
            raise RelayError(f"{host}:{port}: cannot listen there ({why}); choose another with --port") from error
        return int(next(iter(self._server.sockets)).getsockname()[1])

    async def close(self) -> None:
        """Say goodbye to all browsers."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def offer(self, payload: bytes) -> None:
        """Take one message of the stream for everybody."""
        topic = payload.partition(b" ")[0]
        if topic in LAST_VALUES:
            self._last[topic] = payload
        for mailbox in self._mailboxes:
            mailbox.put(payload)

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse more browsers than anybody needs."""
        if len(self._mailboxes) < MAX_CONNECTIONS:
            return None
        return Response(503, "Service Unavailable", Headers(), b"too many connections\n")

    def _count(self, connection: ServerConnection, request: Request, response: Response) -> None:
        """Count who was turned away."""
        self.n_refused += response.status_code != 101

    async def _attend(self, connection: ServerConnection) -> None:
        """Send to one browser at its own pace until it leaves."""
        mailbox = Mailbox()
        for topic in LAST_VALUES:
            if topic in self._last:
                mailbox.put(self._last[topic])
        self._mailboxes.add(mailbox)
        sending = asyncio.create_task(_send_all(connection, mailbox))
        try:
            async for _ in connection:
                pass  # browsers have nothing to say
        except ConnectionClosed:
            log.debug("a browser left without a word")
        finally:
            self._mailboxes.discard(mailbox)
            sending.cancel()


async def _send_all(connection: ServerConnection, mailbox: Mailbox) -> None:
    """Send whatever the mailbox holds, again and again; waits while the browser's side is full."""
    try:
        while True:
            await mailbox.filled.wait()
            for payload in mailbox.take():
                await connection.send(payload)
    except ConnectionClosed:
        return


class StreamReader:
    """The thread that listens to the stream and hands payloads to an event loop."""

    def __init__(self, address: str, keys: KeySettings, relay: Relay, loop: asyncio.AbstractEventLoop) -> None:
        self._relay, self._loop = relay, loop
        self._stop = threading.Event()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVHWM, 64)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        for topic in (*LAST_VALUES, b"event"):
            self._socket.subscribe(topic + b" ")
        connected(self._socket, address, keys)
        self._thread = threading.Thread(target=self._read, name="relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        """Hand on what comes; the event loop is told at once."""
        while not self._stop.is_set():
            if self._socket.poll(POLL_MS):
                self._loop.call_soon_threadsafe(self._relay.offer, self._socket.recv())
