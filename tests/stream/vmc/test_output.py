"""VMC on real sockets: rates, what is sent while nobody is tracked, receivers that come and go, and systems that refuse."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from config.errors import DuocapError
from reconstruct.pose import TrackingState
from stream.protocol.messages import PoseMessage
from stream.vmc.output import VmcOutput
from stream.vmc.sender import PRESETS, Sender, VmcError, VmcTarget, looks_like_target, parse_vmc_target
from tests.support.kept import Kept
from tests.support.stream_messages import EVENT, POSE, SKELETON, STATUS
from tests.support.vmc_world import Messages, bones, decoded

MS = 1_000_000


@contextmanager
def receiver(host: str = "127.0.0.1", port: int = 0) -> Iterator[socket.socket]:
    """Return a bound socket; skip the test where the machine has no such address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as bound:
        try:
            bound.bind((host, port))
        except OSError:
            pytest.skip(f"no address {host} here")
        bound.settimeout(20.0)
        yield bound


def heard(bound: socket.socket) -> Messages:
    """Return the messages that have come."""
    datagrams = []
    bound.setblocking(False)
    try:
        while True:
            datagrams.append(bound.recv(65536))
    except BlockingIOError:
        return decoded(datagrams)


def states(messages: Messages) -> list[object]:
    return [values[3] for address, values in messages if address == "/VMC/Ext/OK"]


@pytest.fixture
def output() -> Iterator[tuple[VmcOutput, socket.socket]]:
    with receiver() as bound:
        sends = VmcOutput(VmcTarget(port=bound.getsockname()[1]))
        yield sends, bound
        sends.close()


def posed(x_m: float, state: str = "tracking") -> PoseMessage:
    return replace(POSE, root_m=(x_m, 1.0, 0.0), state=TrackingState(state))


def test_a_pose_goes_out_once_its_skeleton_is_known(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    sends.write(posed(0.5), b"", 0)
    assert heard(bound) == []
    for message in (SKELETON, STATUS, EVENT, posed(0.5)):
        sends.write(message, b"", 10 * MS)
    messages = heard(bound)
    assert list(bones(messages)) == ["Hips", "Spine", "LeftUpperLeg"]
    assert bones(messages)["Hips"][:3] == [-0.5, 1.0, 0.0]
    sends.write(replace(posed(2.0), hash="another"), b"", 30 * MS)
    assert heard(bound) == []


def test_no_more_than_200_poses_a_second_and_the_newest_of_them(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    sends.write(SKELETON, b"", 0)
    hips = []
    for step in range(300):  # one a millisecond
        sends.write(posed(step * 1e-3), b"", step * MS)
        sends.serve(step * MS)
        hips += [values[0] for values in [bones(heard(bound)).get("Hips")] if values]
    assert len(hips) == 60
    np.testing.assert_allclose(hips, -np.arange(0, 300, 5) * 1e-3, atol=1e-7)
    assert sends.n_skipped == 239  # all but the 60 and the one that waits


def test_a_pose_that_came_too_early_goes_out_when_it_is_due(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    for message, t_ns in ((SKELETON, 0), (posed(1.0), 0), (posed(2.0), 2 * MS)):
        sends.write(message, b"", t_ns)
    assert bones(heard(bound))["Hips"][0] == -1.0
    sends.serve(3 * MS)
    assert heard(bound) == []
    sends.serve(6 * MS)
    assert bones(heard(bound))["Hips"][0] == -2.0
    sends.serve(7 * MS)
    assert heard(bound) == []


def test_who_is_lost_is_held_and_said_to_be_lost(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    sends.write(SKELETON, b"", 0)
    sends.write(posed(1.0), b"", 0)
    assert states(heard(bound)) == [1]
    sends.write(posed(5.0, "coasting"), b"", 16 * MS)  # told of at once
    messages = heard(bound)
    assert states(messages) == [0] and bones(messages)["Hips"][0] == -1.0
    for step in range(1, 51):
        sends.write(posed(9.0, "lost"), b"", 16 * MS + step * 20 * MS)
        sends.serve(16 * MS + step * 20 * MS)
    messages = heard(bound)
    assert states(messages) == [0] * 10  # ten times in that second
    assert bones(messages)["Hips"][0] == -1.0
    sends.write(posed(3.0), b"", 1100 * MS)
    messages = heard(bound)
    assert states(messages) == [1] and bones(messages)["Hips"][0] == -3.0


def test_poses_that_stop_coming_are_held_and_soon_count_as_lost(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    sends.write(SKELETON, b"", 0)
    sends.write(posed(1.0), b"", 0)
    for step in range(1, 11):
        sends.serve(step * 100 * MS)
    assert states(heard(bound)) == [1] * 5 + [0] * 6


def test_before_any_pose_there_is_a_heartbeat_and_time_runs(output: tuple[VmcOutput, socket.socket]) -> None:
    sends, bound = output
    for step in range(3):
        sends.serve(5_000_000_000 + step * 500 * MS)
    messages = heard(bound)
    assert states(messages) == [0, 0, 0] and not bones(messages)
    assert [values[0] for address, values in messages if address == "/VMC/Ext/T"] == [0.0, 0.5, 1.0]


def test_a_receiver_that_comes_late_or_goes_hears_what_is_sent_then() -> None:
    with receiver() as first:
        port = first.getsockname()[1]
        sender = Sender(VmcTarget(port=port))
        sender.send([b"one"], 0)
        assert first.recv(99) == b"one"
    for step in range(50):  # nobody listens: the system says so, and on Windows with another error
        sender.send([b"two", b"three"], step * MS)
    with receiver(port=port) as second:
        sender.send([b"four"], 60 * MS)
        assert second.recv(99) == b"four"
    assert sender.n_sent + sender.n_dropped == 102
    sender.close()


class Refusing:
    """A socket whose sends fail in a given way, a number of times."""

    def __init__(self, error: OSError, times: int) -> None:
        self.error, self.times, self.sent, self.closed = error, times, [], False

    def send(self, datagram: bytes) -> None:
        if self.times > 0:
            self.times -= 1
            raise self.error
        self.sent.append(datagram)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("error", "times", "sent", "counts"),
    [
        (ConnectionResetError(10054, "reset"), 1, [b"a", b"b"], (2, 1, 0)),  # what Windows says of the datagram before
        (ConnectionRefusedError(111, "refused"), 3, [b"b"], (1, 3, 1)),
        (BlockingIOError(11, "would block"), 1, [b"b"], (1, 0, 1)),
    ],
)
def test_a_send_that_fails_is_counted_and_the_next_one_goes(
    error: OSError, times: int, sent: list[bytes], counts: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    sender = kept(Sender(VmcTarget()))
    sender.close()
    fake = Refusing(error, times)
    monkeypatch.setattr(sender, "_socket", fake)
    sender.send([b"a", b"b"], 0)
    assert fake.sent == sent and (sender.n_sent, sender.n_refused, sender.n_dropped) == counts


def test_a_network_that_went_away_is_tried_again_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as bound:
        sender = Sender(VmcTarget(port=bound.getsockname()[1]))
        sender.close()
        gone, opened = Refusing(OSError(101, "network is unreachable"), 1), []
        real = sender._opened
        monkeypatch.setattr(sender, "_socket", gone)
        monkeypatch.setattr(sender, "_opened", lambda: opened.append(1) or (real() if len(opened) == 2 else None))
        for step in range(21):  # 2 s
            sender.send([b"x"], step * 100 * MS)
        assert gone.closed and len(opened) == 2
        assert (sender.n_dropped, sender.n_sent) == (11, 10)
        sender.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_hosts_by_address_and_by_name(host: str) -> None:
    with receiver("127.0.0.1" if host == "localhost" else host) as bound:
        sender = Sender(VmcTarget(host, bound.getsockname()[1]))
        sender.send([b"hello"], 0)
        assert bound.recv(99) == b"hello"
        sender.close()


def test_broadcast_is_allowed(kept: Kept) -> None:
    sender = kept(Sender(VmcTarget("255.255.255.255", 9)))  # the discard port
    sender.send([b"hello"], 0)
    assert sender._socket is None or sender._socket.getsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST)


def test_an_unknown_host_is_named_in_one_line() -> None:
    with pytest.raises(VmcError, match=r"no-such-host\.invalid cannot be found .* check its name"):
        Sender(VmcTarget("no-such-host.invalid"))


@pytest.mark.parametrize(
    ("text", "host", "port", "upper_chest"),
    [
        ("", "127.0.0.1", 39539, True),
        ("192.168.1.20:4000", "192.168.1.20", 4000, True),
        (":4000", "127.0.0.1", 4000, True),
        ("[fe80::1%eth0]:4000", "fe80::1%eth0", 4000, True),
        ("studio-pc.local:39540", "studio-pc.local", 39540, True),
        ("vseeface", "127.0.0.1", 39539, True),
        ("VMC4UE", "127.0.0.1", 39539, False),
        ("vmc4ue@10.0.0.7", "10.0.0.7", 39539, False),
        ("vseeface@[::1]:5", "::1", 5, True),
        ("godot@:5", "127.0.0.1", 5, True),
    ],
)
def test_targets(text: str, host: str, port: int, upper_chest: bool) -> None:
    assert parse_vmc_target(text) == VmcTarget(host, port, upper_chest)


@pytest.mark.parametrize(
    "text", ["vsefase", "1.2.3.4", "1.2.3.4:0", "1.2.3.4:70000", "osc://a:1", "other@a:1", "godot@", "a b:1", "::1:5"]
)
def test_what_is_no_target_says_what_is(text: str) -> None:
    with pytest.raises(DuocapError, match=rf"(?s)--vmc {text.replace('.', '.')}.*vseeface"):
        parse_vmc_target(text)


def test_words_that_are_targets_and_words_that_follow() -> None:
    targets = (*PRESETS, "Godot@studio", "127.0.0.1:39539", "[::1]:5", ":5", "vsefce", "127.0.0.1")
    assert all(looks_like_target(word) for word in targets)
    others = ("left.avi", "0", "--headless", "C:\\left.avi", "rtsp://cam:554", "http://cam:80/video", "./godot", "left", "a:b")
    assert not any(looks_like_target(word) for word in others)
