"""Who may connect to keyed sockets: a thread that answers ZeroMQ's ZAP requests from the folder of admitted clients.

One per ZeroMQ context (ZAP, RFC 27). The folder is read at every handshake, so a client that is added or removed counts from
its next connection on. The thread ends with its context; while it is not there, nobody is let in.
"""

import hashlib
import logging
import threading
from pathlib import Path
from typing import Any

import zmq
from zmq.utils import z85

from capture.keys import CLIENT, CLIENTS, KeyFileError, own_pair, public_keys

log = logging.getLogger(__name__)

ADDRESS = "inproc://zeromq.zap.01"
ADMITTED, REFUSED = (b"200", b"OK"), (b"400", b"not admitted")

_folders: dict[bytes, Path] = {}
_starting = threading.Lock()


def admit_from(context: zmq.Context[Any], folder: Path) -> bytes:
    """Let the clients of a folder in, and this machine's own; give the ZAP domain to set on the server's socket."""
    domain = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16].encode()
    with _starting:
        _folders[domain] = folder
        socket: zmq.Socket[bytes] = context.socket(zmq.REP)
        socket.setsockopt(zmq.LINGER, 0)
        try:
            socket.bind(ADDRESS)
        except zmq.ZMQError as error:
            socket.close(0)
            if error.errno != zmq.EADDRINUSE:  # in use: this context has its doorkeeper
                raise
        else:
            threading.Thread(target=_answer, args=(socket,), name="doorkeeper", daemon=True).start()
    return domain


def _answer(socket: "zmq.Socket[bytes]") -> None:
    """Answer requests until the context ends."""
    try:
        while True:
            socket.send_multipart(_reply(socket.recv_multipart()))
    except zmq.ZMQError as error:  # the context ends, or is gone
        log.debug("doorkeeper ends: %s", error)
    finally:
        socket.close(0)


def _reply(request: list[bytes]) -> list[bytes]:
    """Give the reply to one ZAP request: version, id, status, text, user, metadata."""
    version, request_id = request[0], request[1] if len(request) > 1 else b""
    name = _client_of(request)
    if name is None:
        log.info("a client without an admitted key was turned away")
    status = ADMITTED if name is not None else REFUSED
    return [version, request_id, *status, (name or "").encode("utf-8", "replace"), b""]


def _client_of(request: list[bytes]) -> str | None:
    """Give the name of the client whose key came: version, id, domain, address, identity, mechanism, key; None: unknown."""
    if len(request) != 7 or request[5] != b"CURVE" or len(request[6]) != 32:
        return None
    folder = _folders.get(request[2])
    if folder is None:
        return None
    try:
        key = z85.encode(request[6])
        if key == own_pair(folder, CLIENT).public:
            return "this machine"
        return next((name for name, known in public_keys(folder, CLIENTS).items() if known == key), None)
    except (KeyFileError, OSError) as error:
        log.warning("%s", error)
        return None
