"""Cameras that run while somebody is guided, in words: what is waited for, what is lost, the empty room."""

from dataclasses import dataclass, field

import pytest

from tools.guide import cameras as guided_cameras
from tools.guide.cameras import GuidedCameras

S = 1_000_000_000


@dataclass
class FakeChild:
    name: str
    ready: bool = True
    ended: bool = False
    ready_ns: int = S
    counts: dict[str, int] = field(default_factory=lambda: {"width": 640, "height": 480, "fps_mhz": 25_000})
    details: dict[str, object] = field(default_factory=dict)


class FakeRun:
    """Stands for the supervisor."""

    def __init__(self, plans: object, receiver: object, session: str, tell: object) -> None:
        self.cameras = [FakeChild("left"), FakeChild("right")]
        self.n_starts, self.ended = 0, False

    def turn(self, timeout_ms: int) -> None:
        pass

    def start(self) -> None:
        self.n_starts += 1


class Bench:
    """Cameras made up, at a time that is set."""

    def __init__(self, patch: pytest.MonkeyPatch, learn_s: float = 0.0) -> None:
        self.t_ns, self.told = 10 * S, list[str]()
        patch.setattr(guided_cameras, "Supervisor", FakeRun)
        patch.setattr(guided_cameras, "now_ns", lambda: self.t_ns)
        self.cameras = GuidedCameras((None, None), ("0", "http://10.0.0.7/video"), "tcp://x", self.told.append, learn_s)  # type: ignore[arg-type]
        self.run: FakeRun = self.cameras._run  # type: ignore[assignment]

    def turn(self, seconds: float = 0.0) -> str:
        self.t_ns += round(seconds * S)
        self.cameras.turn(0)
        return self.cameras.trouble()


def test_they_begin_once_all_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.run.cameras[1].ready = False
    bench.turn()
    assert (bench.cameras.started, bench.run.n_starts) == (False, 0)
    bench.turn(6.0)
    assert bench.told[-1] == "still waiting for the right camera"
    bench.run.cameras[1].ready = True
    bench.turn(1.0)
    bench.turn(1.0)
    assert (bench.cameras.started, bench.run.n_starts) == (True, 1)
    assert sum("640x480, 25 frames/s" in line for line in bench.told) == 2
    assert (bench.cameras.sizes, bench.cameras.period_ns) == (((640, 480), (640, 480)), 40_000_000)


def test_a_camera_that_is_lost_silent_or_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.turn()
    for camera in range(2):
        bench.cameras.heard(camera, bench.t_ns)
    assert bench.turn(1.0) == ""
    bench.cameras.heard(0, bench.t_ns + 2 * S)
    assert bench.turn(2.5) == "the right camera: no pictures for 4 s"
    bench.run.cameras[1].details["health"] = "the same picture again and again: it is frozen"
    assert bench.turn() == "the right camera: the same picture again and again: it is frozen"
    bench.run.cameras[1].details["reopening"] = 1
    assert bench.turn() == "the right camera: it is gone; looking for it"
    left, right = bench.cameras.words()
    assert (left.good, right.good) == (True, False)
    assert right.message == "http://10.0.0.7/video: it is gone; looking for it"
    bench.run.cameras[1].ended = True
    assert bench.turn() == ""


def test_an_empty_room_is_learned_first(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, learn_s=3.0)
    assert bench.turn() == "step out of the cameras' view: 6"
    assert not bench.cameras.started
    assert bench.turn(4.5) == "step out of the cameras' view: 2"
    assert bench.turn(0.6).startswith("stay out of view: 4 s more")
    assert (bench.cameras.started, bench.run.n_starts) == (True, 1)
    for camera in range(2):
        bench.cameras.heard(camera, bench.t_ns + 3 * S)
    assert bench.turn(3.0) == ""
