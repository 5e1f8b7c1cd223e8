"""What the viewer asks of the publishing process, from threads of its own: the page never waits for an answer."""

import logging
import threading
from collections.abc import Callable, Mapping
from html import escape

from capture.sockets.endpoints import KeySettings
from config.errors import DuocapError
from stream.publish.client import ServiceClient
from stream.publish.service import ServiceError

log = logging.getLogger(__name__)

Value = int | float | str | None
MIN_PERIOD_S = 0.05  # between two requests while a slider moves
IDLE_S = 1.0
MAX_JOBS = 16
INFO_PERIOD_S = 1.0
INFO_TIMEOUT_MS = 1000


class TuningRequests:
    """Collect the settings that are wanted, the newest value of each, and send them from a thread.

    message: result of the last job, fault: why nothing can be requested at present, both as HTML; settings: of each camera, by
    name, as the service last told them.
    """

    def __init__(self, address: str, keys: KeySettings | None = None) -> None:
        self._address, self._keys = address, keys
        self.message = self.fault = ""
        self.settings: dict[str, dict[str, int | float | str]] = {}
        self._wanted: dict[str, dict[str, Value]] = {}
        self._jobs: list[Callable[[ServiceClient], str]] = []
        self._lock, self._changed, self._ending = threading.Lock(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Start the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="viewer-tuning", daemon=True)
            self._thread.start()

    def tune(self, camera: str, values: dict[str, Value]) -> None:
        """Have settings changed soon, by name; camera: empty for all. Of several values of one setting the newest is sent."""
        with self._lock:
            self._wanted.setdefault(camera, {}).update(values)
        self._changed.set()

    def submit(self, job: Callable[[ServiceClient], str]) -> None:
        """Have a job done once, after the settings that are wanted already; it returns the message to show."""
        with self._lock:
            self._jobs = [*self._jobs[-MAX_JOBS:], job]
        self._changed.set()

    def close(self) -> None:
        """Stop the thread."""
        self._ending.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def _run(self) -> None:
        """Send what is wanted until closed; the body of the thread."""
        client: ServiceClient | None = None
        while not self._ending.is_set():
            try:
                client = client or ServiceClient(self._address, self._keys)
                self._send(client)
                self.settings = client.settings()
                self.fault = ""
            except DuocapError as error:
                self.fault = escape(str(error))
                if client is not None:
                    client.close()
                client = None
            self._changed.wait(IDLE_S)
            self._ending.wait(MIN_PERIOD_S)
        if client is not None:
            client.close()

    def _send(self, client: ServiceClient) -> None:
        """Send the settings, then do the jobs; a refusal becomes the message."""
        self._changed.clear()
        with self._lock:
            wanted, self._wanted = self._wanted, {}
            jobs, self._jobs = self._jobs, []
        try:
            for camera, values in wanted.items():
                client.tune(camera, values)
            for job in jobs:
                self.message = escape(job(client))
        except DuocapError as error:
            self.message = escape(str(error))


class ServiceRequests:
    """Start and stop recordings, and follow the running recording and the publisher's clock.

    Args:
        address: address of the service.
        keys: keys for that address.
        stream: address of the stream on the page; a service of another stream is not asked to record.
    Attributes:
        file: file of the recording that runs, "" if none.
        folder: folder that recordings are written to, "" until it has answered.
        take: folder of the session that the whole run is recorded to, "" if it is not.
        offset_ns: the publisher's clock less ours [ns], 0 until it has answered.
        tuning: requests to the cameras.
    """

    def __init__(self, address: str, keys: KeySettings | None = None, stream: str = "") -> None:
        self._address, self._keys, self._stream = address, keys, stream
        self.file = self.folder = self.take = ""
        self.offset_ns = 0
        self.tuning = TuningRequests(address, keys)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="viewer-service", daemon=True)
        self._thread.start()

    def start(self, name: str | None) -> str:
        """Start a recording; return its file. For any thread. Raises DuocapError: refused, or no answer."""
        self.file = self._request(lambda client: client.record_start(name))
        return self.file

    def stop(self) -> str:
        """Stop the recording; return its file when it is complete. Raises as `start` does."""
        file = self._request(ServiceClient.record_stop)
        self.file = ""
        return file

    def recentre(self) -> None:
        """Have the performer be the world's origin, facing forward. Raises DuocapError: refused, or no answer."""

        def asked(client: ServiceClient) -> str:
            client.recentre()
            return ""

        self._request(asked)

    def close(self) -> None:
        """Stop the thread."""
        self._ending.set()
        self._thread.join(2.0 * INFO_TIMEOUT_MS * 1e-3)

    def _request(self, request: Callable[[ServiceClient], str]) -> str:
        """Send one request to the service of this stream."""
        client = ServiceClient(self._address, self._keys)
        try:
            self._check(client.info())
            return request(client)
        finally:
            client.close()

    def _check(self, info: Mapping[str, object]) -> None:
        """Raise ServiceError if the service belongs to another stream: two runs on a machine, with one service for both."""
        theirs = str(info.get("stream", ""))
        if self._stream and theirs and theirs.rpartition(":")[2] != self._stream.rpartition(":")[2]:
            raise ServiceError(
                f"the service at {self._address} belongs to the stream at {theirs}, not to this one; "
                "start this run and its viewer with a stream.service of their own"
            )

    def _run(self) -> None:
        """Follow recording and clock until closed; the body of the thread."""
        try:
            client = ServiceClient(self._address, self._keys, INFO_TIMEOUT_MS)
        except DuocapError as error:
            log.warning("no recording from the page: %s", error)
            return
        while not self._ending.wait(INFO_PERIOD_S):
            try:
                info = client.info()
                self._check(info)
                told = [str(info.get(name, "") or "") for name in ("recording", "recordings", "take")]
                self.file, self.folder, self.take = told
                self.offset_ns = client.clock_offset()
            except DuocapError:
                self.file = self.take = ""  # no answer, or none yet
        client.close()
