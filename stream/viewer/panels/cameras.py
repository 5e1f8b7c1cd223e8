"""The cameras' pictures with the detections drawn in."""

from collections.abc import Callable

import numpy as np
import viser

from config.arrays import Image
from config.settings import CAMERA_NAMES
from stream.viewer.html import wrap_in_box
from stream.viewer.view import AppSnapshot
from stream.web.widgets import on_user_input, set_html, set_values

Pictures = tuple[Image | None, ...]
EMPTY = np.zeros((9, 16, 3), np.uint8)


class CamerasPanel:
    """Pictures of all cameras, a few a second; the cameras encode them only while a page is open.

    Args:
        pictures: returns the newest ones, by camera.
        want: has the cameras send pictures, or no longer; None: they are of a recorded session.
    Attributes:
        hidden: they are shown elsewhere.
    """

    period_s = 0.2

    def __init__(self, pictures: Callable[[], Pictures], want: Callable[[bool], None] | None = None) -> None:
        self._pictures, self._want = pictures, want
        self.hidden = False

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        if self._want is not None:
            on_user_input(gui.add_checkbox("Pictures", True, hint="Off: the cameras encode none"), self._want)
        self._message = gui.add_html("")
        self._images = [gui.add_image(EMPTY, label=f"{name} camera", jpeg_quality=70, visible=False) for name in CAMERA_NAMES]
        self._last: list[Image | None] = [None] * len(CAMERA_NAMES)

    def update(self, view: AppSnapshot) -> None:
        """Show new pictures, unless they are shown elsewhere."""
        pictures: Pictures = () if self.hidden else self._pictures()
        for n, handle in enumerate(self._images):
            picture = pictures[n] if n < len(pictures) else None
            if picture is not None and picture is not self._last[n]:
                handle.image = picture
                self._last[n] = picture
            set_values(handle, visible=picture is not None)
        none = not self.hidden and all(picture is None for picture in pictures)
        set_html(self._message, wrap_in_box("No pictures: this stream's cameras send none.") if none else "")
