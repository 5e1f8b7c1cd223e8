"""The nearest poses of a database: drawn small, shown beside the body as a ghost, and taken."""

from collections.abc import Callable
from html import escape

import viser

from stream.posing.document import Document, PosingError, compute_joint_positions_m
from stream.posing.near import KnownPoses, NearPose, draw_figure_svg, find_near_poses
from stream.posing.page.controls import PosingPage
from stream.viewer.html import wrap_in_box
from stream.web.widgets import add_button, set_html, set_values

COUNT = 6
NONE = "none"
CHOSEN, OTHER = "#e69f00", "currentColor"


class NearPart:
    """The nearest poses, searched for when that is asked. load: returns the database's poses, when they are first needed."""

    def __init__(self, page: PosingPage, load: Callable[[], KnownPoses] | None) -> None:
        self._page, self._load = page, load
        self._known: KnownPoses | None = None
        self._found: list[NearPose] = []
        self._chosen = -1
        self._figures = ""
        self._asked: Document | None = None  # for which they were found: its ghost goes when anything changes

    def known(self) -> KnownPoses:
        """Return the poses of the database, loaded once. Raises DuocapError: there is none, or it cannot be read."""
        if self._known is None:
            if self._load is None:
                raise PosingError("there is no database to look in")
            self._known = self._load()
        return self._known

    def find(self) -> None:
        """Look for the poses nearest to the held joints, or to the pose."""

        def search() -> None:
            session = self._page.session
            self._asked = session.document
            self._found = find_near_poses(self.known(), session.skeleton, self._asked, COUNT)
            self._choose(0)

        self._page.put(search)

    def choose(self, label: str) -> None:
        """Show one of them as a ghost, by its number from 1, or none."""
        self._page.put(lambda: self._choose(int(label) - 1 if label.isdecimal() else -1))

    def take(self) -> None:
        """Have the body take the pose that is shown."""

        def copy() -> None:
            if not 0 <= self._chosen < len(self._found):
                raise PosingError("no pose is chosen to take; find poses first, and press a number")
            self._page.session.take(self._found[self._chosen].pose)
            self._choose(-1)

        self._page.put(copy)

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")
        hint = "Of the database: nearest to the held joints if three or more are held, else to the whole pose (D)"
        add_button(gui, "Find near poses", self.find, hint, icon=viser.Icon.SEARCH)
        numbers = (*(str(n + 1) for n in range(COUNT)), NONE)
        self._numbers = gui.add_button_group("Show", numbers, hint="As a ghost beside the body")
        self._numbers.on_click(lambda event: self.choose(str(event.target.value)))
        hint = "The body takes the pose of the ghost, and held joints are held there; can be undone"
        self._take = add_button(gui, "Take it", self.take, hint, icon=viser.Icon.COPY)

    def update(self) -> None:
        """Draw the poses that were found."""
        if self._chosen >= 0 and self._page.session.document is not self._asked:
            self._choose(-1)
        set_values(self._take, disabled=not 0 <= self._chosen < len(self._found))
        set_values(self._numbers, visible=bool(self._found))
        set_html(self._text, wrap_in_box(self._figures or "<div class='dim'>Known poses, to begin with one of them.</div>"))

    def _choose(self, number: int) -> None:
        """Show one of them as a ghost; none where there is no such."""
        self._chosen = number if number < len(self._found) else -1
        self._asked = self._page.session.document
        self._figures = self._drawn()
        self._page.scene.show_ghost(self._found[self._chosen].pose if self._chosen >= 0 else None)

    def _drawn(self) -> str:
        """Return small figures of what was found, empty for nothing."""
        parts = []
        for n, each in enumerate(self._found):
            figure = draw_figure_svg(
                compute_joint_positions_m(self._page.session.skeleton, each.pose), CHOSEN if n == self._chosen else OTHER
            )
            words = f"{n + 1}: {escape(each.name)} {each.time_s:.1f} s<br>{100 * each.distance_m:.0f} cm"
            parts.append(f"<div style='min-width:0;overflow:hidden'>{figure}<div class='dim'>{words}</div></div>")
        if not parts:
            return ""
        return f"<div style='display:grid;grid-template-columns:repeat(3,1fr);gap:0.3em'>{''.join(parts)}</div>"
