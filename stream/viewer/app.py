"""The viewer's app: feeds in, scene and panels out, all in one thread; it never waits for a browser."""

import time
from dataclasses import dataclass
from pathlib import Path

import viser

from capture.clock import now_ns
from database.files.avatar import Avatar
from stream.edit.edits import OpenDatabase
from stream.viewer.editor import TakeEditor
from stream.viewer.feed import Feed, LiveFeed
from stream.viewer.panels.cameras import CamerasPanel
from stream.viewer.panels.charts import ChartsPanel
from stream.viewer.panels.edit import EditPanel
from stream.viewer.panels.graphs import ComparePanel, GraphsPanel
from stream.viewer.panels.now import EventsPanel, HeadPanel, RecordPanel
from stream.viewer.panels.scene import ScenePanel
from stream.viewer.panels.transport import Change, TransportPanel
from stream.viewer.player import Playhead
from stream.viewer.requests import ServiceRequests
from stream.viewer.scene.scenery import APART_M, Scenery
from stream.viewer.takes import TakeFeed
from stream.viewer.tuning.panel import TunePanel
from stream.viewer.view import AppSnapshot, PageActions, Panel
from stream.web.server import close_server, set_theme

FRAME_S = 1 / 60
LATE_FRAME_S = 1 / 10  # while frames come faster than they can be solved: browser and viewer take the same cores, mostly
LATE_SHARE = 4.0  # by which panels are slower then
PANEL_WIDTH_PX = 320
TRANSPORT_PX = 420
EDGE_PX = 12


@dataclass(frozen=True, slots=True)
class EditedTake:
    """A take that the page edits.

    Attributes:
        path: the file or folder that the user named.
        open_database: opens the motion that poses are solved with; None: they are not.
    """

    path: Path
    open_database: OpenDatabase | None = None


class App:
    """One page for one feed; call `update` again and again, from one thread.

    Args:
        service: requests to the service that records; None where nothing can be recorded.
        budget_ms: budget for the latency from picture to page [ms].
        avatar: a user's own body, which moves in place of the performers'.
        edited: the take of a feed of takes that is edited; None: none is.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        feed: Feed,
        dark: bool,
        budget_ms: float,
        service: ServiceRequests | None = None,
        avatar: Avatar | None = None,
        edited: EditedTake | None = None,
    ) -> None:
        self.server, self.feed = server, feed
        self._live = feed if isinstance(feed, LiveFeed) else None
        self._dark, self._budget_ms, self._service = dark, budget_ms, service
        self.player = Playhead(live=self._live is not None)
        self._actions = PageActions()
        self._takes = feed if isinstance(feed, TakeFeed) else None
        self._editor: TakeEditor | None = None
        self._edit_panel: EditPanel | None = None
        if self._takes is not None and edited is not None:
            self._editor = TakeEditor(self._takes, edited.path, self._actions, edited.open_database)
        self._wants_pictures = self._live is not None
        self._tuning: TunePanel | None = None
        set_theme(server, dark)
        self.scenery = Scenery(server, dark, avatar)
        if self._editor is not None:
            self.scenery.marker_clicked = self._click_marker
        self.scenery.set_tracks(feed.tracks)
        self._panels = self._page()
        self._due_s = [0.0] * len(self._panels)
        self._last_s = time.monotonic()
        server.on_client_connect(lambda client: self._actions.put(lambda: self.scenery.welcome(client)))

    @property
    def n_pages(self) -> int:
        """Number of browsers that show the page."""
        return len(self.server.get_clients())

    @property
    def has_heard(self) -> bool:
        """Whether there is something to show: of a stream, any message."""
        return self._live is None or self._live.heard

    @property
    def _late(self) -> bool:
        """Whether the page is to leave the machine to the reconstruction."""
        return self._live is not None and self._live.late and not self._live.is_silent(now_ns())

    def update(self) -> None:
        """Read the new messages, waiting at most a frame, and show them; less often while the machine is short."""
        begun_s = time.monotonic()
        if self._live is not None and self._service is not None:
            self._live.offset_ns = self._service.offset_ns
        if self.feed.poll(round(1e3 * FRAME_S) if self._live else 0, now_ns()):
            self.scenery.set_tracks(self.feed.tracks, keep_view=self._live is None)
            if self._editor is not None:
                self.scenery.set_apart(0.0 if self._editor.pending else APART_M)
            self.player = self.player if self.player.live or self._live is None else self.player.at_edge(self.feed.span)
        self._actions.run()
        now_s = time.monotonic()
        self.player = self.player.step(now_s - self._last_s, self.feed.span)
        self._last_s = now_s
        self.scenery.want_pictures(self._wants_pictures and self.n_pages > 0)
        with self.server.atomic():
            self.scenery.show(self.player.cursor_s)
        self._update_panels(now_s)
        time.sleep(max((LATE_FRAME_S if self._late else FRAME_S) - (time.monotonic() - begun_s), 0.0))

    def close(self) -> None:
        """Stop serving and close the feed."""
        self.release()
        close_server(self.server)

    def release(self) -> None:
        """Close the feed and stop asking; the server, which may show another page, goes on."""
        if self._tuning is not None:
            self._tuning.close()
        if self._service is not None:
            self._service.close()
        self.scenery.want_pictures(False)
        self.feed.close()

    def play(self, change: Change) -> None:
        """Change the player."""
        self.player = change(self.player, self.feed.span)

    def prefer_dark(self, dark: bool) -> None:
        """Change between dark and light as a browser asks; from any thread."""
        self._actions.put(lambda: self.set_dark(dark))

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""
        self._dark = dark
        set_theme(self.server, dark)
        self.scenery.set_dark(dark)

    def _click_marker(self, name: str) -> None:
        """Choose a marker that was clicked in the scene."""
        panel = self._edit_panel
        if panel is not None:
            self._actions.put(lambda: panel.choose_marker(name))

    def _make_room(self, tuning: bool) -> None:
        """Make room for the columns of the cameras while they are tuned."""
        self._small_pictures.hidden = tuning
        (self._transport.minimize if tuning else self._transport.expand)()

    def _page(self) -> list[Panel]:
        """Build the page: head and tabs at the right, the player below the scene. A new panel is added to its tab here."""
        gui = self.server.gui
        panels: list[Panel] = []

        def add(panel: Panel) -> None:
            panel.build(gui)
            panels.append(panel)

        add(HeadPanel())
        tabs = gui.add_tab_group()
        if self._editor is not None:
            skeleton = self.feed.tracks[0].skeleton
            self._edit_panel = EditPanel(self._editor, self._actions, () if skeleton is None else skeleton.markers)
            with tabs.add_tab("Edit"):
                add(self._edit_panel)
        with tabs.add_tab("Now"):
            if self._service is not None:
                add(RecordPanel(self._service))
            add(EventsPanel())
        with tabs.add_tab("Scene"):
            add(ScenePanel(self.scenery, self._actions, self._dark, self.set_dark, two=len(self.feed.tracks) > 1))
        if self._takes is not None:
            with tabs.add_tab("Graphs"):
                add(GraphsPanel(self._takes))
            with tabs.add_tab("Compare"):
                add(ComparePanel())
        with tabs.add_tab("Charts"):
            add(ChartsPanel(self._budget_ms))
        if self._live is None and any(track.videos is not None for track in self.feed.tracks):
            with tabs.add_tab("Cameras"):
                add(CamerasPanel(self.scenery.pictures))
        if self._live is not None:
            with tabs.add_tab("Cameras"):
                if self._service is not None:
                    self._tuning = TunePanel(self._service.tuning, self._actions, self._make_room)
                    add(self._tuning)
                self._small_pictures = CamerasPanel(self.scenery.pictures, lambda on: setattr(self, "_wants_pictures", on))
                add(self._small_pictures)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH_PX)
        self._transport = gui.add_panel()
        with self._transport.add_tab("Playhead", viser.Icon.PLAYER_PLAY):
            add(TransportPanel(lambda change: self._actions.put(lambda: self.play(change)), self._live is not None))
        self._transport.float(x=EDGE_PX, y=-EDGE_PX, width=TRANSPORT_PX)
        return panels

    def _update_panels(self, now_s: float) -> None:
        """Update the panels that are due, while a page is open."""
        if not self.n_pages:
            return
        view: AppSnapshot | None = None
        for n, panel in enumerate(self._panels):
            if now_s >= self._due_s[n]:
                self._due_s[n] = now_s + panel.period_s * (LATE_SHARE if self._late else 1.0)
                view = view or self._snapshot()
                panel.update(view)

    def _snapshot(self) -> AppSnapshot:
        """Return the app as the panels see it."""
        tracks = self.feed.tracks
        silent = self._live is not None and self._live.is_silent(now_ns())
        return AppSnapshot(
            tracks=tracks,
            span=self.feed.span,
            player=self.player,
            live=self._live is not None,
            silent=silent,
            waiting=self._live is not None and not len(tracks[0].history),
            address=self._live.address if self._live is not None else "",
            budget_ms=self._budget_ms,
            dark=self._dark,
            folder=self._service.folder if self._service is not None else "",
            recording=self._service.file if self._service is not None and not silent else "",
            take=self._service.take if self._service is not None and not silent else "",
        )
