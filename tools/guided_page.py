"""The page of a guided calibration, opened beside it: on this machine, in the system's browser if there is a display."""

import contextlib
import time
import webbrowser
from collections.abc import Callable, Iterator

from config.errors import DuocapError
from config.settings import Settings
from stream.guidance.page import AGAIN, CLOSE, GuidePage
from stream.viewer.server import open_server, url_of
from tools.dark import prefers_dark
from tools.viewer import SEEN_S, can_browse

TURN_S = 0.1


@contextlib.contextmanager
def open_page(settings: Settings, title: str, tell: Callable[[str], None], wanted: bool) -> Iterator[GuidePage | None]:
    """Have a page while the block runs; yields None where it is not wanted or could not be opened: words in the terminal do.

    A page is told of, and opened by itself where there is a display.
    """
    page = None
    if wanted:
        try:
            server = open_server(settings.viewer.host, settings.viewer.port, "duocap")
        except DuocapError as error:
            tell(f"without a page: {error}")
        else:
            theme = settings.viewer.theme
            page = GuidePage(server, title, theme == "dark" or (theme == "auto" and prefers_dark()))
            url = url_of(settings.viewer.host, server.get_port())
            tell(f"guidance: {url}")
            if can_browse():
                with contextlib.suppress(webbrowser.Error):
                    webbrowser.open(url)
    try:
        yield page
    finally:
        if page is not None:
            page.close()


def look_at_result(page: GuidePage, tell: Callable[[str], None]) -> bool:
    """Stay while somebody looks at what came out; True: all is to be done again. Ctrl-C and a closed page end it, too."""
    if not page.n_pages:
        return False
    tell("the result is on the page; close it or press Ctrl-C to end")
    last_seen_s = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() - last_seen_s < SEEN_S:
            asked = page.asked()
            if AGAIN in asked:
                return True
            if CLOSE in asked:
                return False
            if page.n_pages:
                last_seen_s = time.monotonic()
            time.sleep(TURN_S)
    return False
