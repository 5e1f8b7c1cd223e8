"""The subscriber: malformed messages are counted, and the next ones come."""

import zmq

from stream.protocol.codec import encode
from stream.publish.subscriber import Subscriber
from tests.support.kept import Kept
from tests.support.stream_messages import POSE, same
from tests.support.waiting import wait_until


def test_malformed_messages_are_counted_and_the_next_pose_comes(kept: Kept) -> None:
    socket: zmq.Socket[bytes] = kept(zmq.Context.instance().socket(zmq.XPUB))
    subscriber = kept(Subscriber(f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"))
    assert socket.poll(30_000) and socket.recv()
    bad = (b"pose \xc1", b"pose", b"", b"other \x80", encode(POSE)[:-1])
    for payload in (*bad, encode(POSE)):
        socket.send(payload)
    received: list[object] = []
    wait_until(lambda: received.extend(subscriber.receive(100)) or received)
    assert len(received) == 1 and same(received[0], POSE) and subscriber.n_malformed == len(bad)
    assert subscriber.receive() == []
