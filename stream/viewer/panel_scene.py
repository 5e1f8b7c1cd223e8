"""What is to be seen in the 3D scene and from where: parts of the body, cameras, floor, views, dark or light."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import viser

from stream.viewer.framing import VIEWS
from stream.viewer.view import Orders, View

PARTS = {
    "body": ("Body", True),
    "bones": ("Bones", False),
    "joints": ("Joints", False),
    "markers": ("Markers", True),
    "labels": ("Names of markers", False),
    "trails": ("Trails", True),
    "contacts": ("Feet that touch the ground", True),
    "cameras": ("Cameras", True),
    "floor": ("Floor", True),
    "axes": ("Axes", False),
}
APART_M = 1.2


class Sight(Protocol):
    """Whoever shows the scene."""

    def switch(self, part: str, on: bool) -> None:
        """Show a part or hide it."""

    def look(self, view: str) -> None:
        """Look from somewhere: front, side, top, left camera, right camera."""

    def follow(self, on: bool) -> None:
        """Let the view go along with the performer, or stay."""

    def set_dark(self, dark: bool) -> None:
        """Be dark or light."""

    def set_apart(self, apart_m: float) -> None:
        """Put two takes so far apart."""


class ScenePanel:
    """Switches of the scene and views of it."""

    period_s = 1.0

    def __init__(self, sight: Sight, orders: Orders, dark: bool, two: bool) -> None:
        self._sight, self._orders, self._dark, self._two = sight, orders, dark, two

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets."""
        with gui.add_folder("Look from"):
            for views in (VIEWS[:3], VIEWS[3:]):
                gui.add_button_group("", tuple(views)).on_click(self._look)
            self._box(gui, "Follow the performer", True, self._sight.follow)
        with gui.add_folder("Show"):
            for part, (label, on) in PARTS.items():
                self._box(gui, label, on, partial(self._sight.switch, part))
            if self._two:
                gui.add_slider("Apart [m]", 0.0, 4.0, 0.1, APART_M).on_update(self._set_apart)
        self._box(gui, "Dark page", self._dark, self._sight.set_dark)

    def update(self, view: View) -> None:
        """Nothing changes by itself."""

    def _box(self, gui: viser.GuiApi, label: str, on: bool, switch: Callable[[bool], None]) -> None:
        """Make a box that switches something."""

        def switched(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            wanted = bool(event.target.value)
            self._orders.give(lambda: switch(wanted))

        gui.add_checkbox(label, on).on_update(switched)

    def _look(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Look from where a button says."""
        word = str(event.target.value)
        self._orders.give(lambda: self._sight.look(word))

    def _set_apart(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Put two takes so far apart."""
        apart_m = float(event.target.value)
        self._orders.give(lambda: self._sight.set_apart(apart_m))
