"""The relay for browsers: a subscriber that forwards each message over WebSocket, only the newest pose to slow browsers.

A binary WebSocket message is one message of the stream, byte for byte: topic, space, msgpack map. Any page that a user visits can
try to reach this machine's ports, so pages of other sites are refused unless their origin was named.
"""

import asyncio
import errno
import logging
import re
import threading
from collections import deque
from collections.abc import Sequence

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Origin

from capture.sockets.endpoints import KeySettings
from config.errors import DuocapError, describe_reason
from stream.publish.publisher import MAX_REQUEST_BYTES
from stream.publish.subscriber import open_subscription

log = logging.getLogger(__name__)

LAST_VALUES = (b"skeleton", b"rig", b"status", b"pose")  # of these, only the newest matters
EVENTS_KEPT = 100
MAX_CONNECTIONS = 64
POLL_MS = 100
BUFFER_MESSAGES = 64
OWN_ORIGINS = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


class RelayError(DuocapError):
    """The relay's own address cannot be used."""


class Mailbox:
    """The messages that one browser has not been sent yet: the newest of each topic, and the events."""

    def __init__(self) -> None:
        self._newest: dict[bytes, bytes] = {}
        self._events: deque[bytes] = deque(maxlen=EVENTS_KEPT)
        self.filled = asyncio.Event()
        self.n_skipped = 0

    def put(self, payload: bytes) -> None:
        """Add a message; an older one of its topic that still waits is dropped."""
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
        """Return and remove all messages: a skeleton before the poses that need it."""
        waiting = [self._newest.pop(topic) for topic in LAST_VALUES if topic in self._newest]
        waiting += self._events
        self._events.clear()
        self.filled.clear()
        return waiting


class Relay:
    """Forward one stream to browsers, in one event loop. n_refused: connections that were refused."""

    def __init__(self, origins: Sequence[str] = ()) -> None:
        self._origins = [OWN_ORIGINS, None, *(Origin(origin) for origin in origins)]
        self._last: dict[bytes, bytes] = {}
        self._mailboxes: set[Mailbox] = set()
        self._server: Server | None = None
        self.n_refused = 0

    @property
    def n_listening(self) -> int:
        """Number of browsers that are connected."""
        return len(self._mailboxes)

    @property
    def has_heard(self) -> bool:
        """Whether any message of the stream has come."""
        return bool(self._last)

    async def open(self, host: str, port: int) -> int:
        """Listen; return the port, a free one for 0. Raises RelayError."""
        try:
            self._server = await serve(
                self._attend,
                host,
                port,
                origins=self._origins,
                process_request=self._admit,
                process_response=self._count,
                compression=None,  # packed floats hardly shrink, and compression costs time on both sides
                max_size=MAX_REQUEST_BYTES,
                max_queue=1,
            )
        except OSError as error:
            why = f"port {port} is taken" if error.errno == errno.EADDRINUSE else describe_reason(error)
            raise RelayError(f"{host}:{port}: cannot listen there ({why}); choose another with --port") from error
        return int(next(iter(self._server.sockets)).getsockname()[1])

    async def close(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def offer(self, payload: bytes) -> None:
        """Queue one message of the stream for every browser."""
        topic = payload.partition(b" ")[0]
        if topic in LAST_VALUES:
            self._last[topic] = payload
        for mailbox in self._mailboxes:
            mailbox.put(payload)

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse more than MAX_CONNECTIONS browsers."""
        if len(self._mailboxes) < MAX_CONNECTIONS:
            return None
        return Response(503, "Service Unavailable", Headers(), b"too many connections\n")

    def _count(self, connection: ServerConnection, request: Request, response: Response) -> None:
        """Count the refused connections."""
        self.n_refused += response.status_code != 101

    async def _attend(self, connection: ServerConnection) -> None:
        """Send to one browser at its own rate until it disconnects."""
        mailbox = Mailbox()
        for topic in LAST_VALUES:
            if topic in self._last:
                mailbox.put(self._last[topic])
        self._mailboxes.add(mailbox)
        sending = asyncio.create_task(_send_all(connection, mailbox))
        try:
            async for _ in connection:
                pass  # whatever a browser sends is ignored
        except ConnectionClosed:
            log.debug("a browser disconnected without closing")
        finally:
            self._mailboxes.discard(mailbox)
            sending.cancel()


async def _send_all(connection: ServerConnection, mailbox: Mailbox) -> None:
    """Send the messages of a mailbox; waits while the browser's side is full."""
    try:
        while True:
            await mailbox.filled.wait()
            for payload in mailbox.take():
                await connection.send(payload)
    except ConnectionClosed:
        return


class StreamReader:
    """The thread that receives the stream and passes payloads to an event loop."""

    def __init__(self, address: str, keys: KeySettings, relay: Relay, loop: asyncio.AbstractEventLoop) -> None:
        self._relay, self._loop = relay, loop
        self._stop = threading.Event()
        topics = [f"{topic.decode()} " for topic in (*LAST_VALUES, b"event")]
        self._socket = open_subscription(address, topics, keys, BUFFER_MESSAGES)
        self._thread = threading.Thread(target=self._read, name="relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        """Pass on every payload; the body of the thread."""
        while not self._stop.is_set():
            if self._socket.poll(POLL_MS):
                self._loop.call_soon_threadsafe(self._relay.offer, self._socket.recv())
