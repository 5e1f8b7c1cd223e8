"""One camera looked at closely: its newest preview, in the way that is wished for; the camera encodes it only meanwhile."""

import logging

from capture.process.preview import PreviewSubscriber
from capture.process.preview_image import Preview, PreviewRequest
from capture.sockets.wire import MalformedMessageError
from config.arrays import Image

log = logging.getLogger(__name__)


class CameraPreview:
    """Looks at one camera while it is open; call it from one thread.

    newest: the last preview and its picture, BGR, None where none has come since something else was wished for.
    """

    def __init__(self) -> None:
        self.newest: tuple[Preview, Image] | None = None
        self._wish = PreviewRequest()
        self._subscriber: PreviewSubscriber | None = None
        self._address = ""

    def look(self, address: object, wish: PreviewRequest) -> None:
        """Look at a camera whose previews are at an address; not at all where that is none."""
        text = address if isinstance(address, str) else ""
        if text != self._address:
            self.close()
            self._address = text
            try:
                self._subscriber = PreviewSubscriber(text, wish) if text else None
            except MalformedMessageError as error:
                log.debug("%s", error)
        elif self._subscriber is not None and wish != self._wish:
            self._subscriber.request(wish)
        self._wish = wish

    def turn(self) -> bool:
        """Take the newest preview if one has come; tell whether one has."""
        preview = self._subscriber.newest() if self._subscriber is not None else None
        if preview is None:
            return False
        try:
            self.newest = preview, preview.image()
        except MalformedMessageError as error:
            log.debug("%s", error)
            return False
        return True

    def close(self) -> None:
        """Look no longer."""
        if self._subscriber is not None:
            self._subscriber.close()
        self._subscriber, self._address, self.newest = None, "", None
