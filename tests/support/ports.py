"""Ports for tests that must know an address before anybody binds it, and sockets that connect to one."""

import contextlib
import random
import socket

import zmq

CHANCE = random.SystemRandom()  # workers of pytest seed the other one alike


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return a port of the loopback interface that is free now.

    Below those that systems give to outgoing connections: of these, any test beside this one may take it before it is bound.
    """
    for _ in range(100):
        port = CHANCE.randrange(20_000, 32_000)
        with socket.socket(socket.AF_INET, kind) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port from 20000 to 31999 is free")


def free_address() -> str:
    """Return a TCP address of the loopback interface that is free now."""
    return f"tcp://127.0.0.1:{free_port()}"


def peer(address: str, kind: int, reconnects: bool = True) -> "zmq.Socket[bytes]":
    """Return a connected socket that neither waits for ever nor lingers."""
    made: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    for option, milliseconds in ((zmq.LINGER, 0), (zmq.RCVTIMEO, 30_000), (zmq.SNDTIMEO, 30_000)):
        made.setsockopt(option, milliseconds)
    if not reconnects:
        made.setsockopt(zmq.RECONNECT_IVL, -1)
    made.connect(address)
    return made
