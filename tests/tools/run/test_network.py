"""`duocap run` from two network cameras: the command, its processes and two servers in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.run.looped_scene import SKEW_S, LoopedScene, build_looped_scene
from database.default import find_default_database_path, open_default_database
from stream.protocol.messages import EventMessage, PoseMessage
from stream.publish.subscriber import Subscriber
from tests.support.cameras.mjpeg import MjpegProcess, Play
from tests.support.cameras.rtsp import RtspServer
from tests.support.ports import free_address

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]
ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 120


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> LoopedScene:
    open_default_database()
    return build_looped_scene((640, 480), find_default_database_path(), tmp_path_factory.mktemp("scene"), reach_s=1.0)


class Running:
    """A `duocap run`, and what is heard of it."""

    def __init__(self, scene: LoopedScene, left: str, right: str, log: Path) -> None:
        address = free_address()
        self._subscriber, self.states, self.events, self._log = Subscriber(address), Counter[str](), list[str](), log
        words = ["run", "--left", left, "--right", right, "--rig", str(scene.rig), "--subject", str(scene.subject), "--headless"]
        words += ["--set", f"stream.address={address}", "--set", "stream.service="]
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tools.launch", *words], cwd=ROOT, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL
            )

    def listen(self, until_tracked: int, timeout_s: float = 200.0) -> None:
        """Listen until so many poses more were tracked."""
        goal, deadline_s = self.states["tracking"] + until_tracked, time.monotonic() + timeout_s
        while self.states["tracking"] < goal:
            assert time.monotonic() < deadline_s and self._process.poll() is None, self._log.read_text(encoding="utf-8")
            for message in self._subscriber.receive(20):
                if isinstance(message, PoseMessage):
                    self.states[message.state] += 1
                elif isinstance(message, EventMessage):
                    self.events.append(message.text)

    def end(self) -> str:
        """End it; give what it said."""
        self._process.send_signal(signal.SIGINT if os.name != "nt" else signal.CTRL_C_EVENT)
        self._process.wait(60.0)
        return self._log.read_text(encoding="utf-8")

    def kill(self) -> None:
        """Leave nothing behind."""
        self._subscriber.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def test_a_camera_of_mjpeg_beside_one_of_rtsp_is_tracked_and_comes_back(scene: LoopedScene, tmp_path: Path) -> None:
    t0_s = time.perf_counter()
    left = MjpegProcess(Play(scene.jpegs[0], scene.fps, t0_s=t0_s, stamps=True, drift_ppm=100.0))
    with left, RtspServer(scene.jpegs[1], scene.fps, t0_s=t0_s + SKEW_S) as right:
        run = Running(scene, left.url_with_password, right.url, tmp_path / "log.txt")
        try:
            run.listen(10)
            run.states.clear()
            run.listen(ENOUGH)
            assert run.states["tracking"] > 0.9 * run.states.total()
            left.disconnect()
            run.listen(ENOUGH)
            words = run.end()
        finally:
            run.kill()
    assert "Traceback" not in words and "s3cret" not in words + str(run.events)
    assert any("left" in event for event in run.events)  # the user is told
