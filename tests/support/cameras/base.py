"""What test cameras of every protocol share: what is played, what goes wrong, clients in threads of their own."""

import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

PATH = "/video"
NAME, PASSWORD = "ann", "s3cret!"
SEND_BUFFER_BYTES = 1 << 16  # of the socket: a reader that sleeps is noticed soon
REQUEST_BYTES = 65536
REPLIES = ("stream", "html", "401", "404", "redirect", "jpeg", "silence", "endless_header", "endless_part", "garbage")
BOUNDARIES = ("plain", "quoted", "dashed", "missing", "colon")


@dataclass(frozen=True)
class Faults:
    """What goes wrong from now on, until it is set back.

    To streams that run: jitter_s, drop, corrupt: each picture comes later by up to so much, is left out, is damaged, with this
    share; stalled: the connection stays, nothing comes; half_rate; frozen: the same picture again and again; black, overexposed;
    resized: pictures of half the size; moved: those of a camera that was bumped; length: of each part as announced, "right",
    "absent" or "wrong".
    To new connections: refuse: none is taken; reply: one of REPLIES; boundary: one of BOUNDARIES; password: asked for;
    stamp_step_s: added to the stamps, as after a restart of the sender.
    """

    jitter_s: float = 0.0
    drop: float = 0.0
    corrupt: float = 0.0
    stalled: bool = False
    half_rate: bool = False
    frozen: bool = False
    black: bool = False
    overexposed: bool = False
    resized: bool = False
    moved: bool = False
    length: str = "right"
    refuse: bool = False
    reply: str = "stream"
    boundary: str = "plain"
    password: bool = False
    stamp_step_s: float = 0.0


@dataclass(frozen=True)
class Play:
    """What is played. moved: the same as a camera sees it that was bumped.

    stamps: an X-Timestamp with every part, of a clock that runs drift_ppm fast, from stamp_epoch_s on.

    t0_s: when, by time.perf_counter, picture 0 is due, so that two servers show one scene; None: when the server starts.
    """

    jpegs: Sequence[bytes]
    fps: float = 30.0
    moved: Sequence[bytes] = ()
    loop: bool = True
    stamps: bool = False
    drift_ppm: float = 0.0
    stamp_epoch_s: float = 1000.0
    seed: int = 0
    port: int = 0
    t0_s: float | None = None
    faults: Faults = field(default_factory=Faults)


class CameraServer:
    """What servers of every protocol share: they listen, take clients in threads of their own, and are set while they run.

    n_clients: connections taken so far; n_sent: pictures sent. A client that is slow misses pictures, as with a camera.
    """

    scheme = "http"

    def __init__(self, jpegs: Sequence[bytes] = (), fps: float = 30.0, play: Play | None = None, **more: object) -> None:
        """Begin to listen. more: fields of Play, and of Faults to begin with."""
        known = {name: value for name, value in more.items() if name in Faults.__dataclass_fields__}
        rest = {name: value for name, value in more.items() if name not in known}
        self.play = play or Play(jpegs, fps, faults=Faults(**known), **rest)  # type: ignore[arg-type]
        self.faults = self.play.faults
        self.n_clients = self.n_sent = 0
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._clients: list[socket.socket] = []
        self._t0_s = time.perf_counter() if self.play.t0_s is None else self.play.t0_s
        self._port = self.play.port
        self._listener: socket.socket | None = None
        self._prepare()
        self._listen()
        self.set()

    def _prepare(self) -> None:
        """Make ready what is played."""

    def _talk(self, client: socket.socket, chance: random.Random) -> None:
        """Answer one client, until it or we have enough; chance: its own."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it plays."""
        return f"{self.scheme}://127.0.0.1:{self._port}{PATH}"

    @property
    def url_with_password(self) -> str:
        """Where it plays, with the name and password it asks for if `password` is set."""
        return f"{self.scheme}://{NAME}:{PASSWORD.replace('!', '%21')}@127.0.0.1:{self._port}{PATH}"

    def set(self, **faults: object) -> None:
        """Switch faults on or off."""
        self.faults = replace(self.faults, **faults)  # type: ignore[arg-type]
        if self.faults.refuse and self._listener is not None:
            listener, self._listener = self._listener, None
            shut(listener)
            self.disconnect()
        elif not self.faults.refuse and self._listener is None:
            self._listen()

    def disconnect(self) -> None:
        """End every connection there is."""
        with self._lock:
            for client in self._clients:
                shut(client)
            self._clients.clear()

    def stop(self) -> None:
        """End everything."""
        self._stop.set()
        if self._listener is not None:
            shut(self._listener)
        self.disconnect()

    def captured_s(self, index: int) -> float:
        """Return the moment, by time.perf_counter, at which picture `index` is due."""
        return self._t0_s + index / self.play.fps

    def _listen(self) -> None:
        """Take connections in a thread."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(8)
        self._port, self._listener = listener.getsockname()[1], listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        """Serve every client in a thread of its own."""
        while not self._stop.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            with self._lock:
                self._clients.append(client)
            self.n_clients += 1
            threading.Thread(target=self._serve, args=(client, self.n_clients), daemon=True).start()

    def _serve(self, client: socket.socket, number: int) -> None:
        """Answer one client, and forget it."""
        with contextlib.suppress(OSError):
            self._talk(client, random.Random(1000 * self.play.seed + number))
        with self._lock:
            if client in self._clients:
                self._clients.remove(client)
        shut(client)

    def _pictures(self, chance: random.Random) -> Iterator[tuple[int, Faults]]:
        """Wait for each picture that is to be sent; give its number and what is wrong at that moment."""
        index = int((time.perf_counter() - self._t0_s) * self.play.fps) + 1
        if not self.play.loop:
            index, self._t0_s = 0, time.perf_counter()
        while self.play.loop or index < len(self.play.jpegs):
            faults = self.faults
            late_s = chance.random() * faults.jitter_s
            if self._stop.wait(max(0.0, self.captured_s(index) + late_s - time.perf_counter())):
                return
            if not (faults.stalled or chance.random() < faults.drop or (faults.half_rate and index % 2 == 1)):
                yield index, faults
                self.n_sent += 1
            due = int((time.perf_counter() - self._t0_s) * self.play.fps)
            index = max(index + 1, due) if self.play.loop else index + 1

    def _stamp_s(self, index: int, faults: Faults) -> float:
        """Return what the camera's own clock shows at a picture."""
        since_s = index / self.play.fps * (1.0 + 1e-6 * self.play.drift_ppm)
        return self.play.stamp_epoch_s + faults.stamp_step_s + since_s


def shut(sock: socket.socket) -> None:
    """Close a socket so that whoever waits at it, here or there, is woken."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def read_request(client: socket.socket) -> bytes:
    """Read one request."""
    request = b""
    while b"\r\n\r\n" not in request and len(request) < REQUEST_BYTES:
        more = client.recv(4096)
        if not more:
            raise ConnectionResetError
        request += more
    return request
