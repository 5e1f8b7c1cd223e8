"""One connection to a camera that streams MJPEG over HTTP: asks for it, and says in one line what came instead."""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
import time
from email.message import Message
from urllib.parse import urljoin

from capture.network_address import EXAMPLES, NetworkAddress, network_address
from config.errors import SourceError

CONNECT_S = 3.0
SILENCE_S = 2.5  # a stream that sends nothing for so long has ended
HEAD_S = 5.0  # until the answer is there
MAX_REDIRECTS = 3
CHUNK_BYTES = 1 << 16
SNIFFED_BYTES = 2048
UNSAID = ("", "application/octet-stream", "text/plain")  # some cameras do not say what they send; it is looked at


class MjpegConnection:
    """An open stream. boundary: as announced, empty where it was not; server: what the camera calls itself."""

    def __init__(self, url: str) -> None:
        """Ask for the stream, following the camera to where it sends us. Raises SourceError."""
        address = network_address(url)
        self._response: http.client.HTTPResponse | None = None
        self._first = b""
        for _ in range(MAX_REDIRECTS + 1):
            self._socket = _connected(address)
            try:
                response = self._response = self._asked(address)
                if response.status not in (301, 302, 303, 307, 308):
                    self._check(address, response)
                    return
                address = _redirected(address, response)
            except BaseException:
                self.close()
                raise
            self.close()
        raise SourceError(f"{address.shown}: sent on and on to other addresses; give the address of the stream itself")

    def read(self) -> bytes:
        """Give what came, after waiting for something; nothing at the end. Raises OSError."""
        if self._first:
            first, self._first = self._first, b""
            return first
        assert self._response is not None
        try:
            return bytes(self._response.read1(CHUNK_BYTES))
        except (http.client.HTTPException, ValueError):  # chunks that are none; closed by another thread
            return b""

    def interrupt(self) -> None:
        """End the connection and the waiting of whoever reads; may be called by another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection; called by whoever reads."""
        self.interrupt()
        if self._response is not None:
            self._response.close()
        self._socket.close()

    def _asked(self, address: NetworkAddress) -> http.client.HTTPResponse:
        """Send the request and read the head of the answer."""
        connection = http.client.HTTPConnection(address.host, address.port)
        connection.sock = self._socket
        headers = {"User-Agent": "duocap", "Accept": "multipart/x-mixed-replace, image/jpeg, */*", "Connection": "close"}
        if address.user is not None:
            token = base64.b64encode(f"{address.user}:{address.password}".encode()).decode("ascii")
            headers["Authorization"] = f"Basic {token}"
        late = threading.Timer(HEAD_S, self.interrupt)  # a head may come byte by byte, each in time
        late.start()
        began_s = time.monotonic()
        try:
            connection.request("GET", address.target, headers=headers)
            response = connection.getresponse()
            if time.monotonic() - began_s >= HEAD_S:  # its end is where we gave up
                raise http.client.IncompleteRead(b"")
            return response
        except TimeoutError:
            raise SourceError(f"{address.shown}: no answer within {SILENCE_S:g} s; is it a camera's stream?") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            what = type(error).__name__ if isinstance(error, http.client.HTTPException) else _reason(error)
            raise SourceError(f"{address.shown}: does not answer as a web server does ({what}); is the port right?") from None
        finally:
            late.cancel()

    def _check(self, address: NetworkAddress, response: http.client.HTTPResponse) -> None:
        """Make sure that a stream of pictures comes; say what comes otherwise."""
        if response.status != 200:
            raise SourceError(f"{address.shown}: {_refusal(response, address)}")
        kind, self.boundary = _content(response)
        self.server, self._first = "".join(filter(str.isprintable, response.getheader("Server") or ""))[:60], b""
        if kind.startswith("multipart/"):
            return
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._first = response.read1(SNIFFED_BYTES)
        if kind in UNSAID and self._first.lstrip().startswith(b"--"):
            return
        if kind.startswith("image/") or self._first.startswith(b"\xff\xd8"):
            raise SourceError(
                f"{address.shown}: is one picture, not a stream; look in the camera's or app's pages for the address of its "
                f"MJPEG stream, such as {EXAMPLES['http']} or /mjpg/video.mjpg or /stream"
            )
        raise SourceError(
            f"{address.shown}: {_described(kind, self._first)} came, expected a stream of pictures (multipart/x-mixed-replace); "
            f"give the address of the stream itself, such as {EXAMPLES['http']}"
        )


def _connected(address: NetworkAddress) -> socket.socket:
    """Connect. Raises SourceError."""
    try:
        plain = socket.create_connection((address.host, address.port), CONNECT_S)
        plain.settimeout(SILENCE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.scheme == "http":
            return plain
        # Cameras sign their certificates themselves: who they are cannot be known, as little as over plain HTTP.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(plain, server_hostname=address.host)
    except (OSError, UnicodeError) as error:
        raise SourceError(
            f"{address.shown}: cannot connect ({_reason(error)}); is the camera on, its server started, and the address right?"
        ) from None


def _redirected(address: NetworkAddress, response: http.client.HTTPResponse) -> NetworkAddress:
    """Give the address we are sent on to; name and password go along only to the same host."""
    base = f"{address.scheme}://{address.host if ':' not in address.host else f'[{address.host}]'}:{address.port}{address.target}"
    there = network_address(urljoin(base, response.getheader("Location") or "/"))
    same = there.host == address.host and there.user is None
    user, password = (address.user, address.password) if same else (there.user, there.password)
    return NetworkAddress(there.scheme, there.host, there.port, there.target, user, password, there.shown)


def _content(response: http.client.HTTPResponse) -> tuple[str, str]:
    """Give the kind of what is announced and the boundary, empty where there is none."""
    message = Message()
    message["Content-Type"] = response.getheader("Content-Type") or "application/octet-stream"
    boundary = next((value for name, value in message.get_params([]) if name.strip().lower() == "boundary"), "")
    return message.get_content_type(), boundary


def _refusal(response: http.client.HTTPResponse, address: NetworkAddress) -> str:
    """Say why there is no stream."""
    if response.status == 401 and address.user is None:
        return "asks for a name and a password (401); write them into the address: http://NAME:PASSWORD@HOST/..."
    if response.status in (401, 403):
        scheme = (response.getheader("WWW-Authenticate") or "").partition(" ")[0].lower()
        other = "; it wants digest authentication: allow basic in its settings" if scheme == "digest" else ""
        return f"the name or the password was not accepted ({response.status}){other}"
    if response.status == 404:
        return f"there is nothing at this path (404); give the stream's own path, such as {EXAMPLES['http']}"
    reason = "".join(filter(str.isprintable, response.reason or ""))[:60]
    return f"the camera answered {response.status} {reason}; expected 200 and a stream of pictures"


def _described(kind: str, first: bytes) -> str:
    """Name what came, with the title of a page."""
    lower = first.lower()
    start, end = lower.find(b"<title>"), lower.find(b"</title>")
    title = first[start + 7 : end].decode("utf-8", "replace").strip() if 0 <= start < end else ""
    shown = "".join(filter(str.isprintable, title))[:60]
    return f'{kind[:60]} ("{shown}")' if shown else kind[:60]


def _reason(error: Exception) -> str:
    """Give an error's reason in a few words."""
    if isinstance(error, TimeoutError):
        return "timed out"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)[:80].strip().rstrip(".").lower()
