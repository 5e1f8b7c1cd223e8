"""Other pages as parts of the start page: on its server, with a way back to the steps."""

import threading
from collections.abc import Callable
from html import escape

import viser

from stream.guidance.page import GuideButton, GuidePage
from stream.web.html import QUIET_RGB
from stream.web.widgets import set_html

BACK = "Back to the steps"


class PartLeftError(Exception):
    """Somebody went back to the steps while a part had the page; what was under way is given up."""


class GuidePart(GuidePage):
    """The guidance on the server of another page; `asked`, which its loop calls at every turn, raises PartLeftError."""

    def __init__(self, server: viser.ViserServer, title: str, dark: bool) -> None:
        super().__init__(server, title, dark)
        self._left = add_back_button(server)

    def asked(self) -> list[GuideButton]:
        """Return the buttons that were pressed since the last call. Raises PartLeftError."""
        if self._left.is_set():
            raise PartLeftError
        return super().asked()

    def close(self) -> None:
        """Leave the server to the page whose part this is."""


def add_back_button(server: viser.ViserServer, label: str = BACK) -> threading.Event:
    """Add the button that leads back, above all others; return what is set when it is pressed."""
    left = threading.Event()
    button = server.gui.add_button(label, icon=viser.Icon.ARROW_LEFT, color=QUIET_RGB, order=-1.0)
    button.on_click(lambda _: left.set())
    return left


def add_note(server: viser.ViserServer) -> Callable[[str], None]:
    """Add a line of text below the button that leads back; return what sets it."""
    note = server.gui.add_html("", order=-0.5)
    return lambda text: set_html(note, f'<div style="padding:0.2em 0.8em;opacity:0.85">{escape(text)}</div>')
