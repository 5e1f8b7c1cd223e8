"""Publisher and subscriber on real sockets: late joiners get the skeleton, slow ones hold nobody up, a taken port is named."""

from collections.abc import Sequence

import pytest
import zmq

from capture.sockets.endpoints import EndpointError
from config.settings import Settings, StreamSettings
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.publish.publisher import MAX_UNKNOWN, Publisher, StreamError, choose_address
from stream.publish.subscriber import Subscriber
from tests.support.kept import Kept
from tests.support.ports import peer
from tests.support.stream_messages import POSE, SKELETON, same
from tests.support.waiting import wait_until


def subscriber(address: str, topic: bytes = b"") -> "zmq.Socket[bytes]":
    socket = peer(address, zmq.SUB)
    socket.subscribe(topic)
    return socket


def serve_until_joined(publisher: Publisher, n: int, now_ns: int = 0) -> None:
    wait_until(lambda: publisher.serve(now_ns) or publisher.n_subscriptions >= n)


def test_each_late_subscriber_gets_the_skeleton_and_poses_follow(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    for n in (1, 2):
        socket = subscriber(publisher.address)
        # Time stands still, so only the subscription itself can bring the skeleton.
        serve_until_joined(publisher, n, now_ns=1)
        assert isinstance(decode_message(socket.recv()), SkeletonMessage)
        publisher.publish(POSE)
        assert isinstance(decode_message(socket.recv()), PoseMessage)
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
    assert [everything.recv() for _ in range(4)] == [encode_message(SKELETON)] * 4
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


def test_port_0_becomes_a_free_port_that_every_process_is_told(kept: Kept) -> None:
    chosen = choose_address(Settings(stream=StreamSettings("tcp://localhost:0"))).stream.address
    assert int(chosen.removeprefix("tcp://localhost:")) > 0
    first = kept(Publisher("tcp://127.0.0.1:0"))
    with pytest.raises(StreamError, match="is taken"):
        choose_address(Settings(stream=StreamSettings(first.address)))


def test_a_subscriber_that_never_reads_holds_nobody_up(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    kept(subscriber(publisher.address))  # this one never reads
    busy = kept(subscriber(publisher.address))
    serve_until_joined(publisher, 2)
    for _ in range(2000):  # 1.4 MB: held up by the one that does not read, this would not end
        publisher.publish(POSE)
    assert isinstance(decode_message(busy.recv()), PoseMessage)


def ask(socket: "zmq.Socket[bytes]", publisher: Publisher, requests: Sequence[bytes]) -> None:
    for request in requests:
        socket.send(request)
        publisher.serve(1)


def test_a_peer_that_asks_for_too_much_is_disconnected_and_the_others_are_not(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    healthy = kept(Subscriber(publisher.address))
    greedy = peer(publisher.address, zmq.XSUB, reconnects=False)
    greedy.send(b"\x01pose ")
    serve_until_joined(publisher, 2, 1)
    monitor = kept(greedy.get_monitor_socket(zmq.EVENT_DISCONNECTED))
    ask(greedy, publisher, [b"\x01topic %d" % number for number in range(MAX_UNKNOWN + 200)])
    wait_until(lambda: publisher.serve(1) or monitor.poll(2))  # until the connection was ended
    assert MAX_UNKNOWN < publisher.n_malformed <= MAX_UNKNOWN + 200
    healthy.receive()
    publisher.publish(POSE)
    assert any(isinstance(message, PoseMessage) for message in healthy.receive(20_000))
    greedy.disable_monitor()
    monitor.close()
    greedy.close()


def test_a_peer_that_mistakes_a_few_topics_stays(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    socket = kept(peer(publisher.address, zmq.XSUB))
    requests = [b"\x01posse", b"\x01poses ", b"\x05hello", b"", b"\x01skeletons", b"\x00nothing", b"\xff" * 100, b"\x01pose "]
    for request in requests:
        socket.send(request)
    serve_until_joined(publisher, 1, 1)
    publisher.publish(POSE)
    assert isinstance(decode_message(socket.recv()), PoseMessage)
    assert publisher.n_malformed == 6  # an unsubscription is never counted


def test_malformed_messages_are_counted_and_the_next_pose_comes(kept: Kept) -> None:
    socket: zmq.Socket[bytes] = kept(zmq.Context.instance().socket(zmq.XPUB))
    subscriber = kept(Subscriber(f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"))
    assert socket.poll(30_000) and socket.recv()
    bad = (b"pose \xc1", b"pose", b"", b"other \x80", encode_message(POSE)[:-1])
    for payload in (*bad, encode_message(POSE)):
        socket.send(payload)
    received: list[object] = []
    wait_until(lambda: received.extend(subscriber.receive(100)) or received)
    assert len(received) == 1 and same(received[0], POSE) and subscriber.n_malformed == len(bad)
    assert subscriber.receive() == []
