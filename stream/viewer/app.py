"""The viewer's app: feeds in, the scene and the panels out, one thread for everything; the browser is never waited for."""

import contextlib
import io
import time

import viser

from capture.clock import now_ns
from stream.viewer.feed import Feed, LiveFeed
from stream.viewer.panel_cameras import CamerasPanel
from stream.viewer.panel_charts import ChartsPanel
from stream.viewer.panel_now import HeadPanel, NewsPanel, RecordPanel
from stream.viewer.panel_scene import ScenePanel
from stream.viewer.panel_transport import Change, TransportPanel
from stream.viewer.panel_tune import TunePanel
from stream.viewer.player import Player
from stream.viewer.scenery import Scenery
from stream.viewer.service_desk import ServiceDesk
from stream.viewer.stage_cameras import Image
from stream.viewer.view import Orders, Panel, View

FRAME_S = 1 / 60
PANEL_WIDTH_PX = 320
TRANSPORT_PX = 420
EDGE_PX = 12
BRAND = (0, 114, 178)


class App:
    """One page for one feed; call `turn` again and again, from one thread.

    desk: to record by, None where nothing can be recorded; budget_ms: for the latency from picture to page.
    """

    def __init__(
        self, server: viser.ViserServer, feed: Feed, dark: bool, budget_ms: float, desk: ServiceDesk | None = None
    ) -> None:
        self.server, self.feed = server, feed
        self._live = feed if isinstance(feed, LiveFeed) else None
        self._dark, self._budget_ms, self._desk = dark, budget_ms, desk
        self.player = Player(live=self._live is not None)
        self._orders = Orders()
        self._wants_pictures = self._live is not None
        self._tuning: TunePanel | None = None
        self._theme()
        self.scenery = Scenery(server, dark)
        self.scenery.set_tracks(feed.tracks)
        self._panels = self._page()
        self._due_s = [0.0] * len(self._panels)
        self._last_s = time.monotonic()
        server.on_client_connect(lambda client: self._orders.give(lambda: self.scenery.welcome(client)))

    @property
    def n_pages(self) -> int:
        """How many browsers show the page."""
        return len(self.server.get_clients())

    def turn(self) -> None:
        """Wait for what comes, at most a frame; then show it."""
        begun_s = time.monotonic()
        if self._live is not None and self._desk is not None:
            self._live.offset_ns = self._desk.offset_ns
        if self.feed.poll(round(1e3 * FRAME_S) if self._live else 0, now_ns()):
            self.scenery.set_tracks(self.feed.tracks)
            self.player = self.player if self.player.live else self.player.at_edge(self.feed.span)
        self._orders.carry_out()
        now_s = time.monotonic()
        self.player = self.player.step(now_s - self._last_s, self.feed.span)
        self._last_s = now_s
        self.scenery.want_pictures(self._wants_pictures and self.n_pages > 0)
        with self.server.atomic():
            self.scenery.show(self.player.cursor_s)
        self._update_panels(now_s)
        spent_s = time.monotonic() - begun_s
        if spent_s < FRAME_S:
            time.sleep(FRAME_S - spent_s)

    def close(self) -> None:
        """Stop serving and let go of the feed."""
        if self._tuning is not None:
            self._tuning.close()
        if self._desk is not None:
            self._desk.close()
        self.scenery.want_pictures(False)
        self.feed.close()
        # The library says on standard output that it stops.
        with contextlib.suppress(RuntimeError), contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def play(self, change: Change) -> None:
        """Change the player."""
        self.player = change(self.player, self.feed.span)

    def set_dark(self, dark: bool) -> None:
        """Be dark or light."""
        self._dark = dark
        self._theme()
        self.scenery.set_dark(dark)

    def switch(self, part: str, on: bool) -> None:
        """Show a part of the scene or hide it."""
        self.scenery.switch(part, on)

    def look(self, view: str) -> None:
        """Look from somewhere."""
        self.scenery.look(view)

    def follow(self, on: bool) -> None:
        """Let the view go along with the performer."""
        self.scenery.follow = on

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures while somebody looks at the page, or not at all."""
        self._wants_pictures = wanted

    def pictures(self) -> tuple[Image | None, ...]:
        """Give the cameras' newest pictures, left first."""
        return self.scenery.pictures()

    def set_apart(self, apart_m: float) -> None:
        """Put two takes so far apart."""
        self.scenery.set_apart(apart_m)

    def _tune(self, on: bool) -> None:
        """Make room for the columns of the cameras, or take it back."""
        self._small_pictures.hidden = on
        (self._transport.minimize if on else self._transport.expand)()

    def _theme(self) -> None:
        """Dress the page."""
        self.server.gui.configure_theme(dark_mode=self._dark, show_logo=False, show_share_button=False, brand_color=BRAND)

    def _page(self) -> list[Panel]:
        """Lay out the page: the head and tabs at the right, the player below the scene. A new panel is added to its tab here."""
        gui = self.server.gui
        panels: list[Panel] = []

        def add(*new: Panel) -> None:
            for panel in new:
                panel.build(gui)
                panels.append(panel)

        add(HeadPanel())
        tabs = gui.add_tab_group()
        with tabs.add_tab("Now"):
            if self._desk is not None:
                add(RecordPanel(self._desk))
            add(NewsPanel())
        with tabs.add_tab("Scene"):
            add(ScenePanel(self, self._orders, self._dark, two=len(self.feed.tracks) > 1))
        with tabs.add_tab("Charts"):
            add(ChartsPanel(self._budget_ms))
        if self._live is not None:
            with tabs.add_tab("Cameras"):
                if self._desk is not None:
                    self._tuning = TunePanel(self._desk.tuning, self._orders, self._tune)
                    add(self._tuning)
                self._small_pictures = CamerasPanel(self, self._orders)
                add(self._small_pictures)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH_PX)
        transport = gui.add_panel()
        with transport.add_tab("Player", viser.Icon.PLAYER_PLAY):
            add(TransportPanel(self, self._orders, self._live is not None))
        transport.float(x=EDGE_PX, y=-EDGE_PX, width=TRANSPORT_PX)
        self._transport = transport
        return panels

    def _update_panels(self, now_s: float) -> None:
        """Bring those panels up to date whose time has come, while somebody looks."""
        if not self.n_pages:
            return
        view: View | None = None
        for n, panel in enumerate(self._panels):
            if now_s >= self._due_s[n]:
                self._due_s[n] = now_s + panel.period_s
                view = view or self._view()
                panel.update(view)

    def _view(self) -> View:
        """Give the app as the panels see it."""
        tracks = self.feed.tracks
        silent = self._live.is_silent(now_ns()) if self._live is not None else False
        return View(
            tracks=tracks,
            span=self.feed.span,
            player=self.player,
            live=self._live is not None,
            silent=silent,
            waiting=self._live is not None and not len(tracks[0].history),
            address=self._live.address if self._live is not None else "",
            budget_ms=self._budget_ms,
            recording=self._desk.file if self._desk is not None and not silent else "",
        )
