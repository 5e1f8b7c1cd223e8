"""Memory stays flat: what a run remembers of its past has an end, whatever the cameras do."""

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from capture.notices import NoticeLog
from capture.packets import Frame
from capture.sockets.wire import SentBlobs
from capture.sources.health import Health
from reconstruct.process.reconstruction import Reconstruction
from reconstruct.process.sink import RunStatus
from tests.reconstruct.process.test_reconstruction import MS, sent
from tests.support.fakes import IndexPipeline

KEPT_BYTES = 40_000  # free lists and the like; a list of one number a frame would be as much after a few thousand


class Deaf:
    """A sink that keeps nothing."""

    def __init__(self) -> None:
        self.n_events = 0

    def pose(self, pose: object) -> None:
        pass

    def status(self, status: RunStatus) -> None:
        pass

    def event(self, t_ns: int, kind: str, text: str) -> None:
        self.n_events += 1


def growth_bytes(work: Callable[[int], None], n: int) -> int:
    """Return by how much memory grows from the first n calls to the next n."""
    work(0)
    tracemalloc.start()
    for k in range(1, n):
        work(k)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(n, 2 * n):
        work(k)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown


@pytest.mark.slow
def test_the_reconstruction_remembers_no_more_with_time() -> None:
    sink = Deaf()
    run = Reconstruction(IndexPipeline(), sink, 8 * MS)

    def turn(k: int) -> None:
        """Both cameras, one, the other, none, out of step, late ones: each for a while, again and again."""
        t_ns, phase = 10**12 + 20 * MS * k, k // 40 % 6
        received: list[tuple[SentBlobs, int]] = []
        if phase in (0, 1, 4, 5):
            received.append(sent(0, k, t_ns))
        if phase in (0, 2, 4, 5):
            received.append(sent(1, k, t_ns + (9 * MS if phase == 4 else 0)))
        if phase == 5 and k % 3 == 0:
            received.append(sent(1, k, t_ns - 300 * MS))
        run.turn(received, t_ns + 5 * MS)
        run.report(t_ns + 6 * MS, 0)

    assert growth_bytes(turn, 1800) < KEPT_BYTES
    assert sink.n_events <= 2 * 2 * 6  # each camera silent and back, three times in each of two minutes: nobody is flooded


def test_the_watch_on_a_camera_remembers_no_more_with_time() -> None:
    news = NoticeLog()
    health = Health("left", 50.0, news)
    random = np.random.default_rng(2)
    pictures = [random.integers(0, 255, (24, 32, 3)).astype(np.uint8) for _ in range(7)]
    blobs, _ = sent(0, 0, 0)

    def look(k: int) -> None:
        phase = k // 100 % 4
        image = pictures[k % 7] if phase == 0 else pictures[0] if phase == 1 else pictures[k % 7] // (90 if phase == 2 else 1)
        frame = Frame(0, k, 10**12 + (20 if phase != 3 else 45) * MS * k, image)
        health.check_repeat(frame)
        health.check_blobs(frame, blobs.blobs)

    assert growth_bytes(look, 1200) < KEPT_BYTES
    assert len(news.fetch()) <= 32
