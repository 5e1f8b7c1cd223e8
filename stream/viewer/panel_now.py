"""The head of the page, the last events in words, and the button that records."""

from html import escape
from typing import Protocol

import viser

from config.errors import DuocapError
from stream.viewer.view import View, set_html
from stream.viewer.words import box, head_html, news_html

RECORD, STOP = "Record", "Stop recording"


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


class Desk(Protocol):
    """Whoever has the stream recorded. file: of the recording that runs, "" if none."""

    file: str

    def start(self, name: str | None) -> str:
        """Begin; gives the file. Raises DuocapError."""

    def stop(self) -> str:
        """End; gives the file when it is complete. Raises DuocapError."""


class RecordPanel:
    """Record the run that is watched: the program that publishes writes the file, this page only asks it to."""

    period_s = 0.3

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._running = self._busy = False

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets."""
        with gui.add_folder("Recording"):
            self._name = gui.add_text("Name", "", hint="Of the file; left empty, the date and time")
            self._button = gui.add_button(RECORD, icon=viser.Icon.PLAYER_RECORD_FILLED, color="red")
            self._words = gui.add_html("")
        self._button.on_click(lambda _: self._press())

    def update(self, view: View) -> None:
        """Follow what the program that publishes says: another page may have pressed the button, too."""
        running = bool(view.recording)
        if not self._busy and running != self._running:
            self._running = running
            self._button.label = STOP if running else RECORD
            self._button.icon = viser.Icon.PLAYER_STOP_FILLED if running else viser.Icon.PLAYER_RECORD_FILLED
        disabled = self._busy or view.waiting or view.silent
        if self._button.disabled != disabled:
            self._button.disabled = disabled

    def _press(self) -> None:
        """Start or stop; runs in a thread of the server's pool, since the answer may take a while."""
        if self._busy:
            return
        self._busy = True
        try:
            if self._running:
                words = f"Recorded: {self._desk.stop()}. See it with duocap view, get BVH, C3D, GLB and more with duocap export."
            else:
                words = f"Recording to {self._desk.start(self._name.value.strip() or None)}"
        except DuocapError as error:
            words = str(error)
        finally:
            self._busy = False
        set_html(self._words, box(escape(words)))
