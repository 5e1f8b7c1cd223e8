"""The publisher on real sockets: late joiners get the skeleton, slow ones hold nobody up, a taken port is named."""

import time

import pytest
import zmq

from capture.endpoints import EndpointError
from stream.codec import decode, encode
from stream.messages import PoseMessage, SkeletonMessage
from stream.publisher import Publisher, StreamError
from tests.kept import Kept
from tests.test_codec import POSE, SKELETON


def subscriber(address: str, topic: bytes = b"") -> zmq.Socket:
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVTIMEO, 20_000)
    socket.setsockopt(zmq.LINGER, 0)
    socket.subscribe(topic)
    socket.connect(address)
    return socket


def serve_until_joined(publisher: Publisher, n: int, now_ns: int = 0) -> None:
    deadline = time.monotonic() + 20
    while publisher.n_subscriptions < n and time.monotonic() < deadline:
        publisher.serve(now_ns)
        time.sleep(0.005)
    assert publisher.n_subscriptions >= n


def test_each_late_subscriber_gets_the_skeleton_and_poses_follow(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    for n in (1, 2):
        socket = subscriber(publisher.address)
        # Time stands still, so only the subscription itself can bring the skeleton.
        serve_until_joined(publisher, n, now_ns=1)
        assert isinstance(decode(socket.recv()), SkeletonMessage)
        publisher.publish(POSE)
        assert isinstance(decode(socket.recv()), PoseMessage)
        socket.close()


def test_skeleton_comes_every_second_and_only_to_its_topic(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    everything, poses = kept(subscriber(publisher.address, b"skeleton")), kept(subscriber(publisher.address, b"pose"))
    serve_until_joined(publisher, 2)
    everything.recv()
    while everything.poll(200):
        everything.recv()
    start_ns = 10_000_000_000
    for step in range(31):
        publisher.serve(start_ns + step * 100_000_000)
    assert [everything.recv() for _ in range(4)] == [encode(SKELETON)] * 4
    assert not everything.poll(200)
    assert not poses.poll(0)


def test_taken_port_is_named(kept: Kept) -> None:
    first = kept(Publisher("tcp://127.0.0.1:0"))
    port = first.address.rpartition(":")[2]
    with pytest.raises(StreamError, match=f"port {port} is taken"):
        Publisher(first.address)
    first.close()
    with pytest.raises(StreamError, match="cannot publish there"):
        Publisher("ipc:///no/such/folder/socket")
    with pytest.raises(EndpointError, match="cannot be used as an address"):
        Publisher("nonsense")


def test_a_subscriber_that_never_reads_holds_nobody_up(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    kept(subscriber(publisher.address))  # this one never reads
    busy = kept(subscriber(publisher.address))
    serve_until_joined(publisher, 2)
    start = time.monotonic()
    for _ in range(20_000):
        publisher.publish(POSE)
    assert time.monotonic() - start < 30.0  # held up, it would be for ever
    assert isinstance(decode(busy.recv()), PoseMessage)


def test_hostile_peers_do_not_disturb(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    socket = kept(zmq.Context.instance().socket(zmq.XSUB))
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(publisher.address)
    for message in (b"", b"\x00", b"\x02abc", b"\xff" * 100, b"\x01skeleton"):
        socket.send(message)
    serve_until_joined(publisher, 1)
    assert socket.poll(20_000) and isinstance(decode(socket.recv()), SkeletonMessage)
