"""Ports for tests that must know an address before anybody binds it."""

import socket


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return a port of the loopback interface that is free now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_address() -> str:
    """Return a TCP address of the loopback interface that is free now."""
    return f"tcp://127.0.0.1:{free_port()}"
