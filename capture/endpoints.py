"""The one rule of what other machines may reach: loopback as it is, other addresses with keys or when said to be open.

    address = secure_server(socket, address, keys)  # before socket.bind(address)
    address = secure_client(socket, address, keys)  # before socket.connect(address)

Both sides follow the same rule from the same settings, so that `stream.address` alone decides: a loopback address needs no keys,
every other one does, unless `stream.open`; a folder named by `stream.keys` makes all of them keyed.
"""

import contextlib
import ipaddress
import re
import socket as network
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq

from capture.doorkeeper import admit_from
from capture.keys import CLIENT, PUBLISHER, SERVERS, KeyFileError, default_folder, has_own_pair, own_pair, peer_file, public_key
from config.errors import DuocapError
from config.settings import StreamSettings

TCP = re.compile(r"tcp://(?P<host>\[[^\]]*\]|[^\[\]:]*):(?P<port>\d+|\*)")
LOCAL = ("inproc://", "ipc://")
EVERYWHERE = ("*", "0.0.0.0", "[::]")
SILENCE_MS = 5000


class EndpointError(DuocapError):
    """An address is not one, or would let other machines in without keys."""


@dataclass(frozen=True, slots=True)
class KeySettings:
    """folder: of the keys for every socket, None: the user's own, for other machines only; open: ask nobody for keys."""

    folder: Path | None = None
    open: bool = False


def key_settings(stream: StreamSettings) -> KeySettings:
    """Give what the settings say of keys. Raises EndpointError where they contradict themselves."""
    if stream.open and stream.keys:
        raise EndpointError("stream.open = true is without keys, stream.keys names some; leave one of them out")
    return KeySettings(Path(stream.keys).expanduser() if stream.keys else None, stream.open)


def secure_server(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None = None) -> str:
    """Make a socket ready to be bound: keys, IPv6, peers that died noticed; give the address to bind.

    Raises EndpointError for an address that other machines reach without keys, KeyFileError for keys that cannot be read.
    """
    keys = keys or KeySettings()
    host, plain = _parsed(address)
    _notice_dead_peers(socket, host)
    folder = _folder(host, keys)
    if folder is None:
        return plain
    if keys.folder is None and not has_own_pair(folder):
        raise EndpointError(
            f"{address}: other machines could reach this address; make keys for it with: duocap keys make, or set "
            "stream.open = true (without keys, anybody in the network can read the poses), or use tcp://127.0.0.1:PORT"
        )
    pair = own_pair(folder, PUBLISHER)
    domain = admit_from(socket.context, folder)
    socket.curve_server = True
    socket.curve_secretkey, socket.curve_publickey = pair.secret, pair.public
    socket.zap_domain = domain
    # Without this, a context that lost its doorkeeper would let everybody in who knows the public key.
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    return plain


def secure_client(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None = None) -> str:
    """Make a socket ready to connect to an address; an address of all interfaces becomes this machine's loopback.

    Raises EndpointError for what is no address, KeyFileError for a key that is missing.
    """
    keys = keys or KeySettings()
    host, plain = _parsed(address)
    _notice_dead_peers(socket, host)
    folder = _folder(host, keys)
    if folder is not None:
        pair = own_pair(folder, CLIENT)
        socket.curve_secretkey, socket.curve_publickey = pair.secret, pair.public
        socket.curve_serverkey = _server_key(host, folder)
    if host in EVERYWHERE:
        return f"tcp://{'[::1]' if host == '[::]' else '127.0.0.1'}:{plain.rpartition(':')[2]}"
    return plain


def is_loopback(address: str) -> bool:
    """Tell whether only this machine reaches an address. Raises EndpointError for what is no address."""
    return _is_loopback_host(_parsed(address)[0])


def _parsed(address: str) -> tuple[str, str]:
    """Give host and plain address; localhost is meant as 127.0.0.1, whatever the name service says of it."""
    if address.startswith(LOCAL):
        return "", address
    match = TCP.fullmatch(address)
    if match is None or not match["host"] or (match["port"] != "*" and int(match["port"]) > 65535):
        raise EndpointError(f"{address}: cannot be used as an address; give one like tcp://127.0.0.1:5570")
    host = "127.0.0.1" if match["host"].lower() == "localhost" else match["host"]
    return host, f"tcp://{host}:{match['port']}"


def _is_loopback_host(host: str) -> bool:
    """Tell whether a host is this machine's loopback; a name could be anything."""
    try:
        return host == "" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _folder(host: str, keys: KeySettings) -> Path | None:
    """Give the folder of the keys that the rule asks for, None for none."""
    if keys.open:
        return None
    if keys.folder is not None:
        return keys.folder
    return None if _is_loopback_host(host) else default_folder()


def _server_key(host: str, folder: Path) -> bytes:
    """Give the public key of the machine `host`: as trusted, or our own if the host is this machine."""
    trusted = peer_file(folder, SERVERS, host) if host not in ("", *EVERYWHERE) else None
    if trusted is not None and trusted.is_file():
        return public_key(trusted)
    if host in EVERYWHERE or _is_this_machine(host.strip("[]")):
        return own_pair(folder, PUBLISHER).public
    raise KeyFileError(
        f"{host}: its public key is not known here; take publisher.key of that machine and say: duocap keys trust {host} FILE"
    )


def _is_this_machine(host: str) -> bool:
    """Tell whether an address is one of this machine's: only those can be bound to."""
    if _is_loopback_host(host):
        return True
    family = network.AF_INET6 if ":" in host else network.AF_INET
    with contextlib.suppress(OSError), network.socket(family, network.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return True
    return False


def _notice_dead_peers(socket: "zmq.Socket[Any]", host: str) -> None:
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
