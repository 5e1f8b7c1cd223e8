"""The cameras' own pictures with what was detected in them."""

from typing import Protocol

import numpy as np
import viser

from stream.viewer.stage_cameras import Image
from stream.viewer.view import Orders, View, set_html
from stream.viewer.words import box

NAMES = ("left camera", "right camera")
EMPTY = np.zeros((9, 16, 3), np.uint8)


class Eyes(Protocol):
    """Whoever has pictures."""

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures, or no longer."""

    def pictures(self) -> tuple[Image | None, ...]:
        """Give the newest ones, left first."""


class CamerasPanel:
    """Pictures of both cameras, a few a second; the cameras encode them only while a page is open. hidden: shown elsewhere."""

    period_s = 0.2

    def __init__(self, eyes: Eyes, orders: Orders) -> None:
        self._eyes, self._orders = eyes, orders
        self.hidden = False

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets."""
        wanted = gui.add_checkbox("Pictures", True, hint="Off: the cameras encode none")
        wanted.on_update(lambda event: self._want(event.target.value))
        self._words = gui.add_html("")
        self._images = [gui.add_image(EMPTY, label=name, jpeg_quality=70, visible=False) for name in NAMES]
        self._last: list[Image | None] = [None] * len(NAMES)

    def update(self, view: View) -> None:
        """Show new pictures, unless they are seen elsewhere."""
        pictures: tuple[Image | None, ...] = (None,) * len(NAMES) if self.hidden else self._eyes.pictures()
        for n, picture in enumerate(pictures):
            handle = self._images[n]
            if picture is not None and picture is not self._last[n]:
                handle.image = picture
                self._last[n] = picture
            if handle.visible != (picture is not None):
                handle.visible = picture is not None
        words = (
            ""
            if self.hidden or any(picture is not None for picture in pictures)
            else "No pictures: this stream's cameras send none."
        )
        set_html(self._words, box(words) if words else "")

    def _want(self, wanted: bool) -> None:
        """Order pictures, or none."""
        self._orders.give(lambda: self._eyes.want_pictures(wanted))
