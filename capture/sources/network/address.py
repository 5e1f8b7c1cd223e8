"""Addresses of network cameras: their parts, and how they are printed without secrets."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from config.errors import SourceError

SECRET = re.compile(r"(pass\w*|pwd)=[^/&_]*", re.IGNORECASE)  # some cameras want it in the path
PORTS = {"http": 80, "https": 443, "rtsp": 554, "rtsps": 322}
EXAMPLES = {"http": "http://192.168.1.20:8080/video", "rtsp": "rtsp://192.168.1.20:8554/live"}


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    """Where a camera streams. target: path and query; shown: for the user, without name, password and query."""

    scheme: str
    host: str
    port: int
    target: str
    user: str | None
    password: str
    shown: str


def is_mjpeg_url(spec: str) -> bool:
    """Return whether a spec is an address of MJPEG over HTTP."""
    return spec.lower().startswith(("http://", "https://"))


def is_rtsp_url(spec: str) -> bool:
    """Return whether a spec is an address of RTSP."""
    return spec.lower().startswith(("rtsp://", "rtsps://"))


def hide_secrets(spec: str) -> str:
    """Return a camera's spec for printing: an address without name, password and query, anything else as it is."""
    if not (is_mjpeg_url(spec) or is_rtsp_url(spec)):
        return spec
    scheme, _, rest = spec.partition("://")
    place = rest.partition("?")[0].partition("#")[0].rpartition("@")[2]
    return f"{scheme.lower()}://" + SECRET.sub(r"\1=***", place)


def parse_network_address(url: str) -> NetworkAddress:
    """Return the parts of an address. Raises SourceError, without the password in it."""
    shown = hide_secrets(url)
    try:
        parts: SplitResult = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not (target + (host or "")).isascii() or not target.isprintable() or " " in target:
            raise ValueError("characters that no address has")
    except ValueError:
        host = None
    if host is None or scheme not in PORTS:
        example = EXAMPLES["rtsp" if is_rtsp_url(url) else "http"]
        raise SourceError(
            f"{shown}: not an address of a camera; expected one like {example} (special characters as %21 and so on)"
        )
    user = None if parts.username is None else unquote(parts.username)
    return NetworkAddress(scheme, host, port or PORTS[scheme], target, user, unquote(parts.password or ""), shown)
