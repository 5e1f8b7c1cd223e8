"""Show the viewer: in this process (`duocap view`), or in one of its own beside a run (`open_viewer`).

Whether the user's system is dark or light, as far as it tells.
"""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from capture.process.link import name_process
from capture.process.priority import lower_priority
from capture.sockets.endpoints import find_key_settings
from config.errors import DuocapError
from config.logs import LogSettings, find_current_logs, start_logs
from config.settings import Settings
from tools.interrupt import raise_if_interrupted, raise_on_interrupt
from tools.progress import StreamWatch
from tools.run.child_start import limit_threads

if TYPE_CHECKING:
    from stream.viewer.feed import Feed
    from stream.viewer.requests import ServiceRequests


DARK_ASK_S = 1.0
WINDOWS_KEY = r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"
ASK = {
    "darwin": ("defaults", "read", "-g", "AppleInterfaceStyle"),
    "linux": ("gsettings", "get", "org.gnome.desktop.interface", "color-scheme"),
}


def prefers_dark() -> bool:
    """Return whether the system asks for dark pages; dark where it does not say, which suits a 3D scene."""
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, WINDOWS_KEY) as key:
                return bool(winreg.QueryValueEx(key, "AppsUseLightTheme")[0] == 0)
        except OSError:
            return True
    return read_dark_preference(sys.platform, _ask_system(ASK.get(sys.platform)))


def read_dark_preference(platform: str, answer: str | None) -> bool:
    """Read the answer of a system; None: it gave none."""
    if platform == "darwin":
        return "dark" in (answer or "").lower()  # a light system has no such entry
    return answer is None or "light" not in answer


def _ask_system(command: tuple[str, ...] | None) -> str | None:
    """Ask the system, None where it does not answer."""
    if command is None:
        return None
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=DARK_ASK_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout if asked.returncode == 0 else None


TITLE = "duocap"
READY_S = 90.0
STOP_S = 3.0
SEEN_S = 5.0  # a page that is loaded anew is away for a moment
ASK_S, ANSWER_S = 0.2, 2.0
VIEWER_NICE = 5  # beside a run: poses are more urgent than their picture


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """Page to show; the settings say where.

    Attributes:
        files: one or two recordings, none: the stream.
        browser: open the system's.
        takes: what the user named, in place of files that a motion was written to; empty: the files.
        at_s: time of the recordings to stop at [s], None: they play from the beginning.
    """

    settings: Settings
    files: tuple[Path, ...] = ()
    browser: bool = True
    at_s: float | None = None
    takes: tuple[Path, ...] = ()


class ViewerProcess:
    """A viewer beside a run. url: its page; it ends with `close`, and in any case with the process that opened it."""

    def __init__(self, plan: ViewPlan) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=viewer_main, args=(theirs, plan, find_current_logs()), name="duocap-viewer", daemon=True
        )
        with limit_threads():
            self._process.start()
        theirs.close()
        self.url = ""

    def wait_ready(self, timeout_s: float = READY_S) -> str:
        """Return the page's address once it is served. Raises ViewerError: it could not be."""
        from stream.web.server import ViewerError

        try:
            if not self._pipe.poll(timeout_s):
                raise ViewerError(f"its page was not ready within {timeout_s:g} s; is the machine busy? see --verbose")
            kind, text = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise ViewerError("its process has ended before the page was ready; see --verbose") from error
        if kind != "url":
            raise ViewerError(text)
        self.url = text
        return self.url

    def wait_unseen(self) -> None:
        """Return when nobody looks any more: the last page has been closed, or none was ever opened."""
        last_seen_s = time.monotonic()
        with contextlib.suppress(EOFError, OSError):  # the viewer has ended
            while time.monotonic() - last_seen_s < SEEN_S:
                self._pipe.send("pages")
                if self._pipe.poll(ANSWER_S) and int(self._pipe.recv()) > 0:
                    last_seen_s = time.monotonic()
                time.sleep(ASK_S)

    def close(self) -> None:
        """End the viewer."""
        with contextlib.suppress(OSError):
            self._pipe.send("stop")
        self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(STOP_S)
        self._pipe.close()


@contextlib.contextmanager
def open_viewer(
    settings: Settings, tell: Callable[[str], None], *, stay: bool = False, wanted: bool = True
) -> Iterator[ViewerProcess | None]:
    """Open a viewer of the stream while the block runs; yields None if it is not wanted or could not be opened: a run goes on.

    Args:
        settings: settings of the run.
        tell: receives progress messages as text.
        stay: whether to wait after the block until the page is closed, or for Ctrl-C, so that the last minutes can be looked at
            again.
        wanted: whether there is to be a viewer.
    """
    viewer = _start_viewer(settings, tell) if wanted else None
    try:
        yield viewer
        if viewer is not None and stay:
            with contextlib.suppress(KeyboardInterrupt):
                tell(f"the last minutes can still be looked at: {viewer.url} (close the page or press Ctrl-C to end)")
                viewer.wait_unseen()
    finally:
        if viewer is not None:
            viewer.close()


def _start_viewer(settings: Settings, tell: Callable[[str], None]) -> ViewerProcess | None:
    """Open the viewer of the stream; say why not if it cannot be."""
    viewer = ViewerProcess(ViewPlan(settings, browser=can_browse()))
    try:
        tell_page("viewer", viewer.wait_ready(), settings.viewer.port, tell, "")
    except DuocapError as error:
        viewer.close()
        tell(f"without a viewer: {error}")
        return None
    return viewer


def viewer_main(pipe: Connection, plan: ViewPlan, logs: LogSettings) -> None:
    """Serve the viewer until told to stop, or until the process that wanted it has gone.

    It only answers: a pipe that nobody reads fills up within minutes, and whoever writes to it then waits for ever.

    Args:
        pipe: connection to the process that opened it.
        plan: page to show.
        logs: log settings of the process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; whoever opened this ends it in order
    start_logs(logs, "viewer")
    name_process("viewer")
    lower_priority(nice=VIEWER_NICE)
    parent = multiprocessing.parent_process()
    try:
        viewer = _Viewer(plan)
    except DuocapError as error:
        pipe.send(("failed", " ".join(str(error).split())))
        return
    pipe.send(("url", viewer.url))
    viewer.browse()
    with contextlib.suppress(EOFError, OSError):  # the other end of the pipe has gone
        while parent is None or parent.is_alive():
            viewer.app.update()
            if pipe.poll(0):
                if pipe.recv() != "pages":
                    break
                pipe.send(viewer.app.n_pages)
    viewer.app.close()
    os._exit(0)  # threads of the web server may still wait for a browser that hangs


def show_viewer(plan: ViewPlan, tell: Callable[[str], None]) -> None:
    """Serve the viewer in this process until Ctrl-C. Raises DuocapError."""
    viewer = _Viewer(plan)
    with raise_on_interrupt():
        try:
            tell_page("viewer", viewer.url, plan.settings.viewer.port, tell)
            viewer.browse()
            watch = StreamWatch(plan.settings.stream.address, tell, time.monotonic())
            while True:
                viewer.app.update()
                watch.look(viewer.app.has_heard, time.monotonic())
                raise_if_interrupted()
        except KeyboardInterrupt:
            tell("viewer ended")
        finally:
            viewer.app.close()


class _Viewer:
    """The app with its server, ready to turn."""

    def __init__(self, plan: ViewPlan) -> None:
        from database.files.avatar import read_avatar
        from stream.viewer.app import App, EditedTake
        from stream.web.document import PagePreference
        from stream.web.server import serve_page
        from tools.database.installed import open_default

        view, self._browser = plan.settings.viewer, plan.browser
        avatar = read_avatar(Path(view.avatar)) if view.avatar else None
        feed = _open_feed(plan)
        preference = PagePreference()
        page = serve_page(view.host, view.port, TITLE, preference)
        self.url = page.url
        edited = EditedTake((plan.takes or plan.files)[0], open_default) if plan.files else None
        budget_ms, service = plan.settings.stream.budget_ms, _find_service(plan)
        self.app = App(page.server, feed, wants_dark(view.theme), budget_ms, service, avatar, edited)
        if view.theme == "auto":  # the browser knows better than the system that serves
            preference.listen(self.app.prefer_dark)
        if plan.at_s is not None:
            self.app.player = self.app.player.scrubbed(plan.at_s, feed.span).paused()

    def browse(self) -> None:
        """Open the page in the system's browser if that is wanted."""
        if self._browser:
            open_browser(self.url)


def tell_page(what: str, url: str, wanted_port: int, tell: Callable[[str], None], ends: str = " (Ctrl-C ends it)") -> None:
    """Tell where a page is served, that its port is another one where that which was wanted is taken, and who may come in.

    Args:
        what: the page, in a word.
        url: its address.
        wanted_port: port that was asked for, 0 for any.
        tell: receives the lines.
        ends: words on how it ends.
    """
    port = urlsplit(url).port
    if wanted_port and port != wanted_port:
        tell(f"port {wanted_port} is taken by another program; the {what} is at {port} (--port or viewer.port chooses one)")
    tell(f"{what}: {url}{ends}")
    if urlsplit(url).query:
        tell("other machines reach it by the same address with this machine's name; whoever has the token may come in")


def wants_dark(theme: str) -> bool:
    """Return whether a page is dark: as its theme says, or for `auto` as the system is."""
    return theme == "dark" or (theme == "auto" and prefers_dark())


def open_browser(url: str) -> None:
    """Open a page in the system's browser."""
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url)


def _open_feed(plan: ViewPlan) -> "Feed":
    """Open what is to be shown."""
    from stream.viewer.feed import LiveFeed
    from stream.viewer.takes import TakeFeed

    stream = plan.settings.stream
    if plan.files:
        return TakeFeed(plan.files)
    return LiveFeed(stream.address, 60.0 * plan.settings.viewer.history_minutes, find_key_settings(stream))


def _find_service(plan: ViewPlan) -> "ServiceRequests | None":
    """Return the way to have the stream recorded; None for what is a recording itself, or where no service is named."""
    from stream.viewer.requests import ServiceRequests

    stream = plan.settings.stream
    return (
        None if plan.files or not stream.service else ServiceRequests(stream.service, find_key_settings(stream), stream.address)
    )


def can_browse() -> bool:
    """Return whether there is a display to open a browser on."""
    if sys.platform in ("win32", "darwin"):
        return True
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
