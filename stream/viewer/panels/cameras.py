"""The cameras' pictures with the detections drawn in."""

from typing import Protocol

import numpy as np
import viser

from config.arrays import Image
from config.settings import CAMERA_NAMES
from stream.viewer.html import wrap_in_box
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.html import set_html

EMPTY = np.zeros((9, 16, 3), np.uint8)


class PictureProvider(Protocol):
    """Provider of the cameras' pictures."""

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures, or no longer."""

    def pictures(self) -> tuple[Image | None, ...]:
        """Return the newest ones, by camera."""


class CamerasPanel:
    """Pictures of all cameras, a few a second; the cameras encode them only while a page is open.

    hidden: shown elsewhere; sent: they come from cameras, which can be told to send none, and not from a recorded session.
    """

    period_s = 0.2

    def __init__(self, provider: PictureProvider, actions: PageActions, sent: bool = True) -> None:
        self._provider, self._actions, self._sent = provider, actions, sent
        self.hidden = False

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        if self._sent:
            wanted = gui.add_checkbox("Pictures", True, hint="Off: the cameras encode none")
            wanted.on_update(lambda event: self._want(event.target.value))
        self._message = gui.add_html("")
        self._images = [gui.add_image(EMPTY, label=f"{name} camera", jpeg_quality=70, visible=False) for name in CAMERA_NAMES]
        self._last: list[Image | None] = [None] * len(CAMERA_NAMES)

    def update(self, view: AppSnapshot) -> None:
        """Show new pictures, unless they are shown elsewhere."""
        pictures: tuple[Image | None, ...] = () if self.hidden else self._provider.pictures()
        for n, handle in enumerate(self._images):
            picture = pictures[n] if n < len(pictures) else None
            if picture is not None and picture is not self._last[n]:
                handle.image = picture
                self._last[n] = picture
            if handle.visible != (picture is not None):
                handle.visible = picture is not None
        none = not self.hidden and all(picture is None for picture in pictures)
        set_html(self._message, wrap_in_box("No pictures: this stream's cameras send none.") if none else "")

    def _want(self, wanted: bool) -> None:
        """Request pictures, or none."""
        self._actions.put(lambda: self._provider.want_pictures(wanted))
