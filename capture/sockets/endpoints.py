"""Bind and connect sockets. Loopback addresses need no keys; others need them unless `stream.open` is set.

Server and client follow one rule from the same settings, so `stream.address` alone decides. A folder named by `stream.keys`
makes every address keyed.
"""

import contextlib
import errno
import ipaddress
import re
import socket as network
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq

from capture.sockets.keys import (
    CLIENT,
    PUBLISHER,
    SERVERS,
    KeyFileError,
    admit_clients,
    find_default_folder,
    find_peer_file,
    has_own_pair,
    read_own_pair,
    read_public_key,
)
from config.errors import DuocapError
from config.settings import StreamSettings

TCP = re.compile(r"tcp://(?P<host>\[[^\]]*\]|[^\[\]:]*):(?P<port>\d+|\*)")
LOCAL = ("inproc://", "ipc://")
EVERYWHERE = ("*", "0.0.0.0", "[::]")
SILENCE_MS = 5000


class EndpointError(DuocapError):
    """An address is invalid, or would admit other machines without keys."""


@dataclass(frozen=True, slots=True)
class KeySettings:
    """Keys of sockets. folder: used for every socket, None: the user's own, for other machines only; open: use no keys."""

    folder: Path | None = None
    open: bool = False


def find_key_settings(stream: StreamSettings) -> KeySettings:
    """Return the key settings of the stream. Raises EndpointError if they contradict each other."""
    if stream.open and stream.keys:
        raise EndpointError("stream.open = true is without keys, stream.keys names some; leave one of them out")
    return KeySettings(Path(stream.keys).expanduser() if stream.keys else None, stream.open)


def secure_server_socket(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None = None) -> str:
    """Prepare a socket for binding (keys, IPv6, keep-alive); return the address to bind.

    Args:
        address: asked for.
        keys: which keys are used; None: the user's own, for other machines only.
    Raises: EndpointError: other machines would reach the address without keys; KeyFileError: a key cannot be read.
    """
    keys = keys or KeySettings()
    host, plain = _parse_address(address)
    _enable_keep_alive(socket, host)
    folder = _find_key_folder(host, keys)
    if folder is None:
        return plain
    if keys.folder is None and not has_own_pair(folder):
        raise EndpointError(
            f"{address}: other machines could reach this address; make keys for it with: duocap keys make, or set "
            "stream.open = true (without keys, anybody in the network can read the poses), or use tcp://127.0.0.1:PORT"
        )
    pair = read_own_pair(folder, PUBLISHER)
    domain = admit_clients(socket.context, folder)
    socket.curve_server = True
    socket.curve_secretkey, socket.curve_publickey = pair.secret, pair.public
    socket.zap_domain = domain
    # Without this, a context that lost its authenticator would admit everybody who knows the public key.
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    return plain


def secure_client_socket(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None = None) -> str:
    """Prepare a socket for connecting; return the address to connect to: loopback for one that means all interfaces.

    Args:
        address: asked for.
        keys: which keys are used; None: the user's own, for other machines only.
    Raises: EndpointError: an invalid address; KeyFileError: a key is missing.
    """
    keys = keys or KeySettings()
    host, plain = _parse_address(address)
    _enable_keep_alive(socket, host)
    folder = _find_key_folder(host, keys)
    if folder is not None:
        pair = read_own_pair(folder, CLIENT)
        socket.curve_secretkey, socket.curve_publickey = pair.secret, pair.public
        socket.curve_serverkey = _find_server_key(host, folder)
    if host in EVERYWHERE:
        return f"tcp://{'[::1]' if host == '[::]' else '127.0.0.1'}:{plain.rpartition(':')[2]}"
    return plain


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches an address. Raises EndpointError: an invalid address."""
    return _is_loopback_host(_parse_address(address)[0])


def _parse_address(address: str) -> tuple[str, str]:
    """Return host and address; localhost is always 127.0.0.1. Raises EndpointError."""
    if address.startswith(LOCAL):
        return "", address
    match = TCP.fullmatch(address)
    if match is None or not match["host"] or (match["port"] != "*" and int(match["port"]) > 65535):
        raise EndpointError(f"{address}: cannot be used as an address; give one like tcp://127.0.0.1:5570")
    host = "127.0.0.1" if match["host"].lower() == "localhost" else match["host"]
    return host, f"tcp://{host}:{match['port']}"


def _is_loopback_host(host: str) -> bool:
    """Return whether a host is a loopback address; a name is not."""
    try:
        return host == "" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _find_key_folder(host: str, keys: KeySettings) -> Path | None:
    """Return the folder of the keys to use, None for no keys."""
    if keys.open:
        return None
    if keys.folder is not None:
        return keys.folder
    return None if _is_loopback_host(host) else find_default_folder()


def _find_server_key(host: str, folder: Path) -> bytes:
    """Return the public key of a host: the trusted one, or our own if it is this machine. Raises KeyFileError."""
    trusted = find_peer_file(folder, SERVERS, host) if host not in ("", *EVERYWHERE) else None
    if trusted is not None and trusted.is_file():
        return read_public_key(trusted)
    if host in EVERYWHERE or _is_this_machine(host.strip("[]")):
        return read_own_pair(folder, PUBLISHER).public
    raise KeyFileError(
        f"{host}: its public key is not known here; take publisher.key of that machine and say: duocap keys trust {host} FILE"
    )


def _is_this_machine(host: str) -> bool:
    """Return whether an address is one of this machine: only those can be bound."""
    if _is_loopback_host(host):
        return True
    family = network.AF_INET6 if ":" in host else network.AF_INET
    with contextlib.suppress(OSError), network.socket(family, network.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return True
    return False


def _enable_keep_alive(socket: "zmq.Socket[Any]", host: str) -> None:
    """Drop peers whose machine or network died: nothing else ends a TCP connection that nobody closes.

    TCP itself asks (keepalive where nothing is sent, a limit on what stays unacknowledged where something is). ZMTP's heartbeats
    are not used: libzmq 4.3.5 aborts the process when one is due on a connection that broke while its messages waited to be read.
    """
    if host.startswith("["):
        socket.setsockopt(zmq.IPV6, 1)
    socket.setsockopt(zmq.HANDSHAKE_IVL, SILENCE_MS)
    socket.setsockopt(zmq.TCP_MAXRT, SILENCE_MS)
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 2)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)


def bind_socket(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None, setting: str) -> str:
    """Bind a socket; return its address, with a free port for port 0.

    Args:
        address: asked for.
        keys: which keys are used; None: the user's own, for other machines only.
        setting: name of the setting that holds the address.
    Raises: EndpointError: the address is invalid, taken, not of this machine, or open to others without keys; KeyFileError.
    """
    plain = secure_server_socket(socket, address, keys)
    try:
        socket.bind(plain)
    except zmq.ZMQError as error:
        words = {
            zmq.EADDRINUSE: f"port {plain.rpartition(':')[2]} is taken; end the program that has it, or set {setting} to another",
            errno.ENODEV: f"this machine has no such address; set {setting} to one that it has",
            zmq.EADDRNOTAVAIL: f"this machine has no such address; set {setting} to one that it has",
            errno.EACCES: f"ports below 1024 are the system's; set {setting} to a higher one",
        }
        what = words.get(error.errno or 0, f"{error.strerror}; set {setting} to another")
        raise EndpointError(f"{setting} {plain}: {what}") from error
    return find_bound_address(socket)


def connect_socket(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None) -> None:
    """Connect a socket; close it on failure.

    Args:
        address: asked for.
        keys: which keys are used; None: the user's own, for other machines only.
    Raises: EndpointError: an invalid address; KeyFileError: its key is unknown.
    """
    try:
        socket.connect(secure_client_socket(socket, address, keys))
    except zmq.ZMQError as error:
        socket.close(0)
        why = error.strerror or error
        raise EndpointError(f"{address}: cannot be connected to ({why}); give an address like tcp://127.0.0.1:5570") from error
    except BaseException:
        socket.close(0)
        raise


def find_bound_address(socket: "zmq.Socket[Any]") -> str:
    """Return the address a socket is bound to."""
    endpoint: object = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(endpoint, bytes)
    return endpoint.decode().rstrip("\0")
