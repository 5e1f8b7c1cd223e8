"""Real processes, real sockets: a run from start to end, a killed camera, faults in one line, and no orphans."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import psutil
import pytest
import zmq

from capture.clock import Clocks, now_ns, read_both_clocks_ns
from capture.process.plan import CameraPlan
from reconstruct.models.style.file import read_style
from reconstruct.process.learner import LearnerPlan
from reconstruct.process.main import ReconstructionPlan
from stream.protocol.codec import decode_message
from stream.protocol.messages import EventMessage, Message, PoseMessage, SkeletonMessage, StatusMessage
from stream.publish.sink import StreamSink
from tests.support import fakes
from tests.support.ports import free_address
from tools.run.parts import ProcessFaultError, RunError
from tools.run.supervisor import Supervisor, choose_session_name

BUDGET_NS = 9_000_000


LEFT, RIGHT = partial(fakes.CountingSource, 0), partial(fakes.CountingSource, 1)


def supervisor(
    address: str,
    left: Callable[[], object] = LEFT,
    right: Callable[[], object] = RIGHT,
    pipeline: Callable[[], object] = fakes.IndexPipeline,
    tell: Callable[[str], None] = print,
    paced: bool = True,
    clocks: Clocks = read_both_clocks_ns,
) -> Supervisor:
    session = choose_session_name()
    sink = partial(StreamSink, address, session, fakes.subject(), fakes.rig())
    cameras = tuple(CameraPlan(camera, source, fakes.corner, paced) for camera, source in enumerate((left, right)))
    return Supervisor(cameras, ReconstructionPlan(pipeline, sink, BUDGET_NS), session, tell, clocks=clocks)


class Client:
    """A subscriber that keeps what it hears."""

    def __init__(self, address: str) -> None:
        self._socket = zmq.Context.instance().socket(zmq.SUB)
        self._socket.subscribe(b"")
        self._socket.connect(address)
        self.heard: list[Message] = []

    def listen(self) -> None:
        while self._socket.poll(0):
            self.heard.append(decode_message(self._socket.recv()))

    def of(self, kind: type) -> list:
        return [message for message in self.heard if isinstance(message, kind)]

    def close(self) -> None:
        self._socket.close(0)


def turns(run: Supervisor, seconds: float, *clients: Client, until: Callable[[], bool] = lambda: False) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not until():
        run.turn(20)
        for client in clients:
            client.listen()


def descendants() -> list[psutil.Process]:
    """Return the running processes below this one but multiprocessing's own resource tracker."""
    return [p for p in psutil.Process().children(recursive=True) if "resource_tracker" not in " ".join(p.cmdline())]


@pytest.mark.timeout(300)
def test_a_run_streams_survives_sleep_and_a_killed_camera_and_leaves_nothing_behind() -> None:
    address, told, slept_ns = free_address(), list[str](), [0]

    def clocks() -> tuple[int, int]:
        return now_ns(), now_ns() + slept_ns[0]

    with supervisor(address, tell=told.append, clocks=clocks) as run:
        pids = [child.process.pid for child in run.children.values()]
        run.wait_ready(120)
        early = Client(address)
        t_start_ns = run.start()
        turns(run, 2.0, early)
        late = Client(address)
        turns(run, 1.0, early, late)

        # The skeleton comes with the subscription; a pose that was already on its way may overtake it.
        first = next(message for message in late.heard[:3] if isinstance(message, SkeletonMessage))
        assert first.subject == "Ann" and first.names[0] == "hips"
        poses = early.of(PoseMessage)
        assert len(poses) > 40 and {pose.hash for pose in poses} == {first.hash}
        assert [pose.seq for pose in poses] == list(range(poses[0].seq, poses[0].seq + len(poses)))
        # What came too late for its pair on a busy machine is -1 here; most come in time.
        both = [pose for pose in poses if min(pose.root_m[:2]) >= 0.0]
        assert len(both) > 20
        for pose in both:
            # Both cameras are paced from one start, so a pair holds the same frame of either, stamped on the common clock.
            assert pose.root_m[0] == pose.root_m[1] and pose.skew_ns == 0
            assert pose.t_capture_ns == t_start_ns + round(pose.root_m[0] * 1e9 / 60)
            assert pose.t_publish_ns > pose.t_capture_ns
        assert {"read", "detect", "transport", "wait", "solve", "publish"} <= set(poses[0].latency_ns)

        listening = [c for pid in [os.getpid(), *pids] for c in psutil.Process(pid).net_connections() if c.status == "LISTEN"]
        assert len(listening) >= 3 and {c.laddr.ip for c in listening} == {"127.0.0.1"}

        for child in run.children.values():
            child.last_heard_ns -= 720 * 10**9  # as it looks where the clock goes on in sleep
        slept_ns[0] = 720 * 10**9
        run.turn(0)
        assert told[-1] == "the machine was asleep, or too busy to go on, for 12 min; going on"
        turns(run, 0.5, early)
        # A busy machine may be too busy to go on for some seconds at any time; that too is told, and ends nobody.
        assert [child.process.pid for child in run.children.values()] == pids and all("going on" in line for line in told)
        told.clear()

        run.children["right"].process.kill()
        turns(run, 20.0, early, until=lambda: any("right process" in line for line in told))
        assert next(line for line in told if "right process" in line).endswith("; starting it again")
        n_before = len(early.heard)
        n_events = len(early.of(EventMessage))  # a machine that is busy may have told of a silent camera before
        turns(run, 30.0, early, until=lambda: any("send again" in event.text for event in early.of(EventMessage)[n_events:]))

        def states() -> list[str]:
            return [m.state for m in early.heard[n_before:] if isinstance(m, PoseMessage)]

        turns(run, 1.5, early)
        turns(run, 30.0, early, until=lambda: states()[-10:] == ["tracking"] * 10)
        alone = [m for m in early.heard if isinstance(m, PoseMessage) and m.root_m[1] == -1.0 and m.root_m[0] > 0.0]
        # On a busy machine the left camera may be silent for a moment, too: its last pose is then told again, as coasting.
        told_first = {m.root_m[0]: m for m in reversed(alone)}
        assert told_first and all(m.state == "tracking" for m in told_first.values())
        assert any(isinstance(m, EventMessage) and "poses go on from the left camera alone" in m.text for m in early.heard)
        assert any(isinstance(m, EventMessage) and "starting it again" in m.text for m in early.heard)
        assert states()[-10:] == ["tracking"] * 10
        status = early.of(StatusMessage)[-1]
        assert status.cameras["right"]["state"] == "live" and status.rates_hz["pose"] > 5
        pids += [child.process.pid for child in run.children.values()]
        for client in (early, late):
            client.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not descendants()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_reconstruction_is_started_again_and_the_cameras_send_to_it() -> None:
    address, told = free_address(), []
    with supervisor(address, tell=told.append) as run:
        run.wait_ready(120)
        client = Client(address)
        run.start()
        turns(run, 20.0, client, until=lambda: len(client.of(PoseMessage)) > 20)
        cameras = [child.process.pid for child in run.cameras]
        inbox = run.children["reconstruction"].address
        run.children["reconstruction"].process.kill()
        ended = "the reconstruction process was ended by signal 9; starting it again"
        turns(run, 10.0, client, until=lambda: ended in told)
        assert ended in told
        client.heard.clear()
        turns(run, 40.0, client, until=lambda: len(client.of(PoseMessage)) > 20)
        # A busy machine may tell of other things as well, such as a camera that was silent for a moment.
        turns(run, 10.0, client, until=lambda: any("starting it again" in event.text for event in client.of(EventMessage)))
        assert len(client.of(PoseMessage)) > 20 and run.children["reconstruction"].address != inbox
        assert {pose.state for pose in client.of(PoseMessage)} == {"tracking"}
        assert any("starting it again" in event.text for event in client.of(EventMessage))
        assert [child.process.pid for child in run.cameras] == cameras
        client.close()
    assert not descendants()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_camera_that_is_pulled_out_and_put_back_is_found_by_its_own_process(tmp_path: Path) -> None:
    address, told = free_address(), []
    left, right = tmp_path / "left", tmp_path / "right"
    left.touch(), right.touch()
    sources = [partial(fakes.ComingSource, camera, here) for camera, here in enumerate((left, right))]
    with supervisor(address, *sources, tell=told.append, paced=False) as run:
        run.wait_ready(120)
        client = Client(address)
        run.start()
        turns(run, 20.0, client, until=lambda: len(client.of(PoseMessage)) > 20)
        pids = [child.process.pid for child in run.children.values()]
        right.unlink()
        turns(run, 20.0, client, until=lambda: any(s.cameras["right"]["state"] == "reopening" for s in client.of(StatusMessage)))
        assert told == ["right camera: right: unplugged; looking for it"]
        client.heard.clear()
        turns(run, 20.0, client, until=lambda: len(client.of(PoseMessage)) > 10)
        assert {(pose.state, pose.root_m[1]) for pose in client.of(PoseMessage)} == {("tracking", -1.0)}
        # Even a process that has to be started anew looks for its camera for ever.
        run.children["right"].process.kill()
        turns(run, 20.0, client, until=lambda: any("waiting for it" in text for text in told))
        right.touch()
        client.heard.clear()
        turns(run, 20.0, client, until=lambda: any(pose.root_m[1] >= 0.0 for pose in client.of(PoseMessage)))
        assert any(pose.root_m[1] >= 0.0 for pose in client.of(PoseMessage))
        assert [child.process.pid for child in run.children.values()][:2] == pids[:2]
        client.close()
    assert not descendants()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"right": fakes.MissingSource}, RunError, "^camera 7: no such camera; plug it in$"),
        pytest.param(
            {"pipeline": fakes.CrashingPipeline}, ProcessFaultError, "^reconstruction: KeyError: 'a bug'$", marks=pytest.mark.slow
        ),
    ],
)
def test_a_fault_before_the_start_is_one_line(arguments: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words), supervisor(free_address(), **arguments) as run:
        run.wait_ready(120)
    assert not descendants()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_camera_that_keeps_failing_ends_the_run() -> None:
    told: list[str] = []
    broken = partial(fakes.BrokenSource, 1)
    with supervisor(free_address(), right=broken, tell=told.append) as run:
        run.wait_ready(120)
        run.start()
        with pytest.raises(ProcessFaultError, match="right: ZeroDivisionError: a bug"):
            turns(run, 200.0)
    assert [text.partition("again")[2] for text in told] == ["", "", " in 1 s"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_stuck_driver_does_not_keep_its_process_from_ending() -> None:
    with supervisor(free_address(), left=partial(fakes.StuckSource, 0)) as run:
        run.wait_ready(120)
        run.start()

        def n_frames() -> int:
            counts = run.children["left"].counts
            return counts.get("frames", 0) + counts.get("skipped", 0)  # a busy machine skips some

        turns(run, 60.0, until=lambda: n_frames() == 10)
        assert n_frames() == 10
        start = time.monotonic()
    assert time.monotonic() - start < 10.0 and not descendants()  # it would be stuck for an hour


SCRIPT = """
import sys, time
from tests.tools.run import test_supervisor as t
from tools.interrupt import raise_on_interrupt

def main():
    with raise_on_interrupt(), t.supervisor(sys.argv[1]) as run:
        run.wait_ready(120)
        run.start()
        print("running", *[child.process.pid for child in run.children.values()], flush=True)
        t.turns(run, 60)

if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_no_orphans_however_the_supervisor_ends(number: str, tmp_path: Path) -> None:
    script = tmp_path / "run_it.py"
    script.write_text(SCRIPT, "utf-8")
    environment = {**os.environ, "PYTHONPATH": "."}
    command = [sys.executable, str(script), free_address()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True, start_new_session=True) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()[1:]]
        assert len(pids) == 3 and all(psutil.pid_exists(pid) for pid in pids)
        if number == "SIGINT":
            os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to the whole group
        else:
            parent.send_signal(getattr(signal, number))
        assert parent.wait(60) == (-signal.SIGKILL if number == "SIGKILL" else 130)
    deadline_ns = now_ns() + 60_000_000_000
    while any(alive(pid) for pid in pids) and now_ns() < deadline_ns:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    """Return whether a process runs; one that waits for its parent to collect it does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_learner_is_started_when_asked_for_dies_without_harm_and_leaves_nothing_behind(tmp_path: Path) -> None:
    address, told, file = free_address(), [], tmp_path / "kept.style"
    session = choose_session_name()
    sink = partial(StreamSink, address, session, fakes.subject(), fakes.rig())
    cameras = tuple(CameraPlan(camera, source, fakes.corner, True) for camera, source in enumerate((LEFT, RIGHT)))
    plan = ReconstructionPlan(
        fakes.SwingingPipeline, sink, BUDGET_NS, session_style=fakes.often_learning, learner=LearnerPlan(file, nice=0)
    )
    with Supervisor(cameras, plan, session, told.append) as run, closing(Client(address)) as client:
        run.wait_ready(120)
        assert len(descendants()) == 3  # nobody has asked for a learner yet
        run.start()

        def learned() -> list[str]:
            return [event.text for event in client.of(EventMessage) if event.kind == "style"]

        turns(run, 90.0, client, until=lambda: len(learned()) > 0 and run.style_saved)
        assert learned()[0].startswith("learned a style from ") and read_style(file).features.shape[1] > 0
        learner = next(p for p in descendants() if p.pid not in [child.process.pid for child in run.children.values()])
        n_before, n_poses = len(learned()), len(client.of(PoseMessage))
        learner.kill()
        turns(run, 20.0, client, until=lambda: bool(told))
        assert told == ["the style process was ended by signal 9; starting it again"]
        turns(run, 90.0, client, until=lambda: len(learned()) > n_before)
        assert len(learned()) > n_before and len(client.of(PoseMessage)) > n_poses
        states = [pose.state for pose in client.of(PoseMessage)[n_poses:]]
        # A busy machine may hold up a camera, which has nothing to do with it.
        assert states.count("tracking") > 0.5 * len(states)
    assert not descendants()
