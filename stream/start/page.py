"""The start page itself: the list of steps and the form of the open one at the right, pictures or a drawing over the rest."""

import queue
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import viser

from stream.start.drawings import STYLE
from stream.start.form import FormButton, FormField, Pressed, StepForm, StepRow, StepState, Value
from stream.web.canvas import Canvas
from stream.web.html import BAD, GOOD, QUIET_RGB
from stream.web.picture import CameraPicture
from stream.web.server import set_theme
from stream.web.widgets import set_html, set_values

PANEL_PX, EDGE_PX, DRAWING_PX = 430, 12, 760
ICONS = {
    StepState.DONE: viser.Icon.CIRCLE_CHECK,
    StepState.READY: viser.Icon.CIRCLE,
    StepState.WAITING: viser.Icon.CIRCLE_DASHED,
}


class StartPage:
    """The page. `build` makes it, again after another page had the server; all but the buttons belongs to one thread.

    Args:
        folder: of the project, as it is shown.
    """

    def __init__(self, server: viser.ViserServer, folder: str, dark: bool) -> None:
        self.server, self.dark, self._folder = server, dark, folder
        self._canvas, self._pressed = Canvas(server), queue.SimpleQueue[Pressed]()
        self._fields: dict[str, Callable[[], Value]] = {}
        self._typed: dict[tuple[str, str], tuple[Value, Value]] = {}  # by step and field: its first value, and the last
        self._rows: tuple[StepRow, ...] = ()
        self._open: tuple[str, StepForm | None] = "", None
        self._has_pictures = False

    @property
    def n_pages(self) -> int:
        """Number of browsers that show the page."""
        return len(self.server.get_clients())

    def clear(self) -> None:
        """Take everything off the server, for another page to be put there."""
        self._keep_typed()
        self.server.gui.reset()
        self.server.scene.reset()
        self._fields, self._rows, self._open = {}, (), ("", None)
        self._has_pictures = False

    def build(self) -> None:
        """Make the page anew; steps and form are to be shown after it."""
        self.clear()
        set_theme(self.server, self.dark)
        gui = self.server.gui
        gui.set_panel_label("duocap")
        self._head = gui.add_html("")
        self._steps: list[viser.GuiButtonHandle] = []
        self._step_folder = gui.add_folder("Steps")
        self._form_folder = gui.add_folder("Step")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_PX)
        window = gui.add_panel()
        with window.add_tab("How", viser.Icon.BULB):
            self._drawing = gui.add_html("")
        window.float(x=EDGE_PX, y=EDGE_PX, width=DRAWING_PX)
        self._window = window
        set_html(self._head, _wrap(f'<div class="dim">project folder: {escape(self._folder)}</div>'))

    def prefer_dark(self, dark: bool) -> None:
        """Use the colours that a browser asks for, now and when the page is built anew."""
        self.dark = dark
        set_theme(self.server, dark)

    def take_pressed(self) -> list[Pressed]:
        """Return what was pressed since the last time."""
        pressed = []
        while not self._pressed.empty():
            pressed.append(self._pressed.get())
        return pressed

    def values(self) -> dict[str, Value]:
        """Return the values of the fields as they are now."""
        return {key: read() for key, read in self._fields.items()}

    def show_steps(self, rows: Sequence[StepRow], opened: str) -> None:
        """Show the list of steps. opened: key of the one whose form is shown."""
        if tuple(rows) == self._rows and self._open[0] == opened:
            return
        for handle in self._steps:
            handle.remove()
        self._rows, self._steps = tuple(rows), []
        with self._step_folder:
            for n, row in enumerate(rows, 1):
                label = f"{n} {row.title}" + (f": {row.result}" if row.result else "")
                color = None if row.key == opened else QUIET_RGB
                button = self.server.gui.add_button(label, icon=ICONS[row.state], color=color)
                button.on_click(lambda _, key=row.key: self._pressed.put(Pressed(key, "", self.values())))  # type: ignore[misc]
                self._steps.append(button)

    def show_form(self, step: str, form: StepForm) -> None:
        """Show the form of a step; what is typed stays, also while other pages are shown, unless its first value changes.

        Args:
            step: its key.
            form: its form.
        """
        if (step, form) == self._open:
            return
        self._keep_typed()
        self._form_folder.remove()
        self._open, self._fields, gui = (step, form), {}, self.server.gui
        self._form_folder = gui.add_folder("Step")
        with self._form_folder:
            gui.add_html(_wrap(f"<h3>{escape(form.title)}</h3><p>{escape(form.words)}</p>"))
            for text, edge in ((form.error, BAD), (form.done, GOOD)):
                if text:
                    box = f'<div class="box" style="border-color:{edge}">{escape(text)}</div>'
                    gui.add_html(_wrap(box))
            for one in form.fields:
                self._add_field(step, one)
            for button in form.buttons:
                self._add_button(step, button)

    def show_drawing(self, drawing: str) -> None:
        """Show a drawing (SVG in HTML) over the canvas, none for an empty one."""
        set_html(self._drawing, _wrap(drawing) if drawing else "")
        set_values(self._window, visible=bool(drawing))

    def show_pictures(self, pictures: Sequence[CameraPicture]) -> None:
        """Show cameras' pictures over the canvas; an empty list hides them."""
        if pictures and self.n_pages:
            self._canvas.show(pictures, 0.0)
            self._has_pictures = True
        elif self._has_pictures:
            self.server.scene.set_background_image(None)
            self._has_pictures = False

    def hand_out(self, name: str, content: bytes) -> None:
        """Have every open browser save a file."""
        for client in self.server.get_clients().values():
            client.send_file_download(name, content)

    def _keep_typed(self) -> None:
        """Remember what was typed in the form that is shown."""
        step, form = self._open
        for one in form.fields if form is not None else ():
            self._typed[step, one.key] = one.value, self._fields[one.key]()

    def _add_field(self, step: str, one: FormField) -> None:
        """Add the widget of a field."""
        gui, hint = self.server.gui, one.hint or None
        first, value = self._typed.get((step, one.key), (one.value, one.value))
        value = value if first == one.value and (not one.options or value in one.options) else one.value
        handle: Any
        if one.options:
            handle = gui.add_dropdown(one.label, one.options, initial_value=str(value), hint=hint)
        elif isinstance(value, bool):
            handle = gui.add_checkbox(one.label, value, hint=hint)
        elif isinstance(value, str):
            handle = gui.add_text(one.label, value, hint=hint)
        else:
            handle = gui.add_number(one.label, float(value), min=0.0, step=0.01, hint=hint)
        self._fields[one.key] = lambda: handle.value

    def _add_button(self, step: str, button: FormButton) -> None:
        """Add a button of a form."""
        color = None if button.main else QUIET_RGB
        handle = self.server.gui.add_button(button.label, icon=button.icon, color=color, hint=button.hint or None)
        handle.on_click(lambda _: self._pressed.put(Pressed(step, button.key, self.values())))


def _wrap(content: str) -> str:
    """Return content in the page's style."""
    return f'{STYLE}<div class="start">{content}</div>'
