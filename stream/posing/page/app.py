"""The posing page: session, scene and panels, turned by one thread that never waits for a browser."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import viser

from capture.clock import now_ns
from config.arrays import Image
from config.errors import DuocapError
from stream.export.take import Take
from stream.posing.document import PictureView, PosingError
from stream.posing.model import PosingModel
from stream.posing.motion import Motion, still_take
from stream.posing.page.certainty import certainty_of
from stream.posing.page.controls import PosingSnapshot
from stream.posing.page.inbox import DragPlace, PosingInbox
from stream.posing.page.keyboard import add_commands
from stream.posing.page.panels import FilePanel, MotionPanel, PicturePanel, PosePanel, StatusPanel
from stream.posing.page.plane import PlaneView
from stream.posing.page.scene import PosingScene
from stream.posing.page.timeline import Timeline
from stream.posing.picture import in_picture, picture_from_bytes, shown_picture
from stream.posing.publishing import PosePublisher
from stream.posing.session import PosingSession
from stream.posing.session_file import session_from_bytes, session_text
from stream.web.server import close_server, set_theme

log = logging.getLogger(__name__)

FRAME_S = 1 / 60
PANEL_PERIOD_S = 0.1
SAVE_PERIOD_S = 1.0
PANEL_WIDTH_PX, MOTION_WIDTH_PX, EDGE_PX = 320, 420, 12
NOTICE_S = 6.0
Change = Callable[[PosingSession], object]


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What a page is given. file: the session is saved in; models: by name, loaded when they are first asked; export: returns a
    take as the bytes of a file of a format, formats: of it; suffixes: of their files; publisher: None where nothing is published.
    """

    file: Path
    models: Mapping[str, Callable[[], PosingModel]]
    dark: bool = True
    export: Callable[[Take, str], bytes] | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    publisher: PosePublisher | None = None


class PosingApp:
    """One page, shown by any number of browsers; call `update` again and again, from one thread."""

    def __init__(self, server: viser.ViserServer, session: PosingSession, options: PageOptions) -> None:
        self.server, self.session, self.selected = server, session, "leftHand"
        self._options, self._dark = options, options.dark
        self._loaded = {session.model.name: session.model}
        self._inbox = PosingInbox()
        self._timeline = Timeline()
        self._motion: Motion | None = None
        self._hold_dragged, self._page_that_drags = True, -1
        self._gone: set[int] = set()
        self._plane = PlaneView(server.scene, lambda: self._inbox.put(self._follow_plane))
        self._picture: Image | None = None
        set_theme(server, self._dark)
        self.scene = PosingScene(server, session.skeleton, self._dark, self.drag, self.select)
        self._panels = self._page()
        add_commands(server.gui, self)
        if session.document.picture is not None:
            self._hang()
        self._panels_due_s = self._save_due_s = 0.0
        self._last_s = time.monotonic()
        server.scene.on_click()(self._clicked)
        server.on_client_connect(lambda client: self._inbox.put(lambda: self.scene.aim(client, self.session.document.picture)))
        server.on_client_disconnect(lambda client: self._inbox.put(lambda: self._left(client.client_id)))

    @property
    def models(self) -> Mapping[str, object]:
        """The models by name."""
        return self._options.models

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of export."""
        return tuple(self._options.formats) or ("",)

    @property
    def motion(self) -> Motion | None:
        """The motion through the keys, None while it is made or where there are too few."""
        return self._motion

    @property
    def n_pages(self) -> int:
        """Number of browsers that show the page."""
        return len(self.server.get_clients())

    def update(self) -> None:
        """Do what the pages ask for, waiting for it at most a frame, and show it."""
        self._inbox.wait(FRAME_S)
        for each in self._inbox.take():
            self._safely(partial(self._drag, each) if isinstance(each, DragPlace) else each)
        now_s = time.monotonic()
        self._step(now_s - self._last_s)
        self._last_s = now_s
        self._show(now_s)
        if now_s >= self._save_due_s:
            self._save_due_s = now_s + SAVE_PERIOD_S
            self.session.save_now()

    def close(self) -> None:
        """End a drag, save, and stop serving."""
        self.session.release()
        self.session.save_now()
        self._timeline.close()
        if self._options.publisher is not None:
            self._options.publisher.switch(False)
        close_server(self.server)

    def drag(self, place: DragPlace) -> None:
        """Have a joint follow a place soon; places that are newer by then are followed instead."""
        self._inbox.drag(place)

    def do(self, change: Change) -> None:
        """Have the session changed soon."""
        self._inbox.put(lambda: self._changed(change))

    def select(self, joint: str) -> None:
        """Select a joint."""
        self._inbox.put(lambda: setattr(self, "selected", joint))

    def toggle_hold(self) -> None:
        """Hold the selected joint where it is, or let it go."""

        def toggle(session: PosingSession) -> None:
            if self.selected:
                held = self.selected in session.document.pins or self.selected in session.document.image_points
                (session.free if held else session.pin)(self.selected)

        self.do(toggle)

    def set_model(self, name: str) -> None:
        """Ask another model, loaded first if it is new."""

        def change(session: PosingSession) -> None:
            if name not in self._loaded:
                self._loaded[name] = self._options.models[name]()
            session.set_model(self._loaded[name])

        self.do(change)

    def set_hold_dragged(self, on: bool) -> None:
        """Hold joints where they are dragged to, or let them go."""
        self._inbox.put(lambda: setattr(self, "_hold_dragged", on))

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""

        def change() -> None:
            self._dark = dark
            set_theme(self.server, dark)
            self.scene.set_dark(dark)

        self._inbox.put(change)

    def show_plane(self, on: bool) -> None:
        """Show the latent plane of the style with the largest share beside the body, or hide it."""
        self._inbox.put(lambda: self._plane.switch(on))

    def publish(self, on: bool) -> None:
        """Publish the pose, or no longer."""
        publisher = self._options.publisher
        if publisher is not None:
            self._inbox.put(lambda: publisher.switch(on))

    def scrub(self, time_s: float) -> None:
        """Go to a time; the motion stands there, or a key without a motion."""

        def go() -> None:
            self._timeline.playing, self._timeline.time_s = False, time_s
            self._show_motion()

        self._inbox.put(go)

    def play(self) -> None:
        """Play, or pause."""

        def change() -> None:
            if not self._timeline.playing and len(self.session.document.keys) < 2:
                raise PosingError("there is nothing to play yet: set two keys or more, at different times of the slider")
            self._timeline.playing = not self._timeline.playing

        self._inbox.put(change)

    def set_key(self) -> None:
        """Keep the pose as a key."""
        self.do(lambda session: session.set_key(round(self._timeline.time_s, 3)))

    def delete_key(self) -> None:
        """Remove the nearest key."""
        self.do(lambda session: session.delete_key(self._nearest_key_s()))

    def move_key(self, to_s: float) -> None:
        """Move the nearest key."""
        self.do(lambda session: session.move_key(self._nearest_key_s(), round(to_s, 3)))

    def export(self, name: str, client: viser.ClientHandle) -> None:
        """Send the motion, or without keys the pose, as a file."""

        def send() -> None:
            if self._options.export is None:
                raise PosingError("nothing can be exported here")
            keys = self.session.document.keys
            if len(keys) > 1 and self._motion is None:
                raise PosingError("the motion is still being made; export it in a moment")
            take = self._motion.take if self._motion is not None else still_take(self.session.document, self.session.skeleton)
            file = self._options.file.stem + self._options.formats[name]
            client.send_file_download(file, self._options.export(take, name), save_immediately=True)

        self._inbox.put(send)

    def download_session(self, client: viser.ClientHandle) -> None:
        """Send the session as a file."""

        def send() -> None:
            text = session_text(self.session.document, self.session.skeleton)
            client.send_file_download(self._options.file.name, text.encode(), save_immediately=True)

        self._inbox.put(send)

    def open_session(self, name: str, content: bytes) -> None:
        """Go on with a session of a page's."""

        def change(session: PosingSession) -> None:
            session.open(session_from_bytes(content, name))
            self._hang()

        self.do(change)

    def open_picture(self, name: str, content: bytes) -> None:
        """Pose after a picture."""

        def change(session: PosingSession) -> None:
            image = shown_picture(picture_from_bytes(content, name))
            self._picture = image
            session.set_picture(PictureView((image.shape[1], image.shape[0])))
            self._hang()

        self.do(change)

    def close_picture(self) -> None:
        """Put the picture away."""

        def change(session: PosingSession) -> None:
            session.set_picture(None)
            self._hang()

        self.do(change)

    def look(self) -> None:
        """Look at the body, or through the picture's camera."""
        self._inbox.put(lambda: self.scene.look(self.session.document.picture))

    def _changed(self, change: Change) -> None:
        """Change the session; the motion stands still for it."""
        before = self.session.document.picture
        self._timeline.playing = False
        change(self.session)
        if self.session.document.picture != before:
            self._hang()

    def _safely(self, action: Callable[[], None]) -> None:
        """Do what a page asks for; what cannot be done is said there and changes nothing."""
        try:
            action()
        except DuocapError as error:
            self._notify("This cannot be done", str(error))
        except Exception:  # whatever it is, what was posed must not be lost
            log.exception("a request of the page failed")
            self._notify("This failed", "nothing has been changed; the program's log says more")

    def _notify(self, title: str, text: str) -> None:
        """Say something on all pages."""
        log.info("%s: %s", title, text)
        for client in self.server.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=NOTICE_S, color="orange")

    def _drag(self, place: DragPlace) -> None:
        """Have a joint follow the hand."""
        if place.page in self._gone:  # what it sent last comes late
            return
        self._timeline.playing = False
        session, picture = self.session, self.session.document.picture
        self._page_that_drags = -1 if place.ended else place.page
        if picture is None:
            session.drag(place.joint, place.place_m)
        else:
            seen = in_picture(picture, np.array(place.place_m))
            if seen is not None:
                session.drag_in_picture(place.joint, seen)
        if place.ended:
            session.release(self._hold_dragged)

    def _follow_plane(self) -> None:
        """Pose from the newest point of the latent plane."""
        newest = self._plane.newest()
        if newest is not None and newest.page not in self._gone:
            self._timeline.playing, self._page_that_drags = False, -1 if newest.ended else newest.page
            self._plane.follow(self.session, newest)

    def _left(self, page: int) -> None:
        """End the drag of a browser that has gone away."""
        self._gone.add(page)
        if page == self._page_that_drags:
            self._page_that_drags = -1
            self.session.release(self._hold_dragged)

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        """Place the selected joint where the picture is clicked."""
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)

        def place(session: PosingSession) -> None:
            picture = session.document.picture
            seen = None if picture is None else in_picture(picture, origin + 3.0 * direction)
            if self.selected and seen is not None:
                session.drag_in_picture(self.selected, seen)
                session.release()

        if self.session.document.picture is not None:
            self.do(place)

    def _hang(self) -> None:
        """Show the picture of the document, or none."""
        picture = self.session.document.picture
        self.scene.show_picture(self._picture, picture)
        self.scene.look(picture)

    def _nearest_key_s(self) -> float:
        """Return the time of the key nearest to the slider [s]. Raises PosingError: there is none."""
        times_s = [key.time_s for key in self.session.document.keys]
        if not times_s:
            raise PosingError("there is no key yet; set one first")
        return min(times_s, key=lambda time_s: abs(time_s - self._timeline.time_s))

    def _step(self, seconds: float) -> None:
        """Have the motion made and played."""
        self._motion = self._timeline.update(self.session.document, self.session.poser)
        if self._timeline.playing and self._motion is not None:
            self._timeline.step(seconds, self._motion)
            self._show_motion()

    def _show_motion(self) -> None:
        """Show the motion at the slider's time, or a key that is there."""
        time_s, motion = self._timeline.time_s, self._motion
        if motion is not None and motion.begin_s <= time_s <= motion.end_s:
            pose = motion.pose_at(time_s)
            self.session.show(pose, motion.pins_at(pose))
            return
        for key in self.session.document.keys:
            if abs(key.time_s - time_s) < 1e-3:
                self.session.show(key.pose, dict(key.pins))

    def _show(self, now_s: float) -> None:
        """Show the session in the scene and, several times a second, on the panels; publish it."""
        session, document = self.session, self.session.document
        certainty = certainty_of(session.found, session.unmet())
        if self._options.publisher is not None:
            share = 1.0 if certainty.share is None else certainty.share
            self._options.publisher.publish(document.pose, share, now_ns())
        held = {**document.pins, **document.image_points}
        target_m = document.pins.get(self.selected)
        self.scene.show(document.pose, session.joints_m(), certainty, held, self.selected, target_m, bool(session.dragged))
        self._plane.show(session)
        if now_s >= self._panels_due_s and self.n_pages:
            self._panels_due_s = now_s + PANEL_PERIOD_S
            view = self._snapshot()
            for panel in self._panels:
                panel.update(view)

    def _snapshot(self) -> PosingSnapshot:
        """Return the page as the panels see it."""
        session, timeline = self.session, self._timeline
        return PosingSnapshot(
            document=session.document,
            certainty=certainty_of(session.found, session.unmet()),
            selected=self.selected,
            can_undo=session.can_undo,
            can_redo=session.can_redo,
            file=str(self._options.file),
            fault=session.save_fault,
            time_s=timeline.time_s,
            playing=timeline.playing,
            motion=timeline.words(session.document, self._motion),
            publishing="" if self._options.publisher is None else self._options.publisher.address,
            styles=session.model.styles,
        )

    def _page(self) -> Sequence[StatusPanel | PosePanel | MotionPanel | PicturePanel | FilePanel]:
        """Build the page: head and tabs at the right, the timeline below the scene."""
        gui, can_publish = self.server.gui, self._options.publisher is not None
        head, pose, motion, picture = StatusPanel(), PosePanel(self), MotionPanel(self), PicturePanel(self)
        files = FilePanel(self, self._dark, can_publish)
        head.build(gui)
        tabs = gui.add_tab_group()
        for label, panel in (("Pose", pose), ("Picture", picture), ("Files", files)):
            with tabs.add_tab(label):
                panel.build(gui)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH_PX)
        below = gui.add_panel()
        with below.add_tab("Motion", viser.Icon.TIMELINE):
            motion.build(gui)
        below.float(x=EDGE_PX, y=-EDGE_PX, width=MOTION_WIDTH_PX)
        return head, pose, motion, picture, files
