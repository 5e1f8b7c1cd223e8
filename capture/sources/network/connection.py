"""A connection to a camera that streams MJPEG over HTTP, with one sentence for what came instead of a stream."""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
from email.message import Message
from urllib.parse import urljoin

from capture.sources.network.address import EXAMPLES, NetworkAddress, parse_network_address
from capture.sources.network.camera import SILENCE_S
from config.errors import SourceError

CONNECT_S = 3.0
HEADER_S = 5.0  # until the header of the answer is complete
MAX_REDIRECTS = 3
CHUNK_BYTES = 1 << 16
SNIFF_BYTES = 2048
UNTYPED = ("", "application/octet-stream", "text/plain")  # of cameras that do not announce what they send


class MjpegConnection:
    """An open stream. boundary: as announced, or empty; server: name of the camera's server."""

    def __init__(self, url: str) -> None:
        """Request the stream, following redirects. Raises SourceError."""
        address = parse_network_address(url)
        self._response: http.client.HTTPResponse | None = None
        self._first = b""
        for _ in range(MAX_REDIRECTS + 1):
            self._socket = _connect_http(address)
            try:
                response = self._response = self._request(address)
                if response.status not in (301, 302, 303, 307, 308):
                    self._check(address, response)
                    return
                address = _resolve_redirect(address, response)
            except BaseException:
                self.close()
                raise
            self.close()
        raise SourceError(f"{address.shown}: sent on and on to other addresses; give the address of the stream itself")

    def read(self) -> bytes:
        """Wait for bytes and return them; none at the end. Raises OSError."""
        if self._first:
            first, self._first = self._first, b""
            return first
        assert self._response is not None
        try:
            return bytes(self._response.read1(CHUNK_BYTES))
        except (http.client.HTTPException, ValueError):  # invalid chunks; closed by another thread
            return b""

    def interrupt(self) -> None:
        """End the connection and the waiting of `read`; may be called by another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; called by the thread that reads."""
        self.interrupt()
        if self._response is not None:
            self._response.close()
        self._socket.close()

    def _request(self, address: NetworkAddress) -> http.client.HTTPResponse:
        """Send the request and read the header of the answer."""
        connection = http.client.HTTPConnection(address.host, address.port)
        connection.sock = self._socket
        headers = {"User-Agent": "duocap", "Accept": "multipart/x-mixed-replace, image/jpeg, */*", "Connection": "close"}
        if address.user is not None:
            token = base64.b64encode(f"{address.user}:{address.password}".encode()).decode("ascii")
            headers["Authorization"] = f"Basic {token}"
        overdue = threading.Event()

        def cut_off() -> None:
            overdue.set()
            self.interrupt()

        timer = threading.Timer(HEADER_S, cut_off)  # a header may come byte by byte, each in time
        timer.start()
        try:
            connection.request("GET", address.target, headers=headers)
            response = connection.getresponse()
            if overdue.is_set():  # http.client takes the end of the stream for the end of the header
                raise http.client.IncompleteRead(b"")
            return response
        except TimeoutError:
            raise SourceError(f"{address.shown}: no answer within {SILENCE_S:g} s; is it a camera's stream?") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            what = type(error).__name__ if isinstance(error, http.client.HTTPException) else describe_failure(error)
            raise SourceError(f"{address.shown}: does not answer as a web server does ({what}); is the port right?") from None
        finally:
            timer.cancel()

    def _check(self, address: NetworkAddress, response: http.client.HTTPResponse) -> None:
        """Raise SourceError unless a stream of images comes."""
        if response.status != 200:
            raise SourceError(f"{address.shown}: {_describe_refusal(response, address)}")
        kind, self.boundary = _parse_content_type(response)
        self.server, self._first = "".join(filter(str.isprintable, response.getheader("Server") or ""))[:60], b""
        if kind.startswith("multipart/"):
            return
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._first = response.read1(SNIFF_BYTES)
        if kind in UNTYPED and self._first.lstrip().startswith(b"--"):
            return
        if kind.startswith("image/") or self._first.startswith(b"\xff\xd8"):
            raise SourceError(
                f"{address.shown}: is one picture, not a stream; look in the camera's or app's pages for the address of its "
                f"MJPEG stream, such as {EXAMPLES['http']} or /mjpg/video.mjpg or /stream"
            )
        content = _describe_content(kind, self._first)
        raise SourceError(
            f"{address.shown}: {content} came, expected a stream of pictures (multipart/x-mixed-replace); "
            f"give the address of the stream itself, such as {EXAMPLES['http']}"
        )


def _connect_http(address: NetworkAddress) -> socket.socket:
    """Connect. Raises SourceError."""
    try:
        plain = socket.create_connection((address.host, address.port), CONNECT_S)
        plain.settimeout(SILENCE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.scheme == "http":
            return plain
        # Cameras sign their own certificates: their identity cannot be checked, as little as over plain HTTP.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(plain, server_hostname=address.host)
    except (OSError, UnicodeError) as error:
        raise SourceError(
            f"{address.shown}: cannot connect ({describe_failure(error)}); is the camera on, its server started, "
            f"and the address right?"
        ) from None


def _resolve_redirect(address: NetworkAddress, response: http.client.HTTPResponse) -> NetworkAddress:
    """Return the address of a redirect; name and password are kept only for the same host."""
    base = f"{address.scheme}://{address.host if ':' not in address.host else f'[{address.host}]'}:{address.port}{address.target}"
    there = parse_network_address(urljoin(base, response.getheader("Location") or "/"))
    same = there.host == address.host and there.user is None
    user, password = (address.user, address.password) if same else (there.user, there.password)
    return NetworkAddress(there.scheme, there.host, there.port, there.target, user, password, there.shown)


def _parse_content_type(response: http.client.HTTPResponse) -> tuple[str, str]:
    """Return the announced content type, and the boundary or an empty text."""
    message = Message()
    message["Content-Type"] = response.getheader("Content-Type") or "application/octet-stream"
    boundary = next((value for name, value in message.get_params([]) if name.strip().lower() == "boundary"), "")
    return message.get_content_type(), boundary


def _describe_refusal(response: http.client.HTTPResponse, address: NetworkAddress) -> str:
    """Return why there is no stream, for the user."""
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


def _describe_content(kind: str, first: bytes) -> str:
    """Return what came, with the title of a web page."""
    lower = first.lower()
    start, end = lower.find(b"<title>"), lower.find(b"</title>")
    title = first[start + 7 : end].decode("utf-8", "replace").strip() if 0 <= start < end else ""
    shown = "".join(filter(str.isprintable, title))[:60]
    return f'{kind[:60]} ("{shown}")' if shown else kind[:60]


def describe_failure(error: Exception) -> str:
    """Return an error's reason in a few words, without the address, which FFmpeg adds."""
    if isinstance(error, TimeoutError):
        return "timed out"
    return str(getattr(error, "strerror", None) or type(error).__name__)[:80].strip().rstrip(".").lower()
