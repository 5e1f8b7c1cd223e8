"""Camera nodes: admission and round trips by hand, then real sockets: a node that joins, reconnects and serves run after run."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zmq

from capture.clock import now_ns
from capture.process.control import (
    ClockOrder,
    Report,
    ReportKind,
    RoomSettings,
    WaitOrder,
    WelcomeOrder,
    decode_order,
    encode_report,
)
from capture.process.plan import CameraPlan
from capture.remote.node import CameraNode, NodePlan, find_blobs_address
from capture.remote.server import HOLD_NS, NodeAdmission, NodeServer
from capture.sockets.endpoints import KeySettings, secure_client_socket
from capture.sockets.keys import make_key_pairs
from config.settings import DetectorSettings
from reconstruct.process.main import ReconstructionPlan
from stream.protocol.messages import EventMessage, PoseMessage, StatusMessage
from stream.publish.sink import StreamSink
from tests.support import fakes
from tests.support.kept import Kept
from tests.support.ports import free_address
from tests.tools.run.test_supervisor import BUDGET_NS, Client, turns
from tools.run.parts import AwaitedNode, NodeEntrance
from tools.run.supervisor import Supervisor, choose_session_name

S = 1_000_000_000
SETTINGS = (DetectorSettings(k_sigma=5.0), RoomSettings(learn_s=2.0))


def hello(name: str) -> Report:
    return Report(ReportKind.HELLO, "", name, {})


def test_a_place_goes_to_the_first_and_to_another_only_when_that_one_is_silent() -> None:
    admission = NodeAdmission("run", {"left": SETTINGS})
    answer, passed_on = admission.take(b"a", hello("left"), 10 * S)
    assert answer == WelcomeOrder("run", *SETTINGS)
    assert passed_on is not None and (passed_on[0], passed_on[1].kind, passed_on[1].session) == ("left", ReportKind.HELLO, "run")
    answer, passed_on = admission.take(b"b", hello("left"), 10 * S + HOLD_NS - 1)
    assert isinstance(answer, WaitOrder) and "another node is the left camera" in answer.reason and passed_on is None
    beat = Report(ReportKind.BEAT, "run", "", {})
    assert admission.take(b"a", beat, 11 * S) == (None, ("left", beat))
    assert isinstance(admission.take(b"b", hello("left"), 11 * S + HOLD_NS - 1)[0], WaitOrder)
    assert isinstance(admission.take(b"b", hello("left"), 11 * S + HOLD_NS)[0], WelcomeOrder)
    assert admission.holder("left") == b"b" and isinstance(admission.take(b"a", beat, 15 * S)[0], WaitOrder)


def test_a_node_that_fails_gives_its_place_free_at_once() -> None:
    admission = NodeAdmission("run", {"left": SETTINGS})
    admission.take(b"a", hello("left"), 0)
    assert admission.take(b"a", Report(ReportKind.FAILED, "run", "gone", {}), 1)[1] is not None
    assert isinstance(admission.take(b"b", hello("left"), 2)[0], WelcomeOrder)


def test_strangers_and_cameras_that_are_not_awaited_are_told_to_wait() -> None:
    admission = NodeAdmission("run", {"left": SETTINGS})
    answer, passed_on = admission.take(b"a", hello("right"), 0)
    assert isinstance(answer, WaitOrder) and "expects a node for: left; not for: right" in answer.reason and passed_on is None
    assert isinstance(admission.take(b"a", Report(ReportKind.BEAT, "run", "", {}), 0)[0], WaitOrder)
    admission.take(b"a", hello("left"), 0)
    assert isinstance(admission.take(b"a", Report(ReportKind.BEAT, "an old run", "", {}), 1)[0], WaitOrder)


def test_the_time_is_answered_to_anybody() -> None:
    answer, passed_on = NodeAdmission("run", {}).take(b"x", Report(ReportKind.CLOCK, "", "", {"t0_ns": 77}), 123)
    assert isinstance(answer, ClockOrder) and passed_on is None and (answer.t0_ns, answer.t1_ns) == (77, 123)
    assert abs(answer.t2_ns - now_ns()) < 5 * S


def test_blobs_go_to_the_host_that_answered() -> None:
    assert find_blobs_address("tcp://0.0.0.0:5573", "tcp://studio.lan:5572") == "tcp://studio.lan:5573"
    assert find_blobs_address("tcp://[::]:5573", "tcp://[fe80::1]:5572") == "tcp://[fe80::1]:5573"


def test_a_desk_drops_what_is_malformed_and_answers_on(capsys: pytest.CaptureFixture[str], kept: Kept) -> None:
    desk = kept(NodeServer("tcp://127.0.0.1:0", None, choose_session_name(), {"left": SETTINGS}))
    dealer = zmq.Context.instance().socket(zmq.DEALER)
    dealer.connect(desk.address)
    for payload in (
        b"",
        b"\x81\xa4kind",
        b"x" * 70_000,
        encode_report(Report(ReportKind.CLOCK, "", "", {})).replace(b"\xa5clock", b"\xa7explode"),
    ):
        dealer.send(payload)
    dealer.send(encode_report(Report(ReportKind.CLOCK, "", "", {"t0_ns": 5})))
    assert dealer.poll(30_000)
    order = decode_order(dealer.recv())
    assert isinstance(order, ClockOrder) and order.t0_ns == 5 and desk.n_malformed == 4
    dealer.close(0)


class Runner:
    """A node in a thread, as its own process would run it."""

    def __init__(self, address: str, source: Callable[[], object], keys: KeySettings | None = None, camera: int = 0) -> None:
        self.said: list[str] = []
        self.error: Exception | None = None
        self._end = threading.Event()
        plan = NodePlan(camera, address, source, lambda settings, source, *room: fakes.corner(source), True, keys)
        self._node = CameraNode(plan, self.said.append)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                self._node.turn(20)
        except Exception as error:  # noqa: BLE001 - for the test to look at
            self.error = error
        self._node.close()

    def close(self) -> None:
        self._end.set()
        self._thread.join(10)


def awaiting(address: str, entrance: NodeEntrance, told: list[str]) -> Supervisor:
    session = choose_session_name()
    sink = partial(StreamSink, address, session, fakes.subject(), fakes.rig())
    right = CameraPlan(1, partial(fakes.CountingSource, 1), fakes.corner, True)
    plan = ReconstructionPlan(fakes.IndexPipeline, sink, BUDGET_NS, nodes="tcp://127.0.0.1:0", keys=entrance.keys)
    return Supervisor((AwaitedNode(DetectorSettings()), right), plan, session, told.append, entrance)


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_node_joins_survives_the_run_and_serves_the_next(tmp_path: Path, kept: Kept) -> None:
    make_key_pairs(tmp_path)
    keys, told = KeySettings(tmp_path), []
    control, stream = free_address(), free_address()
    node = kept(Runner(control, partial(fakes.CountingSource, 0), keys))
    for turn in range(2):
        with awaiting(stream, NodeEntrance(control, keys), told) as run:
            run.wait_ready(120, 120)
            client = Client(stream)
            t_start_ns = run.start()
            turns(run, 20.0, client, until=lambda: len(client.of(PoseMessage)) > 60 and len(client.of(StatusMessage)) > 2)  # noqa: B023
            poses, status = client.of(PoseMessage), client.of(StatusMessage)[-1]
            client.close()
        # What came too late for its pair on a busy machine is -1 here; most come in time.
        both = [pose for pose in poses if pose.state == "tracking" and min(pose.root_m[:2]) >= 0.0]
        assert len(poses) > 60 and len(both) > 10
        for pose in both:
            # Frame k of either is due k/60 s after the start, on the run's clock.
            assert pose.root_m[0] == pose.root_m[1] and pose.t_capture_ns == t_start_ns + round(pose.root_m[0] * 1e9 / 60)
        left = status.cameras["left"]
        assert left["node"] == "ready" and left["state"] in ("live", "silent") and "node" not in status.cameras["right"]
        # One machine, one clock: the truth is 0.
        assert abs(left["clock_offset_ns"]) <= left["clock_error_ns"] < 50_000_000 and left["rtt_ns"] > 0
        assert sum("left camera's node is there" in text for text in told) == turn + 1
    node.close()
    assert node.error is None and sum("capturing" in text for text in node.said) == 2


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_node_that_ends_is_waited_for_and_another_takes_its_place() -> None:
    told: list[str] = []
    stream, control = free_address(), free_address()
    first = Runner(control, partial(fakes.CountingSource, 0))
    with awaiting(stream, NodeEntrance(control), told) as run:
        run.wait_ready(120, 120)
        run.start()
        turns(run, 1.0)
        first.close()
        turns(run, 10.0, until=lambda: any("was ended there; waiting for it" in text for text in told))
        assert any("was ended there; waiting for it" in text for text in told)
        client = Client(stream)
        n_before = run.children["reconstruction"].counts["pairs"]
        second = Runner(control, partial(fakes.CountingSource, 0))
        turns(run, 20.0, client, until=lambda: run.children["reconstruction"].counts["pairs"] > n_before + 30)
        assert run.children["reconstruction"].counts["pairs"] > n_before + 30
        assert any("send again" in event.text for event in client.of(EventMessage))
        client.close()
    second.close()
    assert first.error is None and second.error is None


@pytest.mark.timeout(300)
def test_a_camera_that_cannot_be_opened_is_told_on_both_sides_and_tried_again(kept: Kept) -> None:
    desk = kept(NodeServer("tcp://127.0.0.1:0", None, choose_session_name(), {"left": SETTINGS}))
    node = kept(Runner(desk.address, fakes.MissingSource))
    heard: list[str] = []
    deadline = time.monotonic() + 60
    while sum("camera 7" in text for text in heard) < 2 and time.monotonic() < deadline:
        if desk.mail.poll(100):
            heard.append(desk.mail.recv_multipart()[1].decode("latin-1"))
    assert sum("camera 7" in text for text in heard) >= 2 and any("camera 7" in text for text in node.said)
    node.close()
    assert node.error is None


def test_nobody_without_a_key_gets_an_answer(tmp_path: Path, kept: Kept) -> None:
    make_key_pairs(tmp_path)
    desk = kept(NodeServer("tcp://127.0.0.1:0", KeySettings(tmp_path), choose_session_name(), {"left": SETTINGS}))
    answers = []
    for keys in (None, KeySettings(tmp_path)):
        dealer = zmq.Context.instance().socket(zmq.DEALER)
        dealer.setsockopt(zmq.SNDTIMEO, 500)
        dealer.connect(secure_client_socket(dealer, desk.address, keys))
        try:
            dealer.send(encode_report(Report(ReportKind.CLOCK, "", "", {"t0_ns": 5})))
            answers.append(bool(dealer.poll(2000 if keys else 500)))
        except zmq.Again:
            answers.append(False)
        dealer.close(0)
    assert answers == [False, True]
