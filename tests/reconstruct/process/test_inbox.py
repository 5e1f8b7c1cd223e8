"""The inbox: blobs come over a real socket, what is malformed is counted."""

import zmq

from capture.clock import now_ns
from capture.sockets.wire import encode_blobs
from reconstruct.process.inbox import Inbox
from tests.reconstruct.process.test_reconstruction import MS, T0, sent
from tests.support.kept import Kept


def test_inbox_is_on_loopback_and_counts_what_is_malformed(kept: Kept) -> None:
    inbox = kept(Inbox())
    assert inbox.address.startswith("tcp://127.0.0.1:")
    socket = zmq.Context.instance().socket(zmq.PUSH)
    socket.connect(inbox.address)
    good, _ = sent(1, 2, T0)
    for payload in (b"noise", encode_blobs(good)[:-3], b"", encode_blobs(good)):
        socket.send(payload)
    received, deadline = [], now_ns() + 3_000 * MS
    while not received and now_ns() < deadline:
        received += inbox.drain(100)
    assert inbox.n_malformed == 3 and len(received) == 1
    assert received[0][0].blobs.index == 2 and received[0][1] <= now_ns()
    socket.close(0)
