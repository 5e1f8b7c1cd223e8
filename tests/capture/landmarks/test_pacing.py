"""How often landmarks are sought."""

import numpy as np
import pytest

from capture.landmarks.pacing import PacedLandmarks, open_landmarks
from capture.packets import Frame, Landmarks

PERIOD_NS = 33_333_333
FOUND = Landmarks(np.zeros((33, 2)), np.ones(33), 1.0)


class SlowFinder:
    """Takes some time for each picture, by a clock of its own."""

    def __init__(self) -> None:
        self.t_ns, self.takes_ns = 0, 0

    def clock(self) -> int:
        return self.t_ns

    def step(self, frame: Frame) -> Landmarks | None:
        self.t_ns += self.takes_ns
        return FOUND


def sought(paced: PacedLandmarks, n: int, camera: int = 0, first: int = 0) -> list[bool]:
    image = np.zeros((4, 4, 3), np.uint8)
    frames = [Frame(camera, k, k * PERIOD_NS, image) for k in range(first, first + n)]
    return [paced.step(frame) is not None for frame in frames]


def test_a_fast_machine_seeks_in_every_picture() -> None:
    finder = SlowFinder()
    finder.takes_ns = PERIOD_NS // 2
    assert all(sought(PacedLandmarks(finder, clock=finder.clock), 200))


def test_a_slow_one_in_every_second_in_turn_and_again_in_all_when_it_can() -> None:
    finder = SlowFinder()
    finder.takes_ns = round(1.1 * PERIOD_NS)
    both = [PacedLandmarks(finder, clock=finder.clock) for _ in range(2)]
    last = [sought(paced, 300, camera)[-20:] for camera, paced in enumerate(both)]
    assert [sum(each) for each in last] == [10, 10]
    assert all(one != other for one, other in zip(*last, strict=True))
    assert both[0].details()["landmarks_hz"] == pytest.approx(15.0, abs=0.1)
    assert both[0].details()["landmarks_ms"] == pytest.approx(36.7, abs=0.1) and both[0].details()["landmarks_found"] == 1.0
    finder.takes_ns = PERIOD_NS // 4
    assert all(sought(both[0], 300, 0, 300)[-20:])


def test_cameras_take_turns_though_one_began_later_and_drops_pictures() -> None:
    rng, finder, image = np.random.default_rng(6), SlowFinder(), np.zeros((4, 4, 3), np.uint8)
    finder.takes_ns = round(1.1 * PERIOD_NS)
    sought_in = [set[int](), set[int]()]
    for camera, shown in enumerate((np.ones(600, bool), (rng.random(600) > 0.1) & (np.arange(600) > 7))):
        paced = PacedLandmarks(finder, clock=finder.clock)
        for k in np.flatnonzero(shown):
            t_ns = 10**12 + int((k + 0.3) * PERIOD_NS + camera * 4_000_000 + rng.normal(0.0, 2e6))
            if paced.step(Frame(camera, int(k), t_ns, image)) is not None and k > 300:
                sought_in[camera].add(int(k))
    assert min(map(len, sought_in)) > 120 and len(sought_in[0] & sought_in[1]) < 10


def test_a_recording_is_sought_through_however_long_it_takes() -> None:
    finder = SlowFinder()
    finder.takes_ns = 5 * PERIOD_NS
    assert all(sought(PacedLandmarks(finder, max_every=1, clock=finder.clock), 100))


def test_off_is_no_finder() -> None:
    assert open_landmarks("off") is None
