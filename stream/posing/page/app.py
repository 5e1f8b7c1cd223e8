"""The posing page: session, scene and parts, turned by one thread that never waits for a browser."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import viser

from capture.clock import now_ns
from config.errors import DuocapError
from stream.posing.model import PosingModel
from stream.posing.near import KnownPoses
from stream.posing.page.certainty import compute_certainty, format_certainty_html
from stream.posing.page.controls import Change, PagePart
from stream.posing.page.files import Export, FilePart
from stream.posing.page.inbox import DragPlace, PosingInbox
from stream.posing.page.motion import MotionPart
from stream.posing.page.near import NearPart
from stream.posing.page.panels import PosePart
from stream.posing.page.picture import PicturePart
from stream.posing.page.plane import PlaneView
from stream.posing.page.scene import MOVE, TURN, PosingScene
from stream.posing.picture import project_to_picture
from stream.posing.publishing import PosePublisher
from stream.posing.session import START, PosingSession
from stream.viewer.html import wrap_in_box
from stream.web.server import close_server, set_theme
from stream.web.widgets import WidgetCommand, add_commands, on_user_input, set_html

log = logging.getLogger(__name__)

FRAME_S = 1 / 60
PANEL_PERIOD_S = 0.1
SAVE_PERIOD_S = 1.0
PANEL_WIDTH_PX, MOTION_WIDTH_PX, EDGE_PX = 320, 380, 12
NOTICE_S = 6.0


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Contents and options of a page.

    Attributes:
        file: where the session is saved.
        models: loaders of the models by name, called when a model is first used.
        export: returns a take as the bytes of a file of a format.
        formats: suffixes of files by the name of the format.
        publisher: None where nothing is published.
        known: returns the poses of the database, loaded at first use; None without a database.
    """

    file: Path
    models: Mapping[str, Callable[[], PosingModel]]
    dark: bool = True
    export: Export | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    publisher: PosePublisher | None = None
    known: Callable[[], KnownPoses] | None = None


class PosingApp:
    """One page, shown by any number of browsers; call `update` again and again, from one thread."""

    def __init__(self, server: viser.ViserServer, session: PosingSession, options: PageOptions) -> None:
        self.server, self.session, self.selected = server, session, "leftHand"
        self._options, self._dark = options, options.dark
        self._inbox = PosingInbox()
        self._page_that_drags, self._has_picture = -1, False
        self._gone: set[int] = set()
        set_theme(server, self._dark)
        self.scene = PosingScene(server, session.skeleton, self._dark, self.drag, self.select)
        self._plane = PlaneView(server.scene, self.drag)
        self.pose = PosePart(self, options.models, lambda on: setattr(self._plane, "on", on))
        self.motion, self.near = MotionPart(self), NearPart(self, options.known)
        self.picture = PicturePart(self, self.near.known)
        publisher = options.publisher
        self.files = FilePart(self, options.file, self.motion.take, options.export, options.formats, publisher)
        self._parts = self._build()
        add_commands(server.gui, self._list_commands())
        self._panels_due_s = self._save_due_s = 0.0
        self._last_s = time.monotonic()
        server.scene.on_click()(self.picture.click)
        server.on_client_connect(lambda client: self.put(lambda: self.scene.aim(client, self.session.document.picture)))
        server.on_client_disconnect(lambda client: self.put(lambda: self._left(client.client_id)))

    @property
    def n_pages(self) -> int:
        """Number of browsers that show the page."""
        return len(self.server.get_clients())

    def update(self) -> None:
        """Carry out the requests of the pages, waiting for them at most a frame, and show the result."""
        self._inbox.wait(FRAME_S)
        for each in self._inbox.take():
            self._safely(partial(self._drag, each) if isinstance(each, DragPlace) else each)
        now_s = time.monotonic()
        self.motion.step(now_s - self._last_s)
        self._last_s = now_s
        self._show(now_s)
        if now_s >= self._save_due_s:
            self._save_due_s = now_s + SAVE_PERIOD_S
            self.session.save_now()

    def close(self) -> None:
        """End a drag, save, and stop serving."""
        self.release()
        close_server(self.server)

    def release(self) -> None:
        """End a drag, and save; the server, which may show another page, goes on."""
        self.session.release()
        self.session.save_now()
        self.motion.close()
        if self._options.publisher is not None:
            self._options.publisher.switch(False)

    def put(self, action: Callable[[], None]) -> None:
        """Queue an action for the page's thread; a failure is reported on the page."""
        self._inbox.put(action)

    def do(self, change: Change) -> None:
        """Have the session changed soon; the motion stands still for it."""

        def action() -> None:
            self.motion.stop()
            change(self.session)

        self.put(action)

    def drag(self, place: DragPlace) -> None:
        """Have a joint follow a place soon; places that are newer by then are followed instead."""
        self._inbox.drag(place)

    def select(self, joint: str) -> None:
        """Select a joint, none by an empty name."""
        self.put(lambda: setattr(self, "selected", joint))

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""

        def change() -> None:
            self._dark = dark
            set_theme(self.server, dark)
            self.scene.set_dark(dark)

        self.put(change)

    def say(self, title: str, text: str, fault: bool = False) -> None:
        """Show a notice in all browsers.

        Args:
            title: title of the notice.
            text: text of the notice.
            fault: whether it is an error.
        """
        log.info("%s: %s", title, text)
        for client in self.server.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=NOTICE_S, color="orange" if fault else "blue")

    def _safely(self, action: Callable[[], None]) -> None:
        """Do what a page asks for; what cannot be done is said there and changes nothing."""
        try:
            action()
        except DuocapError as error:
            self.say("This cannot be done", str(error), fault=True)
        except Exception:  # whatever it is, what was posed must not be lost
            log.exception("a request of the page failed")
            self.say("This failed", "nothing has been changed; the program's log says more", fault=True)

    def _drag(self, place: DragPlace) -> None:
        """Have a joint follow the hand."""
        if place.page in self._gone:  # what it sent last comes late
            return
        self.motion.stop()
        session, picture = self.session, self.session.document.picture
        self._page_that_drags = -1 if place.ended else place.page
        if place.time_s is not None and session.dragged != place.joint:
            self.motion.go_to(place.time_s)
        if place.joint == START:
            self._plane.follow(session, place)
            return
        if place.turned:
            session.turn(place.joint, place.place_m)
        elif picture is None:
            session.drag(place.joint, place.place_m)
        else:
            seen = project_to_picture(picture, np.array(place.place_m))
            if seen is not None:
                session.drag_in_picture(place.joint, seen)
        if place.ended:
            session.release(self.pose.holds_dragged or place.time_s is not None)
            if place.time_s is not None:
                session.set_key(place.time_s)

    def _left(self, page: int) -> None:
        """End the drag of a browser that has gone away."""
        self._gone.add(page)
        if page == self._page_that_drags:
            self._page_that_drags = -1
            self.session.release(self.pose.holds_dragged)

    def _show(self, now_s: float) -> None:
        """Show the session in the scene and, several times a second, on the parts; publish it."""
        session, document = self.session, self.session.document
        certainty = compute_certainty(session.found, session.unmet())
        if self._options.publisher is not None:
            share = 1.0 if certainty.share is None else certainty.share
            self._options.publisher.publish(document.pose, share, now_ns())
        if (document.picture is not None) != self._has_picture:
            self._has_picture = not self._has_picture
            self.motion.fold(self._has_picture)  # whose feet it would hide
        self.scene.show(session, certainty, self.selected, self.picture.clicking)
        if session.dragged:
            self.server.flush()  # which else gathers messages for a sixtieth of a second
        self._safely(self.picture.show)
        self._plane.show(session)
        if now_s >= self._panels_due_s and self.n_pages:
            self._panels_due_s = now_s + PANEL_PERIOD_S
            set_html(self._status, wrap_in_box(format_certainty_html(certainty, len(document.held))))
            for part in self._parts:
                part.update()

    def _build(self) -> Sequence[PagePart]:
        """Build the page: head and tabs at the right, the timeline below the scene."""
        gui = self.server.gui
        self._status = gui.add_html("")
        tabs = gui.add_tab_group()
        parts: dict[str, PagePart] = {"Pose": self.pose, "Near": self.near, "Picture": self.picture, "Files": self.files}
        for label, part in parts.items():
            with tabs.add_tab(label):
                part.build(gui)
                if part is self.files:
                    dark = gui.add_checkbox("Dark page", self._dark, hint="Dark or light")
                    on_user_input(dark, self.set_dark)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH_PX)
        self.motion.build(gui)
        self.motion.place(EDGE_PX, -EDGE_PX, MOTION_WIDTH_PX)
        return *parts.values(), self.motion

    def _list_commands(self) -> list[WidgetCommand]:
        """Return what the keys of the keyboard do."""
        pose, motion, do = self.pose, self.motion, self.do
        return [
            WidgetCommand("Undo", "Z", lambda: do(PosingSession.undo), "cmd/ctrl"),
            WidgetCommand("Redo", "Z", lambda: do(PosingSession.redo), "cmd/ctrl+shift"),
            WidgetCommand("Hold the joint or let it go", "P", pose.toggle_hold),
            WidgetCommand("Arrows on the joint, or none", "G", lambda: pose.toggle_tool(MOVE)),
            WidgetCommand("Rings around the joint, or none", "R", lambda: pose.toggle_tool(TURN)),
            *(WidgetCommand(f"Only along {axis}, or all axes", axis, partial(pose.lock_axis, axis.lower())) for axis in "XYZ"),
            WidgetCommand("Let all joints go", "F", lambda: do(PosingSession.free_all)),
            WidgetCommand("Mirror", "M", lambda: do(PosingSession.mirror)),
            WidgetCommand("Find near poses", "D", self.near.find),
            WidgetCommand("Play or pause", "space", motion.play),
            WidgetCommand("Set a key", "K", motion.set_key),
            WidgetCommand("Delete the key", "delete", motion.delete_key),
            WidgetCommand("Next joint to click", "N", self.picture.skip),
            WidgetCommand("Look at the body", "L", self.picture.look),
        ]
