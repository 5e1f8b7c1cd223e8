"""What stands beside the scene for the pose itself: what is held, the model and the shares of its styles."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import viser

from config.joints import JOINTS
from stream.posing.model import PosingModel
from stream.posing.page.controls import Change, PosingPage
from stream.posing.page.scene import BALLS, MOVE, TURN
from stream.posing.session import PosingSession
from stream.web.widgets import add_button, on_user_input, set_values

NO_JOINT = "(none)"
ALL_AXES = ("All", "X", "Y", "Z")
TOOLS, CHOSEN = (BALLS, MOVE, TURN), "✓ "
HANDS_OFF_S = 0.6  # after a user moved a slider, it is not moved by the page


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
                (session.free if joint in session.document.held else session.pin)(joint)

        self._page.do(toggle)

    def toggle_tool(self, tool: str) -> None:
        """Drag the selected joint by arrows or rings, or again by its ball alone."""
        scene = self._page.scene
        self._page.put(lambda: setattr(scene, "tool", BALLS if scene.tool == tool else tool))

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
        page, scene, self._gui = self._page, self._page.scene, gui

        def change(label: str, change: Change, hint: str, icon: viser.IconName) -> viser.GuiButtonHandle:
            return add_button(gui, label, lambda: page.do(change), hint, icon=icon)

        def press(group: viser.GuiButtonGroupHandle, use: Callable[[str], None]) -> None:
            group.on_click(lambda event: page.put(partial(use, str(event.target.value).removeprefix(CHOSEN))))

        self._joint = gui.add_dropdown("Joint", (NO_JOINT, *JOINTS), initial_value=NO_JOINT, hint="Or click a ball")
        on_user_input(self._joint, lambda name: page.select("" if name == NO_JOINT else name))
        self._tools = gui.add_button_group("Drag by", TOOLS, hint="Arrows move along an axis (G), rings turn (R)")
        press(self._tools, lambda tool: setattr(scene, "tool", tool))
        axes_hint = "Drag along one axis of the world only, or turn about it (X, Y, Z)"
        self._axes = gui.add_button_group("Along", ALL_AXES, hint=axes_hint)
        press(self._axes, lambda label: scene.set_axis("" if label == ALL_AXES[0] else label.lower()))
        self._hold = add_button(
            gui, "Hold", self.toggle_hold, "Hold the joint where it is, or let it go (P)", icon=viser.Icon.PIN
        )
        change("Let all go", PosingSession.free_all, "Hold no joint (F)", viser.Icon.PINNED_OFF)
        undo_icon, redo_icon = viser.Icon.ARROW_BACK_UP, viser.Icon.ARROW_FORWARD_UP
        self._undo = change("Undo", PosingSession.undo, "Take back the last change (Ctrl+Z)", undo_icon)
        self._redo = change("Redo", PosingSession.redo, "Do it again (Ctrl+Shift+Z)", redo_icon)
        change("Mirror", PosingSession.mirror, "Left becomes right, with all that is held (M)", viser.Icon.FLIP_VERTICAL)
        change("Reset", PosingSession.reset, "Stand up; can be undone", viser.Icon.REFRESH)
        keep = gui.add_checkbox("Hold what I drag", True, hint="A joint stays where it is dragged to while you drag others")
        on_user_input(keep, lambda on: setattr(self, "holds_dragged", on))
        plane = gui.add_checkbox("Latent plane", False, hint="All that the style knows, on a board: drag its ball")
        on_user_input(plane, self._show_plane)
        model_hint = "What the body does where no joint is held"
        names = tuple(self._models)
        self._model = gui.add_dropdown("Model", names, initial_value=names[0], hint=model_hint, visible=len(names) > 1)
        on_user_input(self._model, self.set_model)
        self._folder = gui.add_folder("Styles", visible=False)

    def update(self) -> None:
        """Update the widgets to the session."""
        session, scene, selected = self._page.session, self._page.scene, self._page.selected
        set_values(self._hold, label="Let go" if selected in session.document.held else "Hold", disabled=not selected)
        set_values(self._undo, disabled=not session.can_undo)
        set_values(self._redo, disabled=not session.can_redo)
        set_values(self._joint, value=selected or NO_JOINT)
        _mark_chosen(self._tools, TOOLS, scene.tool)
        _mark_chosen(self._axes, ALL_AXES, scene.axis.upper() or ALL_AXES[0])
        if session.document.model in self._model.options:
            set_values(self._model, value=session.document.model)
        self._update_styles(session.model.styles, session.document.shares)

    def _update_styles(self, styles: tuple[str, ...], shares: tuple[float, ...]) -> None:
        """Show a slider for each style where there are several."""
        styles = styles if len(styles) > 1 else ()
        if styles != self._styles:
            for slider in self._shares:
                slider.remove()
            with self._folder:
                self._shares = [self._gui.add_slider(name, 0.0, 1.0, 0.05, 0.5, hint="Share of this style") for name in styles]
            for slider in self._shares:
                on_user_input(slider, self._mix)
            self._styles, self._mixed = styles, ()
            self._folder.visible = bool(styles)
        hands_off = time.monotonic() - self._moved_s > HANDS_OFF_S
        if styles and hands_off and shares != self._mixed:  # of a session that was opened, or undone
            self._mixed = shares
            for slider, share in zip(self._shares, shares, strict=True):
                set_values(slider, value=round(share, 2))

    def _mix(self, moved: float) -> None:
        """Mix the styles as the sliders stand."""
        shares = tuple(float(slider.value) for slider in self._shares)
        if sum(shares) > 0.0:
            self._moved_s = time.monotonic()
            self._mixed = mixed = tuple(share / sum(shares) for share in shares)
            self._page.do(lambda session: session.set_shares(mixed))


def _mark_chosen(buttons: viser.GuiButtonGroupHandle, labels: Sequence[str], chosen: str) -> None:
    """Mark the button that counts; it is written only where that changes it.

    Args:
        buttons: the buttons.
        labels: their labels.
        chosen: that of the button that counts.
    """
    set_values(buttons, options=tuple(CHOSEN + label if label == chosen else label for label in labels))
