"""The head of the page, the last notices, and the button that records."""

from html import escape
from typing import Protocol

import viser

from config.errors import DuocapError
from stream.viewer.html import format_head_html, format_notices_html, wrap_in_box
from stream.viewer.view import AppSnapshot
from stream.web.html import set_html

RECORD, STOP = "Record", "Stop recording"
ORIGIN = "Performer to the origin"
RECORD_RGB = (179, 38, 30)  # white text on it has a contrast of 6.5 to 1


class HeadPanel:
    """Subject, tracking state, rate and latency."""

    period_s = 0.2

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widget."""
        self._html = gui.add_html("")

    def update(self, view: AppSnapshot) -> None:
        """Update the text."""
        set_html(self._html, format_head_html(view, view.tracks[0].pose_at(view.cursor_s)))


class EventsPanel:
    """Events, newest first."""

    period_s = 0.5

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widget."""
        with gui.add_folder("What happened"):
            self._html = gui.add_html("")

    def update(self, view: AppSnapshot) -> None:
        """Update the text."""
        set_html(self._html, format_notices_html(notice for track in view.tracks for notice in track.notices))


class RecordingControls(Protocol):
    """Controls of a recording of the stream. file: of the recording that runs, "" if none."""

    file: str

    def start(self, name: str | None) -> str:
        """Start a recording; return its file. Raises DuocapError."""

    def stop(self) -> str:
        """Stop it; return its file when it is complete. Raises DuocapError."""

    def recentre(self) -> None:
        """Have the performer be the world's origin, facing forward. Raises DuocapError."""


class RecordPanel:
    """Record the run that is watched, and make the performer the origin: this page only requests it of the publishing program."""

    period_s = 0.3

    def __init__(self, controls: RecordingControls) -> None:
        self._controls = controls
        self._running = self._busy = False

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        with gui.add_folder("Recording"):
            self._name = gui.add_text("Name", "", hint="Of the file; left empty, the date and time")
            self._button = gui.add_button(RECORD, icon=viser.Icon.PLAYER_RECORD_FILLED, color=RECORD_RGB)
            self._place = gui.add_html("")
            self._message = gui.add_html("")
        self._button.on_click(lambda _: self._press())
        with gui.add_folder("World"):
            origin = gui.add_button(ORIGIN, icon=viser.Icon.CURRENT_LOCATION, hint="Facing forward: key O")
        origin.on_click(lambda _: self._recentre())
        gui.add_command(ORIGIN, hotkey="O").on_trigger(lambda _: self._recentre())

    def update(self, view: AppSnapshot) -> None:
        """Follow the publishing program: another page may have pressed the button."""
        self._show_whole_run(view.take)
        running = bool(view.recording)
        if not self._busy and running != self._running:
            self._running = running
            self._button.label = STOP if running else RECORD
            self._button.icon = viser.Icon.PLAYER_STOP_FILLED if running else viser.Icon.PLAYER_RECORD_FILLED
        place = f'<div class="dim">Recordings are written to {escape(view.folder)}</div>' if view.folder else ""
        if not view.take:
            set_html(self._place, wrap_in_box(place) if place and not running else "")
        disabled = self._busy or view.waiting or view.silent
        if self._button.disabled != disabled:
            self._button.disabled = disabled

    def _show_whole_run(self, take: str) -> None:
        """Say that the whole run is recorded to a session's folder, which needs no button; "": it is not."""
        shown = not take
        if self._button.visible != shown:
            self._button.visible = self._name.visible = shown
        if take:
            words = f'<div><span class="dot"></span> The whole run is recorded to {escape(take)}, until it ends.</div>'
            set_html(self._place, wrap_in_box(words))

    def _recentre(self) -> None:
        """Make the performer the origin."""
        try:
            self._controls.recentre()
        except DuocapError as error:
            set_html(self._message, wrap_in_box(escape(str(error))))

    def _press(self) -> None:
        """Start or stop; runs in a thread of the server's pool, since the answer may take a while."""
        if self._busy:
            return
        self._busy = True
        try:
            if self._running:
                message = (
                    f"Recorded: {self._controls.stop()}. See it with duocap view, get BVH, C3D, GLB and more with duocap export."
                )
            else:
                message = f"Recording to {self._controls.start(self._name.value.strip() or None)}"
        except DuocapError as error:
            message = str(error)
        finally:
            self._busy = False
        set_html(self._message, wrap_in_box(escape(message)))
