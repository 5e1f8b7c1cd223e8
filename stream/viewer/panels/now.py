"""The head of the page, the last notices, and the button that records."""

from html import escape

import viser

from config.errors import DuocapError
from stream.viewer.html import format_head_html, format_notices_html, wrap_in_box
from stream.viewer.requests import ServiceRequests
from stream.viewer.view import AppSnapshot
from stream.web.widgets import WidgetCommand, add_button, add_commands, set_html, set_values

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


class RecordPanel:
    """Record the run that is watched, and make the performer the origin: this page only requests it of the publishing program."""

    period_s = 0.3

    def __init__(self, controls: ServiceRequests) -> None:
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
            add_button(gui, ORIGIN, self._recentre, "Facing forward: key O", icon=viser.Icon.CURRENT_LOCATION)
        add_commands(gui, [WidgetCommand(ORIGIN, "O", self._recentre)])

    def update(self, view: AppSnapshot) -> None:
        """Follow the publishing program: another page may have pressed the button."""
        for widget in (self._button, self._name):  # of a run that is recorded as a whole no button is needed
            set_values(widget, visible=not view.take)
        running = bool(view.recording)
        if not self._busy and running != self._running:
            self._running = running
            self._button.label = STOP if running else RECORD
            self._button.icon = viser.Icon.PLAYER_STOP_FILLED if running else viser.Icon.PLAYER_RECORD_FILLED
        place = f'<div class="dim">Recordings are written to {escape(view.folder)}</div>' if view.folder and not running else ""
        if view.take:
            place = f'<div><span class="dot"></span> The whole run is recorded to {escape(view.take)}, until it ends.</div>'
        set_html(self._place, wrap_in_box(place) if place else "")
        set_values(self._button, disabled=self._busy or view.waiting or view.silent)

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
