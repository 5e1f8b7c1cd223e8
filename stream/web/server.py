"""The web server of the pages: viser, on this machine only unless asked otherwise, with requests of other sites refused.

A page that is opened to other machines (`serve_page`) asks for a token: whoever opens it by the address with the token gets a
cookie, and whatever comes without either is refused.
"""

import contextlib
import errno
import hmac
import inspect
import io
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from config.errors import DuocapError, describe_reason
from stream.web.document import PagePreference, answer_preference, extend_document, show_button_hints

log = logging.getLogger(__name__)

MAX_PORTS = 100
FORBIDDEN = 403
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# viser fills buttons with the seventh of ten shades on a light page and with the ninth, the colour itself, on a dark one: #0072b2
# under white text and #56b4e9 under black text, which have contrasts of 5.2 and 9.1 to 1.
LIGHT_RGB, DARK_RGB = (0, 54, 84), (86, 180, 233)
TOKEN = "token"  # in the address, and what the names of cookies begin with
TOKEN_BYTES = 18
Check = Callable[[ServerConnection, Request], Awaitable[Response | None] | Response | None]


class ViewerError(DuocapError):
    """A page cannot be served or shown."""


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page that is served. url: by which this machine opens it, with the token where one is asked for."""

    server: viser.ViserServer
    url: str


def serve_page(host: str, port: int, title: str, preference: PagePreference | None = None) -> ServedPage:
    """Serve a page: to this machine freely, to others with a token in its address, a new one each time.

    Args:
        host: address to serve at.
        port: the first to try.
        title: title of the page.
        preference: is told whether a browser asks for a dark page.
    Raises: ViewerError: no port is free, or no such host.
    """
    token = make_token(host)
    server = open_server(host, port, title, preference, token)
    return ServedPage(server, format_page_url(host, server.get_port(), token))


def make_token(host: str) -> str:
    """Return a token that a page served at a host asks for, empty for none where only this machine reaches it."""
    return "" if host in LOOPBACK else secrets.token_urlsafe(TOKEN_BYTES)


def open_server(host: str, port: int, title: str, preference: PagePreference | None = None, token: str = "") -> viser.ViserServer:
    """Serve at host and port, or the next free port; see `get_port`.

    Args:
        host: address to serve at.
        port: the first to try.
        title: title of the page.
        preference: is told whether a browser asks for a dark page.
        token: that the page's address must hold (`format_page_url`); empty: none is asked for.
    Raises: ViewerError: no port is free, or no such host.
    """
    found = find_free_port(host, port)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser that disconnects early needs no traceback
    # viser prints a notice of its own; ours is printed by the command.
    page = _Page(title, host in LOOPBACK, preference or PagePreference(), token, found)
    with contextlib.redirect_stdout(io.StringIO()), _guard_pages(page):
        server = viser.ViserServer(host, found, label=title, verbose=False)
    server.request_share_url = _disable_sharing  # type: ignore[method-assign]
    show_button_hints(server.gui)
    return server


def close_server(server: viser.ViserServer) -> None:
    """Stop serving, without viser's notice on standard output."""
    with contextlib.suppress(RuntimeError), contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def set_theme(server: viser.ViserServer, dark: bool) -> None:
    """Set the colours of a page."""
    server.gui.configure_theme(
        dark_mode=dark, show_logo=False, show_share_button=False, brand_color=DARK_RGB if dark else LIGHT_RGB
    )


def find_free_port(host: str, port: int) -> int:
    """Return the first free port from `port` on; 0 takes any. Raises ViewerError."""
    last = min(port + MAX_PORTS, 65536)
    for candidate in range(port, last):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            try:
                probe.bind((host, candidate))
            except OSError as error:
                if not _is_taken(error):
                    reason = describe_reason(error)
                    message = f"the viewer cannot serve at {host} ({reason}); give an address of this machine with --host"
                    raise ViewerError(message) from error
                continue
            found: int = probe.getsockname()[1]
            return found
    raise ViewerError(f"no port from {port} to {last - 1} is free for the viewer; give another with --port")


def format_page_url(host: str, port: int, token: str = "") -> str:
    """Return the URL by which a browser on this machine opens the page, with the token where it asks for one."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}" + (f"/?{TOKEN}={token}" if token else "")


def is_own_page(origin: str | None, asked_host: str | None, loopback: bool) -> bool:
    """Return whether a request comes from our own page or from a program, rather than from the page of another site.

    Args:
        origin, asked_host: the headers Origin and Host.
        loopback: only this machine is served, and other names for it (DNS rebinding) are refused.
    """
    name = urlsplit(f"//{asked_host or ''}").hostname or ""
    if loopback and name not in LOOPBACK:
        return False
    return origin is None or urlsplit(origin).netloc == asked_host


def holds_token(path: str, cookies: str | None, token: str) -> bool:
    """Return whether a request may come in: its address or one of its cookies holds the token.

    Args:
        path: what was asked for, with what is behind its question mark.
        cookies: the header Cookie.
        token: the right one; empty: everything may.
    """
    if not token:
        return True
    given = parse_qs(urlsplit(path).query).get(TOKEN, [])
    with contextlib.suppress(CookieError):
        given += [morsel.value for name, morsel in SimpleCookie(cookies or "").items() if name.startswith(TOKEN)]
    return any(hmac.compare_digest(one.encode(), token.encode()) for one in given)


def format_token_cookie(token: str, port: int) -> str:
    """Return the cookie of a page; browsers keep one of a name for all ports of a machine, so that its port is in the name."""
    return f"{TOKEN}-{port}={token}; HttpOnly; SameSite=Strict; Path=/"


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that is served: its title, whether to this machine alone, what browsers prefer, the token it asks for, its port."""

    title: str
    loopback: bool
    preference: PagePreference
    token: str
    port: int


@contextlib.contextmanager
def _guard_pages(page: _Page) -> Iterator[None]:
    """Have the server that is created in this context refuse pages of other sites, which may try the ports of this machine.

    viser passes `process_request` to `websockets.asyncio.server.serve` and has no hook for a check of ours, nor for what pages
    have beside viser's own document.
    """
    serve = websockets.asyncio.server.serve

    def guarded(*args: Any, process_request: Check | None = None, **options: Any) -> Any:
        return serve(*args, process_request=_make_request_check(process_request, page), **options)

    websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _make_request_check(answer: Check | None, page: _Page) -> Check:
    """Return a handler that checks origin and token before the server's own handler."""

    async def check(connection: ServerConnection, request: Request) -> Response | None:
        if not is_own_page(request.headers.get("Origin"), request.headers.get("Host"), page.loopback):
            log.warning("refused a page of %s", request.headers.get("Origin") or request.headers.get("Host"))
            return connection.respond(FORBIDDEN, "duocap answers its own pages only\n")
        if not holds_token(request.path, request.headers.get("Cookie"), page.token):
            log.warning("refused a request without the token")
            return connection.respond(FORBIDDEN, "open this page by the whole address that duocap printed, with its token\n")
        response = answer_preference(request, page.preference)
        if response is None and answer is not None:
            given = answer(connection, request)
            response = await given if inspect.isawaitable(given) else given
            response = None if response is None else extend_document(response, page.title)
        if page.token and response is not None:
            response.headers["Set-Cookie"] = format_token_cookie(page.token, page.port)
        return response

    return check


def _is_taken(error: OSError) -> bool:
    """Return whether a port is in use or reserved, as opposed to an address that this machine does not have."""
    return error.errno in (errno.EADDRINUSE, errno.EACCES, 10048, 10013)


def _disable_sharing(verbose: bool = True) -> None:
    """Refuse viser's tunnel to the internet: what is captured stays on this machine."""
    log.warning("a page asked to share the viewer over the internet: refused")
