"""What passes between the page's app and its panels: a snapshot of the session, and what they can have done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import viser

from stream.posing.document import Document
from stream.posing.page.certainty import Certainty
from stream.posing.session import PosingSession


@dataclass(frozen=True, slots=True)
class PosingSnapshot:
    """The page at one time.

    selected: joint, empty for none; file: that the session is saved in, fault: why not, empty for none; time_s: of the slider;
    playing: the motion; motion: what is said of it; publishing: address of the stream, empty while it is off.
    """

    document: Document
    certainty: Certainty
    selected: str
    can_undo: bool
    can_redo: bool
    file: str
    fault: str
    time_s: float
    playing: bool
    motion: str
    publishing: str
    styles: tuple[str, ...]


class PosingControls(Protocol):
    """What the panels can have done; called from any thread."""

    @property
    def models(self) -> Mapping[str, object]:
        """The models by name."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of export."""

    def do(self, change: Callable[[PosingSession], object]) -> None:
        """Have the session changed soon; a fault is said on the page."""

    def select(self, joint: str) -> None:
        """Select a joint, none by an empty name."""

    def toggle_hold(self) -> None:
        """Hold the selected joint where it is, or let it go."""

    def set_model(self, name: str) -> None:
        """Ask another model."""

    def set_hold_dragged(self, on: bool) -> None:
        """Hold joints where they are dragged to, or let them go at the end of the drag."""

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""

    def show_plane(self, on: bool) -> None:
        """Show the latent plane of the style, or hide it."""

    def publish(self, on: bool) -> None:
        """Publish the pose to the stream, or no longer."""

    def scrub(self, time_s: float) -> None:
        """Go to a time [s]."""

    def play(self) -> None:
        """Play the motion, or pause."""

    def set_key(self) -> None:
        """Keep the pose as a key at the slider's time."""

    def delete_key(self) -> None:
        """Remove the key nearest to the slider's time."""

    def move_key(self, to_s: float) -> None:
        """Move the key nearest to the slider's time."""

    def export(self, name: str, client: viser.ClientHandle) -> None:
        """Send the motion, or the pose alone, to a page as a file of a format."""

    def download_session(self, client: viser.ClientHandle) -> None:
        """Send the session to a page."""

    def open_session(self, name: str, content: bytes) -> None:
        """Go on with a session of a page's."""

    def open_picture(self, name: str, content: bytes) -> None:
        """Pose after a picture of a page's."""

    def close_picture(self) -> None:
        """Put the picture away."""

    def look(self) -> None:
        """Look at the body, or through the picture's camera."""
