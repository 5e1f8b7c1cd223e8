"""The head of the page, the last events in words, and the button that records."""

import logging
from collections.abc import Callable
from html import escape

import viser

from config.errors import DuocapError
from stream.viewer.view import Orders, View, set_html
from stream.viewer.words import box, head_html, news_html

log = logging.getLogger(__name__)

Start = Callable[[str | None], str]
Stop = Callable[[], object]


class HeadPanel:
    """Who, in which state, how fast and how late, in plain words."""

    period_s = 0.2

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widget."""
        self._html = gui.add_html("")

    def update(self, view: View) -> None:
        """Say it anew."""
        pose = view.tracks[0].shown(view.cursor_s)
        set_html(self._html, head_html(view, pose))


class NewsPanel:
    """What happened, newest first."""

    period_s = 0.5

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widget."""
        with gui.add_folder("What happened"):
            self._html = gui.add_html("")

    def update(self, view: View) -> None:
        """Say what is new."""
        set_html(self._html, news_html(news for track in view.tracks for news in track.news))


class RecordPanel:
    """Record the run that is watched: the program that publishes writes the file, this page only asks it to.

    start, stop: ask for it; called outside the app's thread since an answer may take a while. told: hears of the file, "" at the
    end.
    """

    period_s = 0.5

    def __init__(self, orders: Orders, start: Start, stop: Stop, told: Callable[[str], None]) -> None:
        self._orders, self._start, self._stop, self._told = orders, start, stop, told
        self._running = self._busy = False

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets."""
        with gui.add_folder("Recording"):
            self._name = gui.add_text("Name", "", hint="Of the file; left empty, the date and time")
            self._button = gui.add_button("Record", icon=viser.Icon.PLAYER_RECORD_FILLED, color="red")
            self._words = gui.add_html("")
        self._button.on_click(lambda _: self._press())

    def update(self, view: View) -> None:
        """Follow what the program that publishes says: another page may have pressed the button, too."""
        running = bool(view.recording)
        if not self._busy and running != self._running:
            self._show(running)
        self._button.disabled = self._busy or (view.waiting or view.silent)

    def _press(self) -> None:
        """Start or stop; runs in a thread of the server's pool."""
        if self._busy:
            return
        self._busy = True
        try:
            words = self._stopped() if self._running else self._started()
        except DuocapError as error:
            words = str(error)
        except OSError as error:
            words = f"recording is not possible: {error}"
        finally:
            self._busy = False
        set_html(self._words, box(escape(words)))

    def _started(self) -> str:
        """Ask for a recording; give what to say."""
        file = self._start(self._name.value.strip() or None)
        self._orders.give(lambda: self._told(file))
        self._show(True)
        return f"Recording to {file}"

    def _stopped(self) -> str:
        """Ask for its end; give what to say."""
        self._stop()
        self._orders.give(lambda: self._told(""))
        self._show(False)
        return "Recorded. Look at it with duocap view FILE, or turn it into BVH, C3D, GLB and more with duocap export FILE."

    def _show(self, running: bool) -> None:
        """Let the button say what it would do."""
        self._running = running
        self._button.label = "Stop recording" if running else "Record"
        self._button.icon = viser.Icon.PLAYER_STOP_FILLED if running else viser.Icon.PLAYER_RECORD_FILLED
