"""What the viewer asks of the program that publishes, in threads of its own so that the page never waits for an answer."""

import logging
import threading
from collections.abc import Mapping

from capture.endpoints import KeySettings
from config.errors import DuocapError
from stream.service import ServiceError
from stream.service_client import ServiceClient
from stream.viewer.tuning_desk import TuningDesk

log = logging.getLogger(__name__)

PERIOD_S = 1.0
ASK_MS = 1000


class ServiceDesk:
    """Start and stop recordings, and know what is recorded and how far the publisher's clock is from ours.

    stream: address of what the page shows; a service that belongs to another stream is not asked to record.
    file: of the recording that runs, "" if none; offset_ns: the publisher's clock less ours, 0 until it has answered; tuning:
    what is asked of the cameras.
    """

    def __init__(self, address: str, keys: KeySettings | None = None, stream: str = "") -> None:
        self._address, self._keys, self._stream = address, keys, stream
        self.file = ""
        self.offset_ns = 0
        self.tuning = TuningDesk(address, keys)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="viewer-service", daemon=True)
        self._thread.start()

    def start(self, name: str | None) -> str:
        """Have a recording begin; gives its file. For any thread. Raises DuocapError: refused, or nobody answers."""
        client = ServiceClient(self._address, self._keys)
        try:
            self._check(client.info())
            self.file = client.record_start(name)
            return self.file
        finally:
            client.close()

    def stop(self) -> str:
        """Have it end; gives the file when it is complete. Raises as `start` does."""
        client = ServiceClient(self._address, self._keys)
        try:
            self._check(client.info())
            file = client.record_stop()
            self.file = ""
            return file
        finally:
            client.close()

    def close(self) -> None:
        """Ask no more."""
        self._ending.set()
        self._thread.join(2.0 * ASK_MS * 1e-3)

    def _check(self, info: Mapping[str, object]) -> None:
        """Raise ServiceError if what answers is not what the page shows: two runs on a machine, with one service for both."""
        theirs = str(info.get("stream", ""))
        if self._stream and theirs and theirs.rpartition(":")[2] != self._stream.rpartition(":")[2]:
            raise ServiceError(
                f"the service at {self._address} belongs to the stream at {theirs}, not to this one; "
                "start this run and its viewer with a stream.service of their own"
            )

    def _ask(self) -> None:
        """Ask again and again; the body of the thread."""
        try:
            client = ServiceClient(self._address, self._keys, ASK_MS)
        except DuocapError as error:
            log.warning("no recording from the page: %s", error)
            return
        while not self._ending.wait(PERIOD_S):
            try:
                info = client.info()
                self._check(info)
                self.file = str(info.get("recording", "") or "")
                self.offset_ns = client.clock_offset()
            except DuocapError:
                self.file = ""  # nobody there, or nobody there yet
        client.close()
