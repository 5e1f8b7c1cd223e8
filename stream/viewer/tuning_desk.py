"""What the page asks of the cameras: settings while a slider moves, what a button orders; the page never waits for answers."""

import logging
import threading
from collections.abc import Callable
from html import escape

from capture.endpoints import KeySettings
from config.cameras import CAMERAS
from config.errors import DuocapError
from stream.service_client import ServiceClient

log = logging.getLogger(__name__)

Value = int | float | str | None
PERIOD_S = 0.05  # at least, between two requests while a slider moves
REST_S = 1.0
MAX_JOBS = 16


class TuningDesk:
    """Gathers what is wanted, newest value of each setting, and sends it in a thread of its own.

    words: what the last order came to, fault: why nothing can be asked at the moment, both as HTML; asked: what each camera was
    asked for, by setting, as the service tells it.
    """

    def __init__(self, address: str, keys: KeySettings | None = None) -> None:
        self._address, self._keys = address, keys
        self.words = self.fault = ""
        self.asked: dict[str, dict[str, int | float | str]] = {}
        self._wanted: dict[str, dict[str, Value]] = {}
        self._jobs: list[Callable[[ServiceClient], str]] = []
        self._lock, self._news, self._ending = threading.Lock(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Begin to work."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="viewer-tuning", daemon=True)
            self._thread.start()

    def tune(self, camera: str, values: dict[str, Value]) -> None:
        """Have settings changed soon; of what is asked for meanwhile only the newest counts. Empty camera: both."""
        with self._lock:
            for side in (camera,) if camera else CAMERAS:
                self._wanted.setdefault(side, {}).update(values)
        self._news.set()

    def order(self, job: Callable[[ServiceClient], str]) -> None:
        """Have something done once, after what is wanted already; it gives words on what came of it."""
        with self._lock:
            self._jobs = [*self._jobs[-MAX_JOBS:], job]
        self._news.set()

    def close(self) -> None:
        """Work no more."""
        self._ending.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def _run(self) -> None:
        """Send what is wanted, again and again; the body of the thread."""
        client: ServiceClient | None = None
        while not self._ending.is_set():
            try:
                client = client or ServiceClient(self._address, self._keys)
                self._send(client)
                self.asked = client.settings()
                self.fault = ""
            except DuocapError as error:
                self.fault = escape(str(error))
                if client is not None:
                    client.close()
                client = None
            self._news.wait(REST_S)
            self._ending.wait(PERIOD_S)
        if client is not None:
            client.close()

    def _send(self, client: ServiceClient) -> None:
        """Send settings, then do what was ordered; what is refused is said and forgotten."""
        self._news.clear()
        with self._lock:
            wanted, self._wanted = self._wanted, {}
            jobs, self._jobs = self._jobs, []
        try:
            for camera, values in wanted.items():
                client.tune(camera, values)
            for job in jobs:
                self.words = escape(job(client))
        except DuocapError as error:
            self.words = escape(str(error))
