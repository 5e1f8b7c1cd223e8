"""Who reaches a socket: loopback without keys, other addresses only with keys, and then only those admitted."""

import multiprocessing
import socket as network
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import zmq

from benchmarks.stream.fuzz_sockets import GREETING, READY
from capture.sockets import endpoints
from capture.sockets.endpoints import (
    EndpointError,
    KeySettings,
    find_key_settings,
    is_loopback,
    secure_client_socket,
    secure_server_socket,
)
from capture.sockets.keys import (
    CLIENT,
    CLIENTS,
    PUBLISHER,
    SERVERS,
    KeyFileError,
    add_public_key,
    make_key_pairs,
    read_own_pair,
    remove_public_key,
)
from config.settings import StreamSettings
from stream.protocol.messages import PoseMessage
from stream.publish.publisher import Publisher
from stream.publish.subscriber import Subscriber
from tests.support.kept import Kept
from tests.support.stream_messages import POSE, SKELETON

REACHABLE = [
    "tcp://0.0.0.0:0",
    "tcp://*:0",
    "tcp://192.168.1.20:0",
    "tcp://studio:0",
    "tcp://[::]:0",
    "tcp://[::ffff:127.0.0.1]:0",
]
QUIET_S = 0.4  # several handshakes on loopback; only for what must not come


@pytest.fixture(autouse=True)
def no_keys_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "find_default_folder", lambda: tmp_path / "default")


@pytest.fixture
def socket() -> Iterator[zmq.Socket[bytes]]:
    made = zmq.Context.instance().socket(zmq.PUB)
    yield made
    made.close(0)


def heard_by(subscriber: Subscriber, publisher: Publisher, seconds: float) -> list[int]:
    """Publish every 10 ms until a pose is heard or the time is over; give the numbers of the poses."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        publisher.publish(POSE)
        poses = [message.seq for message in subscriber.receive(10) if isinstance(message, PoseMessage)]
        if poses:
            return poses
    return []


@pytest.mark.parametrize("address", REACHABLE)
def test_an_address_that_others_reach_is_refused_without_keys(address: str, socket: zmq.Socket[bytes]) -> None:
    assert not is_loopback(address)
    with pytest.raises(EndpointError, match=r"duocap keys make.*stream.open = true.*anybody in the network can read the poses"):
        secure_server_socket(socket, address)
    with pytest.raises(EndpointError, match="other machines could reach"):
        Publisher(address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "tcp://localhost:0", "tcp://127.8.0.1:0", "tcp://[::1]:0"])
def test_loopback_needs_no_keys(address: str, socket: zmq.Socket[bytes]) -> None:
    assert secure_server_socket(socket, address) == address.replace("localhost", "127.0.0.1") and is_loopback(address)
    assert socket.get(zmq.MECHANISM) == zmq.NULL


@pytest.mark.parametrize(
    "address", ["", "5570", "tcp://127.0.0.1", "tcp://127.0.0.1:70000", "udp://127.0.0.1:1", "tcp://:5", "http://a:1"]
)
def test_what_is_no_address_is_named(address: str, socket: zmq.Socket[bytes]) -> None:
    for secure in (secure_server_socket, secure_client_socket):
        with pytest.raises(EndpointError, match=r"give one like tcp://127\.0\.0\.1:5570"):
            secure(socket, address)


def test_in_so_many_words_an_open_stream_needs_none(socket: zmq.Socket[bytes]) -> None:
    assert secure_server_socket(socket, "tcp://0.0.0.0:0", KeySettings(open=True)) == "tcp://0.0.0.0:0"
    assert find_key_settings(StreamSettings(open=True)) == KeySettings(None, True)
    with pytest.raises(EndpointError, match="leave one of them out"):
        find_key_settings(StreamSettings(open=True, keys="somewhere"))


def test_the_default_address_is_loopback_and_the_socket_listens_nowhere_else(kept: Kept) -> None:
    assert is_loopback(StreamSettings().address)
    publisher = kept(Publisher("tcp://localhost:0"))
    assert publisher.address.startswith("tcp://127.0.0.1:")


def test_only_the_right_key_gets_poses(tmp_path: Path, kept: Kept) -> None:
    keys, stranger = KeySettings(tmp_path / "own"), KeySettings(tmp_path / "stranger")
    for made in (keys, stranger):
        assert made.folder is not None
        make_key_pairs(made.folder)
    assert keys.folder is not None and stranger.folder is not None
    publisher = kept(Publisher("tcp://127.0.0.1:0", keys=keys))
    publisher.publish(SKELETON)
    # The stranger knows the publisher's public key, so that only admission keeps it out.
    add_public_key(stranger.folder, SERVERS, "127.0.0.1", read_own_pair(keys.folder, PUBLISHER).public)
    none, wrong, right = (
        kept(Subscriber(publisher.address)),
        kept(Subscriber(publisher.address, keys=stranger)),
        kept(Subscriber(publisher.address, keys=keys)),
    )
    assert heard_by(right, publisher, 30.0)
    assert heard_by(none, publisher, QUIET_S) == [] and heard_by(wrong, publisher, QUIET_S) == []
    for subscriber in (none, wrong, right):
        subscriber.close()
    add_public_key(keys.folder, CLIENTS, "friend", read_own_pair(stranger.folder, CLIENT).public)
    friend = kept(Subscriber(publisher.address, keys=stranger))
    assert heard_by(friend, publisher, 30.0), "a client that was added counts from its next connection on"
    friend.close()
    remove_public_key(keys.folder, CLIENTS, "friend")
    former = kept(Subscriber(publisher.address, keys=stranger))
    assert heard_by(former, publisher, QUIET_S) == []


def test_a_client_that_mistakes_the_publishers_key_gets_nothing(tmp_path: Path, kept: Kept) -> None:
    keys = KeySettings(tmp_path / "own")
    assert keys.folder is not None
    make_key_pairs(keys.folder)
    publisher = kept(Publisher("tcp://127.0.0.1:0", keys=keys))
    add_public_key(keys.folder, SERVERS, "127.0.0.1", zmq.curve_keypair()[0])
    mistaken = kept(Subscriber(publisher.address, keys=keys))
    assert heard_by(mistaken, publisher, QUIET_S) == []


def test_two_keyed_sockets_of_one_process_admit_their_own_clients(tmp_path: Path) -> None:
    both = [KeySettings(tmp_path / name) for name in ("first", "second")]
    for keys in both:
        assert keys.folder is not None
        make_key_pairs(keys.folder)
    publishers = [Publisher("tcp://127.0.0.1:0", keys=keys) for keys in both]
    for publisher, keys in zip(publishers, both, strict=True):
        subscriber = Subscriber(publisher.address, keys=keys)
        assert heard_by(subscriber, publisher, 30.0)
        subscriber.close()
    for publisher in publishers:
        publisher.close()


def test_an_address_of_all_interfaces_works_on_both_sides_with_the_users_keys(tmp_path: Path, kept: Kept) -> None:
    make_key_pairs(tmp_path / "default")
    publisher = kept(Publisher("tcp://0.0.0.0:0", keys=KeySettings()))
    port = publisher.address.rpartition(":")[2]
    subscriber = kept(Subscriber(f"tcp://0.0.0.0:{port}", keys=KeySettings()))
    assert heard_by(subscriber, publisher, 30.0)


def test_an_unknown_machine_is_named_with_what_to_do(tmp_path: Path, socket: zmq.Socket[bytes]) -> None:
    with pytest.raises(KeyFileError, match="duocap keys make"):
        secure_client_socket(socket, "tcp://203.0.113.9:5570")
    make_key_pairs(tmp_path / "default")
    with pytest.raises(KeyFileError, match=r"203\.0\.113\.9: its public key is not known.*duocap keys trust 203\.0\.113\.9 FILE"):
        secure_client_socket(socket, "tcp://203.0.113.9:5570")
    add_public_key(tmp_path / "default", SERVERS, "203.0.113.9", zmq.curve_keypair()[0])
    assert secure_client_socket(socket, "tcp://203.0.113.9:5570") == "tcp://203.0.113.9:5570"
    assert secure_client_socket(socket, "tcp://203.0.113.9:5570", KeySettings(open=True)) == "tcp://203.0.113.9:5570"


def test_keyed_sockets_do_not_keep_their_context_from_ending(tmp_path: Path) -> None:
    make_key_pairs(tmp_path / "own")
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    Publisher("tcp://127.0.0.1:0", context, KeySettings(tmp_path / "own")).close()
    context.term()  # would hang for ever if the doorkeeper's socket stayed
    assert context.closed


def is_connected(port: int) -> bool:
    """Return whether a socket of this process is connected to another one's port."""
    connections = psutil.Process().net_connections("tcp")
    return any(c.raddr and c.raddr.port == port and c.status == psutil.CONN_ESTABLISHED for c in connections)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits how long data may stay unacknowledged")
def test_a_peer_that_takes_nothing_any_more_is_dropped(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.setattr(endpoints, "SILENCE_MS", 300)
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    alive = kept(Subscriber(publisher.address))
    host, port = publisher.address.removeprefix("tcp://").split(":")
    with network.socket() as dead:
        dead.setsockopt(network.SOL_SOCKET, network.SO_RCVBUF, 4096)
        dead.connect((host, int(port)))
        dead.sendall(GREETING + READY)
        assert dead.recv(10, network.MSG_WAITALL)  # a subscription before the greeting's answer is refused
        time.sleep(0.1)
        dead.sendall(b"\x00\x06\x01pose ")
        own_port, deadline = dead.getsockname()[1], time.monotonic() + 20.0
        while publisher.n_subscriptions < 2 and time.monotonic() < deadline:
            publisher.serve(time.monotonic_ns())
        assert is_connected(own_port)
        while is_connected(own_port) and time.monotonic() < deadline:
            for _ in range(200):
                publisher.publish(POSE)
            publisher.serve(time.monotonic_ns())
            time.sleep(0.02)
        assert not is_connected(own_port)
    assert heard_by(alive, publisher, 30.0)


def stop_reading_and_outlive_the_publisher(address: str) -> None:
    """Let a subscriber's buffer fill while its publisher dies; the body of a process that may abort."""
    subscriber = Subscriber(address)
    time.sleep(6.0)
    subscriber.close()


@pytest.mark.slow
def test_a_subscriber_with_a_full_buffer_outlives_its_publisher(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=stop_reading_and_outlive_the_publisher, args=(publisher.address,), daemon=True)
    process.start()
    begun = time.monotonic()
    while process.is_alive() and time.monotonic() < begun + 30 and publisher.n_subscriptions == 0:
        publisher.serve(time.monotonic_ns())
        time.sleep(0.01)
    for _ in range(3000):
        publisher.publish(POSE)
        time.sleep(0.0005)
    publisher.close()
    process.join(60)
    assert process.exitcode == 0
