"""What stands beside the scene for the pose itself: what is said of it, what is held, the model and the shares of its styles."""

import time
from collections.abc import Callable, Mapping, Sequence

import viser

from config.joints import JOINTS
from stream.posing.model import PosingModel
from stream.posing.page.certainty import format_certainty_html
from stream.posing.page.controls import PosingPage, PosingSnapshot
from stream.posing.page.scene import BALLS, MOVE, TURN
from stream.posing.page.widgets import add_button, set_values
from stream.posing.session import PosingSession
from stream.viewer.html import wrap_in_box
from stream.web.html import set_html

NO_JOINT = "(none)"
ALL_AXES = ("All", "X", "Y", "Z")
TOOLS, CHOSEN = (BALLS, MOVE, TURN), "✓ "
HANDS_OFF_S = 0.6  # after a user moved a slider, it is not moved by the page


class StatusPart:
    """The text about the pose."""

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")

    def update(self, view: PosingSnapshot) -> None:
        """Show how the pose is."""
        document = view.document
        n_held = len({*document.pins, *document.image_points, *document.turns})
        set_html(self._text, wrap_in_box(format_certainty_html(view.certainty, n_held)))


class PosePart:
    """The selected joint, the held joints, undo and redo, the model and the shares of its styles.

    Args:
        models: loaders of the models by name, called when a model is first used.
        show_plane: shows the latent plane of the style, or hides it.
    """

    def __init__(
        self, page: PosingPage, models: Mapping[str, Callable[[], PosingModel]], show_plane: Callable[[bool], None]
    ) -> None:
        self._page, self._models, self._show_plane = page, models, show_plane
        self._loaded = {page.session.model.name: page.session.model}
        self.holds_dragged = True
        self._shares: list[viser.GuiSliderHandle[float]] = []
        self._styles: tuple[str, ...] = ()
        self._mixed: tuple[float, ...] = ()
        self._moved_s = 0.0

    def toggle_hold(self) -> None:
        """Hold the selected joint where it is, or let it go."""

        def toggle(session: PosingSession) -> None:
            joint = self._page.selected
            if joint:
                document = session.document
                held = any(joint in kind for kind in (document.pins, document.image_points, document.turns))
                (session.free if held else session.pin)(joint)

        self._page.do(toggle)

    def toggle_tool(self, tool: str) -> None:
        """Drag the selected joint by arrows or rings, or again by its ball alone."""
        scene = self._page.scene
        self._page.put(lambda: setattr(scene, "tool", BALLS if scene.tool == tool else tool))

    def _press_tool(self, tool: str) -> None:
        """Have joints dragged by the tool of a button."""
        self._page.put(lambda: setattr(self._page.scene, "tool", tool))

    def _press_axis(self, label: str) -> None:
        """Have drags go along the axis of a button."""
        self._page.put(lambda: self._page.scene.set_axis("" if label == ALL_AXES[0] else label.lower()))

    def lock_axis(self, axis: str) -> None:
        """Drag and turn along or about one axis, x, y or z, or again all."""
        scene = self._page.scene
        self._page.put(lambda: scene.set_axis("" if scene.axis == axis else axis))

    def set_model(self, name: str) -> None:
        """Ask another model, loaded first if it is new."""

        def change(session: PosingSession) -> None:
            if name not in self._loaded:
                self._loaded[name] = self._models[name]()
            session.set_model(self._loaded[name])

        self._page.do(change)

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        page, self._gui = self._page, gui
        self._joint = gui.add_dropdown("Joint", (NO_JOINT, *JOINTS), initial_value=NO_JOINT, hint="Or click a ball")
        self._joint.on_update(self._select)
        self._tools = gui.add_button_group("Drag by", TOOLS, hint="Arrows move along an axis (G), rings turn (R)")
        self._tools.on_click(lambda event: self._press_tool(str(event.target.value).removeprefix(CHOSEN)))
        axes_hint = "Drag along one axis of the world only, or turn about it (X, Y, Z)"
        self._axes = gui.add_button_group("Along", ALL_AXES, hint=axes_hint)
        self._axes.on_click(lambda event: self._press_axis(str(event.target.value).removeprefix(CHOSEN)))
        self._hold = add_button(gui, "Hold", self.toggle_hold, "Hold the joint where it is, or let it go (P)", viser.Icon.PIN)
        add_button(gui, "Let all go", lambda: page.do(lambda s: s.free_all()), "Hold no joint (F)", viser.Icon.PINNED_OFF)
        undo_hint, redo_hint = "Take back the last change (Ctrl+Z)", "Do it again (Ctrl+Shift+Z)"
        self._undo = add_button(gui, "Undo", lambda: page.do(lambda s: s.undo()), undo_hint, viser.Icon.ARROW_BACK_UP)
        self._redo = add_button(gui, "Redo", lambda: page.do(lambda s: s.redo()), redo_hint, viser.Icon.ARROW_FORWARD_UP)
        mirror_hint = "Left becomes right, with all that is held (M)"
        add_button(gui, "Mirror", lambda: page.do(lambda s: s.mirror()), mirror_hint, viser.Icon.FLIP_VERTICAL)
        add_button(gui, "Reset", lambda: page.do(lambda s: s.reset()), "Stand up; can be undone", viser.Icon.REFRESH)
        keep = gui.add_checkbox("Hold what I drag", True, hint="A joint stays where it is dragged to while you drag others")
        keep.on_update(lambda event: setattr(self, "holds_dragged", bool(event.target.value)))
        plane = gui.add_checkbox("Latent plane", False, hint="All that the style knows, on a board: drag its ball")
        plane.on_update(lambda event: self._show_plane(bool(event.target.value)))
        model_hint = "What the body does where no joint is held"
        names = tuple(self._models)
        self._model = gui.add_dropdown("Model", names, initial_value=names[0], hint=model_hint, visible=len(names) > 1)
        self._model.on_update(lambda event: self.set_model(str(event.target.value)) if event.client is not None else None)
        self._folder = gui.add_folder("Styles", visible=False)

    def update(self, view: PosingSnapshot) -> None:
        """Update the widgets to the session."""
        document = view.document
        held = any(view.selected in kind for kind in (document.pins, document.image_points, document.turns))
        set_values(self._hold, label="Let go" if held else "Hold", disabled=not view.selected)
        set_values(self._undo, disabled=not view.can_undo)
        set_values(self._redo, disabled=not view.can_redo)
        set_values(self._joint, value=view.selected or NO_JOINT)
        scene = self._page.scene
        _mark_chosen(self._tools, TOOLS, scene.tool)
        _mark_chosen(self._axes, ALL_AXES, scene.axis.upper() or ALL_AXES[0])
        if view.document.model in self._model.options:
            set_values(self._model, value=view.document.model)
        self._update_styles(view)

    def _update_styles(self, view: PosingSnapshot) -> None:
        """Show a slider for each style where there are several."""
        styles = view.styles if len(view.styles) > 1 else ()
        if styles != self._styles:
            for slider in self._shares:
                slider.remove()
            with self._folder:
                self._shares = [self._gui.add_slider(name, 0.0, 1.0, 0.05, 0.5, hint="Share of this style") for name in styles]
            for slider in self._shares:
                slider.on_update(self._mix)
            self._styles, self._mixed = styles, ()
            self._folder.visible = bool(styles)
        hands_off = time.monotonic() - self._moved_s > HANDS_OFF_S
        if styles and hands_off and view.document.shares != self._mixed:  # of a session that was opened, or undone
            self._mixed = view.document.shares
            for slider, share in zip(self._shares, view.document.shares, strict=True):
                set_values(slider, value=round(share, 2))

    def _mix(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Mix the styles as the sliders stand."""
        shares = tuple(float(slider.value) for slider in self._shares)
        if event.client is not None and sum(shares) > 0.0:
            self._moved_s = time.monotonic()
            self._mixed = mixed = tuple(share / sum(shares) for share in shares)
            self._page.do(lambda session: session.set_shares(mixed))

    def _select(self, event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
        """Select the joint of the list."""
        if event.client is not None:
            name = str(event.target.value)
            self._page.select("" if name == NO_JOINT else name)


def _mark_chosen(buttons: viser.GuiButtonGroupHandle, labels: Sequence[str], chosen: str) -> None:
    """Mark the button that counts; it is written only where that changes it.

    Args:
        buttons: the buttons.
        labels: their labels.
        chosen: that of the button that counts.
    """
    marked = tuple(CHOSEN + label if label == chosen else label for label in labels)
    if buttons.options != marked:
        buttons.options = marked
