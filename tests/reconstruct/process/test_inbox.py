"""The inbox: blobs come over a real socket, what is malformed is counted."""

import zmq

from capture.clock import now_ns
from capture.sockets.wire import SentBlobs, encode_blobs
from reconstruct.process.inbox import Inbox
from tests.reconstruct.process.test_reconstruction import T0, sent
from tests.support.kept import Kept
from tests.support.ports import peer
from tests.support.waiting import wait_until


def test_inbox_is_on_loopback_and_counts_what_is_malformed(kept: Kept) -> None:
    inbox = kept(Inbox())
    assert inbox.address.startswith("tcp://127.0.0.1:")
    socket = kept(peer(inbox.address, zmq.PUSH))
    good, _ = sent(1, 2, T0)
    for payload in (b"noise", encode_blobs(good)[:-3], b"", encode_blobs(good)):
        socket.send(payload)
    received: list[tuple[SentBlobs, int]] = []
    wait_until(lambda: received.extend(inbox.drain(100)) or received)
    assert inbox.n_malformed == 3 and len(received) == 1
    assert received[0][0].blobs.index == 2 and received[0][1] <= now_ns()


def test_a_drain_ends_even_if_all_is_malformed_and_more_comes() -> None:
    inbox = Inbox()

    class Flood:
        """Stands in for a socket that never runs dry."""

        def poll(self, timeout_ms: int) -> int:
            return 1

        def get(self, option: int) -> int:
            return zmq.POLLIN

        def recv(self, flags: int) -> bytes:
            return b"\xc1"

    inbox._socket.close(0)
    inbox._socket = Flood()  # type: ignore[assignment]
    assert inbox.drain(0) == [] and 0 < inbox.n_malformed < 10_000
