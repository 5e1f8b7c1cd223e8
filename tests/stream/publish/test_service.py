"""The service socket: answers at once, recordings switched while a stream runs, noise dropped and counted."""

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import msgpack
import pytest
import zmq

from capture.clock import now_ns
from config.settings import StreamSettings
from stream.protocol.codec import encode_message
from stream.publish.client import ServiceClient
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.publish.service import Service, ServiceError
from stream.publish.subscriber import Subscriber
from stream.recording.outputs import RecordingSwitch
from stream.recording.recorder import RecordingError
from stream.recording.recording import open_recording
from stream.viewer.requests import ServiceRequests
from tests.stream.publish.test_fanout import Notebook
from tests.support.kept import Kept
from tests.support.ports import peer
from tests.support.stream_messages import POSE, RIG, SKELETON, STATUS
from tests.support.waiting import wait_until


@pytest.fixture
def fanout(tmp_path: Path) -> Iterator[OutputFanout]:
    """Return a running fanout with a service, skeleton and rig published."""
    fanout = OutputFanout(Publisher("tcp://127.0.0.1:0"), "s1", [Notebook()])
    fanout.open_service(StreamSettings(service="tcp://127.0.0.1:0", recordings=str(tmp_path / "kept")))
    fanout.publish(SKELETON)
    fanout.publish(RIG)
    yield fanout
    fanout.close()


@pytest.fixture
def client(fanout: OutputFanout) -> Iterator[ServiceClient]:
    client = ServiceClient(fanout.service_address)
    yield client
    client.close()


def test_the_clock_of_one_machine_is_its_own(client: ServiceClient) -> None:
    assert not client.clock.known
    offset_ns = client.clock_offset(5)
    assert client.clock.n_samples == 5 and offset_ns == client.clock.offset_ns
    # Same clock: the true offset is 0, and the bound holds it whatever the round trips took.
    assert abs(offset_ns) <= client.clock.error_ns and client.clock.error_ns <= client.clock.rtt_ns


def test_stamps_are_of_now_and_the_request_comes_back(fanout: OutputFanout) -> None:
    for kind in (zmq.DEALER, zmq.REQ):
        socket = peer(fanout.service_address, kind)
        before_ns = now_ns()
        socket.send(msgpack.packb({"request": "clock", "id": 7, "t0_ns": -5, "unknown": [1]}))
        answer = msgpack.unpackb(socket.recv())
        assert (answer["id"], answer["request"], answer["t0_ns"], answer["schema"]) == (7, "clock", -5, 1)
        assert before_ns <= answer["t_received_ns"] <= answer["t_sent_ns"] <= now_ns()
        socket.close()


def test_info_names_what_runs(fanout: OutputFanout, client: ServiceClient) -> None:
    info = client.info()
    assert (info["session"], info["subject"], info["recording"]) == ("s1", "Änne", "")
    assert info["stream"] == fanout.address and info["service"] == client.address and info["version"]


def test_a_page_does_not_record_another_stream_than_its_own(fanout: OutputFanout, tmp_path: Path, kept: Kept) -> None:
    requests = kept(ServiceRequests(fanout.service_address, stream="tcp://127.0.0.1:1"))
    with pytest.raises(ServiceError, match=f"belongs to the stream at {fanout.address}.*stream.service of their own"):
        requests.start("walk")
    assert not (tmp_path / "kept" / "walk.mcap").exists()
    requests.close()
    own = kept(ServiceRequests(fanout.service_address, stream=fanout.address.replace("127.0.0.1", "localhost")))
    assert Path(own.start("walk")) == tmp_path / "kept" / "walk.mcap"
    own.stop()


def test_recordings_are_switched_while_the_stream_runs(
    fanout: OutputFanout, client: ServiceClient, tmp_path: Path, kept: Kept
) -> None:
    listener = kept(Subscriber(fanout.address, ("event", "status")))
    fanout.publish(replace(POSE, seq=0))
    file = Path(client.record_start("walk 1"))
    assert file == tmp_path / "kept" / "walk 1.mcap"
    sent = [replace(POSE, seq=k, t_publish_ns=POSE.t_publish_ns + k) for k in range(1, 40)]
    for message in sent:
        fanout.publish(message)
    fanout.serve(now_ns())
    fanout.publish(STATUS)
    with pytest.raises(ServiceError, match=r"recording to .*walk 1\.mcap already"):
        client.record_start("walk 2")
    assert client.info()["recording"] == str(file)
    assert client.record_stop() == str(file)
    fanout.publish(replace(POSE, seq=99))
    fanout.serve(now_ns())
    fanout.publish(STATUS)
    recording = open_recording(file)
    assert [payload for _, payload in recording.payloads() if payload.startswith(b"pose ")] == [encode_message(m) for m in sent]
    assert recording.notes == () and recording.metadata["session"] == "s1" and recording.metadata["skeleton"] == SKELETON.hash
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(recording.metadata["when"])).total_seconds()) < 600
    assert recording.events[0].text == f"recording to {file}"
    heard: list[object] = []
    wait_until(lambda: heard.extend(listener.receive(50)) or len(heard) >= 4)
    heard += listener.receive(200)  # nothing more comes
    texts = [message.text for message in heard if hasattr(message, "text")]
    assert texts == [f"recording to {file}", f"recorded {file}: {len(sent) + 4} messages"]
    statuses = [message for message in heard if hasattr(message, "rates_hz")]
    assert [status.recording for status in statuses] == [str(file), ""] and statuses[0].service == client.address
    listener.close()
    with pytest.raises(ServiceError, match="nothing is being recorded"):
        client.record_stop()
    with pytest.raises(ServiceError, match="exists already"):
        client.record_start("walk 1")


def test_a_recording_that_runs_is_completed_when_the_run_ends(tmp_path: Path, kept: Kept) -> None:
    fanout = kept(OutputFanout(Publisher("tcp://127.0.0.1:0"), "s1"))
    with pytest.raises(RecordingError, match="nothing was published yet"):
        fanout.record(tmp_path / "early.mcap")
    fanout.publish(SKELETON)
    fanout.record(tmp_path / "run.mcap")
    fanout.publish(POSE)
    fanout.close()
    recording = open_recording(tmp_path / "run.mcap")
    assert len(recording.poses) == 1 and recording.n_lost == 0 and recording.notes == ()


def test_a_taken_port_costs_the_service_not_the_run(fanout: OutputFanout, caplog: pytest.LogCaptureFixture, kept: Kept) -> None:
    other = kept(OutputFanout(Publisher("tcp://127.0.0.1:0"), "s2"))
    other.open_service(StreamSettings(service=fanout.service_address))
    port = fanout.service_address.rpartition(":")[2]
    assert "nothing can be recorded" in caplog.text and f"port {port} is taken" in caplog.text
    listener = kept(Subscriber(other.address, ("status",)))
    heard: list[object] = []
    wait_until(lambda: other.publish(STATUS) or heard.extend(listener.receive(50)) or heard)
    assert getattr(heard[0], "service", None) == ""


def test_nobody_there_is_said(tmp_path: Path, kept: Kept) -> None:
    client = kept(ServiceClient("tcp://127.0.0.1:9", timeout_ms=100))
    with pytest.raises(ServiceError, match=r"no answer within 0\.1 s"):
        client.info()


def test_noise_is_dropped_and_counted_and_others_are_answered(fanout: OutputFanout, client: ServiceClient, kept: Kept) -> None:
    rng = random.Random(4)
    good = msgpack.packb({"request": "clock", "id": 3, "t0_ns": 1})
    socket = kept(peer(fanout.service_address, zmq.DEALER))
    n_bad = 0
    for _ in range(600):
        kind = rng.randrange(4)
        if kind == 0:
            noise = rng.randbytes(rng.randrange(200))
        elif kind == 1:
            noise = bytearray(good)
            noise[rng.randrange(len(noise))] ^= rng.randrange(1, 256)
        elif kind == 2:
            noise = msgpack.packb({"request": rng.choice(["record", 5, None]), "id": rng.choice([1, -1, "x"]), "on": "yes"})
        else:
            socket.send_multipart([b"", b"", good, b"x"])
            n_bad += 1
            continue
        socket.send(bytes(noise))
    socket.send(good)

    def answered() -> bool:
        answer = msgpack.unpackb(socket.recv())
        return answer.get("t0_ns") == 1 and answer["id"] == 3 and client.info()["n_malformed"] > 300

    wait_until(answered, pause_s=0.0)
    assert client.info()["n_malformed"] >= n_bad and client.info()["recording"] == ""
    too_long = kept(peer(fanout.service_address, zmq.DEALER))
    too_long.send(good + bytes(5000))  # ends that connection, nobody else's
    assert client.clock_offset(2) is not None and client.info()["session"] == "s1"


def flood_and_vanish(folder: Path) -> None:
    """Flood a service whose answers take long, break the connection, and ask again; the body of a process that may abort."""
    switch = RecordingSwitch("s1")

    def info() -> dict[str, str]:
        time.sleep(0.01)
        return {"session": "s1"}

    service = Service("tcp://127.0.0.1:0", switch, folder, info)
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(service.address)
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            with contextlib.suppress(zmq.Again):
                socket.send(msgpack.packb({"request": "info", "id": 1}), zmq.NOBLOCK)
    time.sleep(2.5)  # heartbeats, if there were any, come each second
    client = ServiceClient(service.address, timeout_ms=20_000)
    assert client.info()["session"] == "s1"
    client.close()
    service.close()


@pytest.mark.slow
def test_a_flood_that_breaks_off_does_not_end_the_process(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=flood_and_vanish, args=(tmp_path,), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == 0
