"""The newest preview of one camera, fetched only while a page asks for it."""

import logging

from capture.process.preview import PreviewSubscriber
from capture.process.preview_image import Preview, PreviewRequest
from capture.sockets.wire import MalformedMessageError
from config.arrays import Image

log = logging.getLogger(__name__)


class CameraPreview:
    """Subscribe to the previews of one camera; not shared between threads.

    Attributes:
        newest: last preview and its image, BGR; None until one has come.
        n_malformed: number of addresses and previews that were refused.
    """

    def __init__(self) -> None:
        self.newest: tuple[Preview, Image] | None = None
        self.n_malformed = 0
        self._request = PreviewRequest()
        self._subscriber: PreviewSubscriber | None = None
        self._address = ""

    def subscribe(self, address: object, request: PreviewRequest | None = None) -> None:
        """Subscribe to an address with a request; to nothing where the address is not a text or empty."""
        text, request = address if isinstance(address, str) else "", request or PreviewRequest()
        if text != self._address:
            self.close()
            self._address = text
            try:
                self._subscriber = PreviewSubscriber(text, request) if text else None
            except MalformedMessageError as error:
                self._count(error)
        elif self._subscriber is not None and request != self._request:
            self._subscriber.request(request)
        self._request = request

    def poll(self) -> bool:
        """Read the newest preview without waiting; return whether there was one."""
        preview = self._subscriber.newest() if self._subscriber is not None else None
        if preview is None:
            return False
        try:
            self.newest = preview, preview.image()
        except MalformedMessageError as error:
            self._count(error)
            return False
        return True

    def close(self) -> None:
        """Unsubscribe and forget the newest preview."""
        if self._subscriber is not None:
            self._subscriber.close()
        self._subscriber, self._address, self.newest = None, "", None

    def _count(self, error: MalformedMessageError) -> None:
        """Count and log what was refused."""
        self.n_malformed += 1
        log.debug("%s", error)
