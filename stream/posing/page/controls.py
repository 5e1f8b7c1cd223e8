"""What passes between the page and its parts: the page as they see it, and a snapshot of it for what they show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import viser

from stream.posing.document import Document
from stream.posing.page.certainty import Certainty
from stream.posing.page.scene import PosingScene
from stream.posing.session import PosingSession

Change = Callable[[PosingSession], object]


@dataclass(frozen=True, slots=True)
class PosingSnapshot:
    """The page at one time.

    Attributes:
        selected: joint, empty for none.
        file: file that the session is saved in.
        fault: reason why it is not saved, empty for none.
        styles: names of the model's styles.
    """

    document: Document
    certainty: Certainty
    selected: str
    can_undo: bool
    can_redo: bool
    file: str
    fault: str
    styles: tuple[str, ...]


class PosingPage(Protocol):
    """The page as its parts see it. `do`, `put` and `select` are called from any thread, all else from the page's own."""

    session: PosingSession
    scene: PosingScene
    selected: str

    def put(self, action: Callable[[], None]) -> None:
        """Queue an action for the page's thread; what cannot be done is said on the page."""

    def do(self, change: Change) -> None:
        """Have the session changed soon."""

    def select(self, joint: str) -> None:
        """Select a joint, none by an empty name."""

    def say(self, title: str, text: str) -> None:
        """Show a notice in all browsers."""


class PagePart(Protocol):
    """A part of the page: its widgets, and what they do."""

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""

    def update(self, view: PosingSnapshot) -> None:
        """Update the widgets to the page."""
