"""Where a run's orders go out and its reports come in: by one socket for the processes here, by a server for camera nodes."""

import contextlib
from collections.abc import Iterator

import zmq

from capture.process.control import Order, encode_order
from capture.remote.server import NodeServer
from capture.sockets.wire import MAX_MESSAGE_BYTES
from tools.run.child import ChildProcess
from tools.run.parts import NodeEntrance


class Router:
    """The sockets of one run.

    Args:
        session: name of the run.
        nodes: cameras on other machines.
        entrance: entrance for these; None without nodes.
    Raises: EndpointError: the entrance is impossible.
    """

    def __init__(self, session: str, nodes: list[ChildProcess], entrance: NodeEntrance | None) -> None:
        settings = {child.name: (child.plan.detector, child.plan.room) for child in nodes}
        entrance = entrance or NodeEntrance("tcp://127.0.0.1:0")
        self._nodes = NodeServer(entrance.address, entrance.keys, session, settings) if settings else None
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        # A camera that is started again comes under the same name while its old connection may still linger.
        self._socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._mail = zmq.Poller()
        for socket in self._sockets:
            self._mail.register(socket, zmq.POLLIN)

    @property
    def entrance(self) -> str:
        """Where nodes come in, empty if none is awaited."""
        return self._nodes.address if self._nodes is not None else ""

    @property
    def _sockets(self) -> "list[zmq.Socket[bytes]]":
        """Where reports come from."""
        return [self._socket] if self._nodes is None else [self._socket, self._nodes.mail]

    def send(self, child: ChildProcess, order: Order) -> None:
        """Send an order; one to a process that is not there is lost, as it should be."""
        socket = self._nodes.mail if child.is_node and self._nodes is not None else self._socket
        with contextlib.suppress(zmq.Again):
            socket.send_multipart([child.name.encode(), encode_order(order)], zmq.NOBLOCK)

    def waiting(self, timeout_ms: int) -> bool:
        """Return whether a report is there, waiting at most so long for one."""
        return bool(self._mail.poll(timeout_ms))

    def mail(self) -> Iterator[tuple[list[bytes], bool]]:
        """Return all messages that have come, [name, ..., report], and whether each came by the node server."""
        for socket in self._sockets:
            while socket.poll(0):
                yield socket.recv_multipart(zmq.NOBLOCK), socket is not self._socket

    def close_node_server(self) -> None:
        """Let no node in any more."""
        if self._nodes is not None:
            self._nodes.close()

    def close(self) -> None:
        """Close the socket of the processes here; the node server has its own end."""
        self._socket.close()
