"""Bind or connect a socket by the rule of capture.endpoints, with words for what can go wrong."""

import errno
from typing import Any

import zmq

from capture.endpoints import EndpointError, KeySettings, secure_client, secure_server


def bound(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None, setting: str) -> str:
    """Bind a socket; give the address it really has (port 0 takes a free one). setting: that holds the address.

    Raises EndpointError: it is no address, not one of this machine, taken, or open to others without keys; KeyFileError.
    """
    plain = secure_server(socket, address, keys)
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
    return address_of(socket)


def connected(socket: "zmq.Socket[Any]", address: str, keys: KeySettings | None) -> None:
    """Connect a socket, or close it where that cannot be.

    Raises EndpointError: it is no address; KeyFileError: the key of its machine is not known.
    """
    try:
        socket.connect(secure_client(socket, address, keys))
    except zmq.ZMQError as error:
        socket.close(0)
        why = error.strerror or error
        raise EndpointError(f"{address}: cannot be connected to ({why}); give an address like tcp://127.0.0.1:5570") from error
    except BaseException:
        socket.close(0)
        raise


def address_of(socket: "zmq.Socket[Any]") -> str:
    """Give the address a socket was bound to last: port 0 has become a free one."""
    endpoint: object = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(endpoint, bytes)
    return endpoint.decode().rstrip("\0")
