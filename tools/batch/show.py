"""The report of a batch in a browser, each of its seconds one click away from a viewer of that take: `duocap view FOLDER`."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from config.errors import DuocapError, FileFormatError, describe_reason
from config.settings import Settings
from stream.recording.folders import find_take
from stream.web.server import (
    LOOPBACK,
    find_free_port,
    format_page_url,
    format_token_cookie,
    holds_token,
    is_own_page,
    make_token,
)
from tools.batch.page import VIEW
from tools.batch.report import PAGE, SUMMARY
from tools.interrupt import raise_on_interrupt
from tools.viewer import ViewerProcess, ViewPlan, open_browser, tell_page


def is_report(folder: Path) -> bool:
    """Return whether a folder holds the results of a batch."""
    return (folder / PAGE).is_file() and (folder / SUMMARY).is_file()


def show_report(folder: Path, settings: Settings, tell: Callable[[str], None], *, browser: bool) -> None:
    """Serve a report until Ctrl-C.

    Args:
        folder: folder of the batch's results.
        settings: settings with the page's address.
        tell: receives progress messages as text.
        browser: open the system's browser.
    Raises: DuocapError.
    """
    with serve_report(folder, settings) as url:
        tell_page("report", url, settings.viewer.port, tell)
        if browser:
            open_browser(url)
        with contextlib.suppress(KeyboardInterrupt), raise_on_interrupt():
            threading.Event().wait()


@contextlib.contextmanager
def serve_report(folder: Path, settings: Settings) -> Iterator[str]:
    """Serve a report while the block runs, to other machines by a token as every page; yields its URL. Raises DuocapError."""
    host = settings.viewer.host
    port, token = find_free_port(host, settings.viewer.port), make_token(host)
    seconds = ReportViewer(_find_recordings(folder), settings)
    with ThreadingHTTPServer((host, port), partial(_Handler, seconds, str(folder), token)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield format_page_url(host, port, token)
        finally:
            server.shutdown()
            seconds.close()


def _find_recordings(folder: Path) -> dict[str, Path]:
    """Return what shows each task of a report. Raises FileFormatError: it is damaged."""
    try:
        rows = json.loads((folder / SUMMARY).read_text("utf-8"))["tasks"]
        return {row["task"]: folder / row["recording"] for row in rows if row["recording"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{folder / SUMMARY}: cannot be read ({describe_reason(error)}); run the batch again") from error


class ReportViewer:
    """One viewer at a time, of the take that was asked for last. recordings: by the name of the task."""

    def __init__(self, recordings: dict[str, Path], settings: Settings) -> None:
        self._recordings, self.host = recordings, settings.viewer.host
        self._settings = replace(
            settings, viewer=replace(settings.viewer, port=settings.viewer.port and settings.viewer.port + 1)
        )
        self._viewer: ViewerProcess | None = None
        self._one = threading.Lock()

    def open(self, task: str, at_s: float | None) -> str:
        """Show a take; return the URL of the page. Raises DuocapError."""
        if task not in self._recordings:
            raise DuocapError(f"{task}: no such take in this report, or it has no recording")
        plan = ViewPlan(self._settings, (find_take(self._recordings[task]),), False, at_s)
        with self._one:
            self._end()
            self._viewer = ViewerProcess(plan)
            return self._viewer.wait_ready()

    def close(self) -> None:
        """End the viewer."""
        with self._one:
            self._end()

    def _end(self) -> None:
        """End the viewer, if there is one."""
        viewer, self._viewer = self._viewer, None
        if viewer is not None:
            viewer.close()


class _Handler(SimpleHTTPRequestHandler):
    """The files of a folder of results, and VIEW."""

    def __init__(self, seconds: ReportViewer, folder: str, token: str, *arguments: Any) -> None:
        self._seconds, self._token = seconds, token
        super().__init__(*arguments, directory=folder)

    def do_GET(self) -> None:
        """Answer a request of the report's own page or of a program."""
        asked = urlsplit(self.path)
        if not is_own_page(self.headers.get("Origin"), self.headers.get("Host"), self._seconds.host in LOOPBACK):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif not holds_token(self.path, self.headers.get("Cookie"), self._token):
            self.send_error(HTTPStatus.FORBIDDEN, "open this page by the whole address that duocap printed, with its token")
        elif asked.path == "/":
            self._lead_to(f"/{PAGE}")
        elif asked.path == f"/{VIEW}":
            self._view(parse_qs(asked.query))
        else:
            super().do_GET()

    def _view(self, query: dict[str, list[str]]) -> None:
        """Lead the browser to a viewer."""
        try:
            at_s = float(query["at"][0]) if "at" in query else None
            url = self._seconds.open(query.get("task", [""])[0], at_s)
        except (DuocapError, ValueError) as error:
            self.send_error(HTTPStatus.NOT_FOUND, " ".join(str(error).split()))
            return
        self._lead_to(_name_host(url, self.headers.get("Host")))

    def _lead_to(self, url: str) -> None:
        """Lead the browser to another page."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", url)
        if self._token:
            self.send_header("Set-Cookie", format_token_cookie(self._token, self.server.server_port))  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


def _name_host(url: str, asked_host: str | None) -> str:
    """Return the URL of a page with the name by which the browser reached this machine."""
    name, parts = urlsplit(f"//{asked_host or ''}").hostname, urlsplit(url)
    shown = f"[{name}]" if name and ":" in name else name
    return urlunsplit(parts._replace(netloc=f"{shown}:{parts.port}")) if shown else url
