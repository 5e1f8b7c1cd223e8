"""The panel that edits a take: where an edit begins and ends, the edits, undo, and the take as a file."""

from collections.abc import Callable
from html import escape

import viser

from config.errors import DuocapError
from stream.edit.edits import Cut, Fill, Relabel, Smooth, SpanFill, Trim
from stream.recording.folders import check_recording_name
from stream.viewer.editor import TakeEditor
from stream.viewer.html import format_clock, wrap_in_box
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.widgets import set_html

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
        gui.add_button_group("Span", (IN, OUT, "All"), hint="Keys I and O").on_click(self._set_span)
        gui.add_button_group("Take", ("Trim", "Cut out", "Split here"), hint="Keys T and X; the original stays").on_click(
            self._edit_take
        )
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
        self._pending = gui.add_button_group("Edit", ("Keep", "Discard"), visible=False)
        self._pending.on_click(self._decide)
        self._message = gui.add_html("")
        gui.add_button_group("Steps", ("Undo", "Redo")).on_click(self._step)
        with gui.add_folder("File"):
            self._name = gui.add_text("Name", "", hint="Of the new recording, or the take's new name")
            gui.add_button_group("", ("Save as new", "Rename", "Delete"), hint="Delete moves it to a folder; undo").on_click(
                self._file
            )
        with gui.add_folder("Keys", expand_by_default=False):
            rows = "".join(f"<tr><td><b>{key}</b></td><td>{escape(what)}</td></tr>" for key, what in KEYS)
            gui.add_html(wrap_in_box(f"<table>{rows}</table>"))
        self._commands(gui)

    def update(self, view: AppSnapshot) -> None:
        """Show span and state."""
        self._cursor_s, self._length_s = view.cursor_s, view.span.end_s
        state = self._editor.state
        end_s = min(self.end_s, view.span.end_s)
        left = "" if state.saved else " <b>Not saved yet.</b>"
        set_html(self._span, wrap_in_box(f"{format_clock(self.begin_s)} to {format_clock(end_s)} of the take.{left}"))
        set_html(self._message, wrap_in_box(f'<div role="status">{escape(state.message)}</div>') if state.message else "")
        if self._pending.visible != state.pending:
            self._pending.visible = state.pending

    def choose_marker(self, name: str) -> None:
        """Choose a marker that was clicked: the first click is what is labelled, the second what it is."""
        if not self._markers or name not in self._markers:
            return
        first = self._marker.value == name
        if self._clicked and not first:
            self._other.value = name  # type: ignore[misc]
            self._clicked = ""
        else:
            self._marker.value = name  # type: ignore[misc]
            self._clicked = name

    def _commands(self, gui: viser.GuiApi) -> None:
        """Register the keys."""
        add = gui.add_command
        add("The span begins here", hotkey="I").on_trigger(lambda _: self._mark(IN))
        add("The span ends here", hotkey="O").on_trigger(lambda _: self._mark(OUT))
        add("Trim to the span", hotkey="T").on_trigger(lambda _: self._do(self._trim))
        add("Cut the span out", hotkey="X").on_trigger(lambda _: self._do(self._cut))
        add("Keep the edit", hotkey="enter").on_trigger(lambda _: self._do(self._editor.keep))
        add("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(lambda _: self._do(self._editor.undo))
        add("Redo", hotkey="Z", modifier="cmd/ctrl+shift").on_trigger(lambda _: self._do(self._editor.redo))
        add("Save as a new recording", hotkey="S", modifier="cmd/ctrl").on_trigger(lambda _: self._do(self._editor.save))
        add("Delete the take", hotkey="delete").on_trigger(lambda _: self._do(self._editor.delete))

    def _button(self, gui: viser.GuiApi, label: str, hint: str, work: Callable[[], None]) -> None:
        """Create a button that does something in the app's thread."""
        gui.add_button(label, hint=hint).on_click(lambda _: self._do(work))

    def _do(self, work: Callable[[], None]) -> None:
        """Have something done in the app's thread."""
        self._actions.put(work)

    def _mark(self, what: str) -> None:
        """Set an end of the span to the cursor."""
        if what == IN:
            self.begin_s = self._cursor_s
            self.end_s = self.end_s if self.end_s > self.begin_s else float("inf")
        elif what == OUT:
            self.end_s = self._cursor_s
            self.begin_s = min(self.begin_s, self.end_s)
        else:
            self.begin_s, self.end_s = 0.0, float("inf")

    def _set_span(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Set the span by a button."""
        self._mark(str(event.target.value))

    def _edit_take(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Trim, cut or split."""
        split = self._split
        self._do({"Trim": self._trim, "Cut out": self._cut, "Split here": split}[str(event.target.value)])

    def _trim(self) -> None:
        """Keep the span alone."""
        self._editor.edit(Trim(self.begin_s, self.end_s))
        self._mark("All")

    def _cut(self) -> None:
        """Take the span out."""
        self._editor.edit(Cut(self.begin_s, self.end_s))
        self._mark("All")

    def _split(self) -> None:
        """Split at the cursor."""
        self._editor.split(self._cursor_s)

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

    def _decide(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Keep or discard what is shown."""
        self._do(self._editor.keep if event.target.value == "Keep" else self._editor.discard)

    def _step(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Undo or redo."""
        self._do(self._editor.undo if event.target.value == "Undo" else self._editor.redo)

    def _file(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Save, rename or delete."""
        what, name = str(event.target.value), self._name.value.strip()
        if what == "Delete":
            self._do(self._editor.delete)
            return
        try:
            if name or what == "Rename":
                check_recording_name(name)
        except DuocapError as error:
            self._editor.message = str(error)
            return
        self._do(lambda: self._editor.save(name) if what == "Save as new" else self._editor.rename(name))
