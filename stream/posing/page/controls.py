"""The page and its parts as they see each other."""

from collections.abc import Callable
from typing import Protocol

import viser

from stream.posing.page.scene import PosingScene
from stream.posing.session import PosingSession

Change = Callable[[PosingSession], object]


class PosingPage(Protocol):
    """The page as its parts see it. `do`, `put` and `select` are called from any thread, all else from the page's own."""

    session: PosingSession
    scene: PosingScene
    selected: str

    def put(self, action: Callable[[], None]) -> None:
        """Queue an action for the page's thread; a failure is reported on the page."""

    def do(self, change: Change) -> None:
        """Have the session changed soon."""

    def select(self, joint: str) -> None:
        """Select a joint, none by an empty name."""

    def say(self, title: str, text: str) -> None:
        """Show a notice in all browsers."""


class PagePart(Protocol):
    """A part of the page: its widgets and their actions."""

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""

    def update(self) -> None:
        """Update the widgets to the page and its session."""
