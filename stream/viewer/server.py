"""The web server of the viewer: viser, on this machine only unless asked otherwise, answering its own pages alone."""

import contextlib
import errno
import inspect
import io
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from config.errors import DuocapError, reason

log = logging.getLogger(__name__)

MAX_PORTS = 100
FORBIDDEN = 403
LOOPBACK = ("localhost", "127.0.0.1", "::1")
Check = Callable[[ServerConnection, Request], Awaitable[Response | None] | Response | None]


class ViewerError(DuocapError):
    """The viewer's page cannot be served or shown."""


def open_server(host: str, port: int, title: str) -> viser.ViserServer:
    """Serve at host and port, or the next free port; see `get_port`. Raises ViewerError: no port is free, or no such host."""
    found = free_port(host, port)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # who hangs up in the middle is not worth a traceback
    # The library prints a notice of its own; ours is printed by the command.
    with contextlib.redirect_stdout(io.StringIO()), _own_pages_only(host):
        server = viser.ViserServer(host, found, label=title, verbose=False)
    server.request_share_url = _never_share  # type: ignore[method-assign]
    return server


def free_port(host: str, port: int) -> int:
    """Give the first free port from `port` on; 0 takes any. Raises ViewerError."""
    last = min(port + MAX_PORTS, 65536)
    for candidate in range(port, last):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            try:
                probe.bind((host, candidate))
            except OSError as error:
                if not _is_taken(error):
                    words = f"the viewer cannot serve at {host} ({reason(error)}); give an address of this machine with --host"
                    raise ViewerError(words) from error
                continue
            found: int = probe.getsockname()[1]
            return found
    raise ViewerError(f"no port from {port} to {last - 1} is free for the viewer; give another with --port")


def url_of(host: str, port: int) -> str:
    """Give what a browser of this machine opens."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def is_own_page(origin: str | None, asked_host: str | None, loopback: bool) -> bool:
    """Tell whether a request comes from the viewer's own page or from no page at all, rather than from another site's.

    origin, asked_host: the headers Origin and Host; loopback: serving this machine only, so that a foreign name for it (DNS
    rebinding) is refused, too.
    """
    name = urlsplit(f"//{asked_host or ''}").hostname or ""
    if loopback and name not in LOOPBACK:
        return False
    return origin is None or urlsplit(origin).netloc == asked_host


@contextlib.contextmanager
def _own_pages_only(host: str) -> Iterator[None]:
    """Have the server made within refuse pages of other sites: any page may try to reach the ports of this machine.

    viser hands `process_request` to `websockets.asyncio.server.serve` and offers no place for a check of one's own.
    """
    serve = websockets.asyncio.server.serve

    def guarded(*args: Any, process_request: Check | None = None, **options: Any) -> Any:
        return serve(*args, process_request=_checked(process_request, host in LOOPBACK), **options)

    websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _checked(answer: Check | None, loopback: bool) -> Check:
    """Put the check of the origin in front of a server's own answer."""

    async def check(connection: ServerConnection, request: Request) -> Response | None:
        if not is_own_page(request.headers.get("Origin"), request.headers.get("Host"), loopback):
            log.warning("refused a page of %s", request.headers.get("Origin") or request.headers.get("Host"))
            return connection.respond(FORBIDDEN, "duocap answers its own pages only\n")
        if answer is None:
            return None
        given = answer(connection, request)
        return await given if inspect.isawaitable(given) else given

    return check


def _is_taken(error: OSError) -> bool:
    """Tell a port in use, or kept from us, from an address that is none of ours."""
    return error.errno in (errno.EADDRINUSE, errno.EACCES, 10048, 10013)


def _never_share(verbose: bool = True) -> None:
    """Refuse the library's tunnel to the internet: what is captured stays on this machine."""
    log.warning("a page asked to share the viewer over the internet: refused")
