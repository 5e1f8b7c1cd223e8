"""What is to be seen in the 3D scene and from where: parts of the body, cameras, floor, views, dark or light."""

from collections.abc import Callable
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
                buttons = gui.add_button_group("", tuple(views))
                buttons.on_click(lambda event: self._give(lambda word=event.target.value: self._sight.look(word)))
            follow = gui.add_checkbox("Follow the performer", False)
            follow.on_update(lambda event: self._give(lambda on=event.target.value: self._sight.follow(on)))
        with gui.add_folder("Show"):
            for part, (label, on) in PARTS.items():
                self._switch(gui.add_checkbox(label, on), part)
            if self._two:
                apart = gui.add_slider("Apart [m]", 0.0, 4.0, 0.1, APART_M)
                apart.on_update(lambda event: self._give(lambda m=float(event.target.value): self._sight.set_apart(m)))
        dark = gui.add_checkbox("Dark page", self._dark)
        dark.on_update(lambda event: self._give(lambda on=event.target.value: self._sight.set_dark(on)))

    def update(self, view: View) -> None:
        """Nothing changes by itself."""

    def _switch(self, box: viser.GuiInputHandle[bool], part: str) -> None:
        """Let a box switch a part."""
        box.on_update(lambda event: self._give(lambda on=event.target.value: self._sight.switch(part, on)))

    def _give(self, order: Callable[[], None]) -> None:
        """Order it in the app's thread."""
        self._orders.give(order)
