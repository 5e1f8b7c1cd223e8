"""The panel that edits a take: where an edit begins and ends, the edits, undo, and the take as a file."""

from collections.abc import Callable, Mapping
from functools import partial
from html import escape

import viser

from config.errors import DuocapError
from stream.edit.edits import Cut, Fill, Relabel, Smooth, SpanFill, Trim
from stream.recording.folders import check_recording_name
from stream.viewer.editor import TakeEditor
from stream.viewer.html import format_clock, wrap_in_box
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.widgets import WidgetCommand, add_button, add_commands, set_html, set_values

WAYS = {"the motion on both sides": SpanFill.MOTION, "markers and database": SpanFill.DATABASE}
NOBODY = "no marker"
IN, OUT = "Begin here", "End here"
KEYS = (
    ("Space", "play or pause"),
    ("← →", "a frame back, on; with Shift a second"),
    ("Home", "to the beginning"),
    ("I / O", "an edit begins, ends here"),
    ("T / X", "trim to it, cut it out"),
    ("Enter", "keep the edit that is shown"),
    ("Ctrl+Z", "undo; also a deleted take"),
    ("Ctrl+Shift+Z", "redo"),
    ("Ctrl+S", "save as a new recording"),
    ("Delete", "delete the take"),
)


class EditPanel:
    """The edits of a take.

    Args:
        editor: makes them.
        actions: queue of calls for the app's thread.
        markers: names of the markers of the take.
    Attributes:
        begin_s, end_s: the span that an edit applies to [s].
    """

    period_s = 0.2

    def __init__(self, editor: TakeEditor, actions: PageActions, markers: tuple[str, ...]) -> None:
        self._editor, self._actions, self._markers = editor, actions, markers
        self.begin_s, self.end_s = 0.0, float("inf")
        self._cursor_s = self._length_s = 0.0
        self._clicked = ""

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._span = gui.add_html("")
        ends = {IN: partial(self._mark, IN), OUT: partial(self._mark, OUT)}
        self._buttons(gui, "Span", {**ends, "All": self._mark}, "Keys I and O")
        trim, cut = partial(self._cut, Trim), partial(self._cut, Cut)
        whole: dict[str, Callable[[], None]] = {"Trim": trim, "Cut out": cut}
        whole["Split here"] = lambda: self._editor.split(self._cursor_s)
        self._buttons(gui, "Take", whole, "Keys T and X; the original stays")
        with gui.add_folder("Poses in the span"):
            self._window = gui.add_slider("Smooth [s]", 0.05, 1.0, 0.05, 0.2, hint="Width of the window; rest is smoothed more")
            self._button(gui, "Smooth", "Shown beside what was before", self._smooth)
            self._way = gui.add_dropdown("Fill by", tuple(WAYS), hint="Where poses are missing or wrong")
            self._button(gui, "Fill", "Replace the poses in the span", self._fill)
        if self._markers:
            with gui.add_folder("Labels in the span"):
                self._marker = gui.add_dropdown("This marker", self._markers, hint="Or click it in the scene")
                self._other = gui.add_dropdown("is", (*self._markers, NOBODY), hint="Or click it after the first")
                self._button(gui, "Exchange and solve", "The poses in the span are solved again", self._relabel)
        editor = self._editor
        self._pending = self._buttons(gui, "Edit", {"Keep": editor.keep, "Discard": editor.discard}, None)
        self._pending.visible = False
        self._message = gui.add_html("")
        self._buttons(gui, "Steps", {"Undo": editor.undo, "Redo": editor.redo}, None)
        with gui.add_folder("File"):
            self._name = gui.add_text("Name", "", hint="Of the new recording, or the take's new name")
            files = {"Save as new": self._save, "Rename": self._rename, "Delete": editor.delete}
            self._buttons(gui, "", files, "Delete moves it to a folder; undo")
        with gui.add_folder("Keys", expand_by_default=False):
            rows = "".join(f"<tr><td><b>{key}</b></td><td>{escape(what)}</td></tr>" for key, what in KEYS)
            gui.add_html(wrap_in_box(f"<table>{rows}</table>"))
        commands = (
            ("The span begins here", "I", ends[IN], None),
            ("The span ends here", "O", ends[OUT], None),
            ("Trim to the span", "T", trim, None),
            ("Cut the span out", "X", cut, None),
            ("Keep the edit", "enter", editor.keep, None),
            ("Undo", "Z", editor.undo, "cmd/ctrl"),
            ("Redo", "Z", editor.redo, "cmd/ctrl+shift"),
            ("Save as a new recording", "S", editor.save, "cmd/ctrl"),
            ("Delete the take", "delete", editor.delete, None),
        )
        put = self._actions.put
        add_commands(gui, [WidgetCommand(label, key, partial(put, work), modifier) for label, key, work, modifier in commands])

    def update(self, view: AppSnapshot) -> None:
        """Show span and state."""
        self._cursor_s, self._length_s = view.cursor_s, view.span.end_s
        editor = self._editor
        end_s = min(self.end_s, view.span.end_s)
        left = "" if editor.saved else " <b>Not saved yet.</b>"
        set_html(self._span, wrap_in_box(f"{format_clock(self.begin_s)} to {format_clock(end_s)} of the take.{left}"))
        set_html(self._message, wrap_in_box(f'<div role="status">{escape(editor.message)}</div>') if editor.message else "")
        set_values(self._pending, visible=editor.pending)

    def choose_marker(self, name: str) -> None:
        """Choose a marker that was clicked: the first click is what is labelled, the second what it is."""
        if not self._markers or name not in self._markers:
            return
        first = self._marker.value == name
        if self._clicked and not first:
            set_values(self._other, value=name)
            self._clicked = ""
        else:
            set_values(self._marker, value=name)
            self._clicked = name

    def _button(self, gui: viser.GuiApi, label: str, hint: str, work: Callable[[], None]) -> None:
        """Create a button that does something in the app's thread.

        Args:
            gui: interface of the page.
            label: text on the button.
            hint: shown where the mouse rests.
            work: what it does.
        """
        add_button(gui, label, lambda: self._actions.put(work), hint)

    def _buttons(
        self, gui: viser.GuiApi, label: str, works: Mapping[str, Callable[[], None]], hint: str | None
    ) -> viser.GuiButtonGroupHandle:
        """Create buttons in a row, each of which does something in the app's thread.

        Args:
            gui: interface of the page.
            label: before them.
            works: what each does, by the text on it.
            hint: shown where the mouse rests.
        """
        group = gui.add_button_group(label, tuple(works), hint=hint)
        group.on_click(lambda event: self._actions.put(works[str(event.target.value)]))
        return group

    def _mark(self, what: str = "") -> None:
        """Set an end of the span to the cursor; without one the span is all of the take."""
        if what == IN:
            self.begin_s = self._cursor_s
            self.end_s = self.end_s if self.end_s > self.begin_s else float("inf")
        elif what == OUT:
            self.end_s = self._cursor_s
            self.begin_s = min(self.begin_s, self.end_s)
        else:
            self.begin_s, self.end_s = 0.0, float("inf")

    def _cut(self, kind: type[Trim | Cut]) -> None:
        """Keep the span alone, or take it out."""
        self._editor.edit(kind(self.begin_s, self.end_s))
        self._mark()

    def _smooth(self) -> None:
        """Smooth the span."""
        self._editor.edit(Smooth(float(self._window.value), self.begin_s, self.end_s))

    def _fill(self) -> None:
        """Fill the span."""
        self._editor.edit(Fill(self.begin_s, min(self.end_s, self._length_s), WAYS[str(self._way.value)]))

    def _relabel(self) -> None:
        """Exchange labels in the span."""
        other = str(self._other.value)
        end_s = min(self.end_s, self._length_s)
        self._editor.edit(Relabel(self.begin_s, end_s, str(self._marker.value), "" if other == NOBODY else other))

    def _save(self) -> None:
        """Save as a new recording."""
        name = self._name.value.strip()
        if not name or self._is_plain(name):
            self._editor.save(name)

    def _rename(self) -> None:
        """Rename the take."""
        name = self._name.value.strip()
        if self._is_plain(name):
            self._editor.rename(name)

    def _is_plain(self, name: str) -> bool:
        """Return whether a name may be given to a recording; say why where it may not."""
        try:
            check_recording_name(name)
        except DuocapError as error:
            self._editor.message = str(error)
            return False
        return True
