"""A camera that goes and comes, with a source whose fate is written down and waits that take no time."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from capture.packets import Frame
from capture.sources.reopening import FIRST_PAUSE_S, MAX_PAUSE_S, ReaderHandle, ReopeningSource
from capture.sources.source import Facts, Stamp
from config.errors import SourceError

S = 1_000_000_000


class Fated:
    """A camera that gives so many frames, then is gone, or ends where `ends`."""

    def __init__(self, n: int, size: tuple[int, int] = (32, 24), ends: bool = False) -> None:
        self.name, self.size, self.fps, self.n_frames, self.truncated = "fated", size, 30.0, None, False
        self.stamp, self.facts = Stamp.DRIVER, Facts(n=n)
        self._n, self._ends, self._index, self.closed = n, ends, 0, 0

    def read(self) -> Frame | None:
        if self._index == self._n:
            if self._ends:
                return None
            raise SourceError("unplugged")
        self._index += 1
        return Frame(1, self._index - 1, 0, np.zeros((24, 32, 3), np.uint8))

    def close(self) -> None:
        self.closed += 1


class Patience(threading.Event):
    """An event whose waits take no time but are written down, and move a clock."""

    def __init__(self, limit: int = 100) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.t_ns, self._limit = 1000 * S, limit

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self.t_ns += round(timeout * S)
        if len(self.waits) >= self._limit:
            self.set()
        return self.is_set()


def lasting(fates: Sequence[Fated | Exception], stop: Patience, patience_s: float = 0.0) -> ReopeningSource:
    """Return a source that is opened with one fate after the other, the last again and again."""
    left = list(fates)

    def opener() -> Fated:
        fate = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(fate, Exception):
            raise fate
        return fate

    return ReopeningSource(opener, "right", ReaderHandle(stop), patience_s, clock=lambda: stop.t_ns)


def test_a_camera_that_goes_is_looked_for_until_it_is_back_and_frames_are_numbered_on() -> None:
    stop = Patience()
    gone = SourceError("no such camera")
    first = Fated(3)
    source = lasting([first, gone, gone, OSError("no"), Fated(0), Fated(2), gone], stop)
    assert [source.read().index for _ in range(5)] == [0, 1, 2, 3, 4]
    assert stop.waits == pytest.approx([FIRST_PAUSE_S * 1.3**k for k in range(5)])
    assert first.closed >= 1 and source.n_lost == 1 and not source.lost and source.facts == {"n": 2}
    told = source._handle.notices.fetch()
    assert told == ["right camera: unplugged; looking for it", f"right camera: back after {sum(stop.waits):.1f} s"]


def test_pauses_grow_to_a_limit_and_begin_short_when_it_has_been_well() -> None:
    stop = Patience(limit=30)
    source = lasting([Fated(1), SourceError("gone")], stop)
    source.read()
    assert source.read() is None and source.lost
    assert max(stop.waits) == MAX_PAUSE_S and sorted(stop.waits) == stop.waits
    stop = Patience()
    source = lasting([Fated(1), Fated(1), Fated(1), Fated(1)], stop)
    for step_ns in (0, 0, 0, 6 * S):
        stop.t_ns += step_ns
        source.read()
    assert stop.waits[0] == FIRST_PAUSE_S and stop.waits[1] > FIRST_PAUSE_S and stop.waits[2] == FIRST_PAUSE_S


def test_a_camera_that_is_missing_at_first_is_an_error_unless_there_is_patience() -> None:
    gone = SourceError("no such camera")
    with pytest.raises(SourceError, match="no such camera"):
        lasting([gone, Fated(1)], Patience())
    stop = Patience()
    source = lasting([gone, gone, gone, Fated(1)], stop, patience_s=5.0)
    assert source.read().index == 0
    assert source._handle.notices.fetch() == ["right camera: no such camera; waiting for it"]
    stop = Patience()
    with pytest.raises(SourceError):
        lasting([gone], stop, patience_s=5.0)
    assert 5.0 <= sum(stop.waits) < 8.1


def test_another_size_is_not_taken_for_the_same_camera() -> None:
    stop = Patience()
    source = lasting([Fated(1), Fated(5, (64, 48)), Fated(5)], stop)
    assert [source.read().index for _ in range(2)] == [0, 1] and source.size == (32, 24)
    assert any("the pictures are 64x48 now, 32x24 before" in text for text in source._handle.notices.fetch())


def test_a_recording_that_ends_is_not_opened_again() -> None:
    stop = Patience()
    source = lasting([Fated(2, ends=True)], stop)
    assert [source.read() is None for _ in range(4)] == [False, False, True, True] and stop.waits == []


def test_opening_anew_is_quiet_and_closing_is_for_good() -> None:
    stop = Patience()
    first = Fated(100)
    source = lasting([first, Fated(100)], stop)
    source.read()
    source.reopen()
    frame = source.read()
    assert frame is not None and frame.index == 1 and first.closed and source._handle.notices.fetch() == []
    source.close()
    assert source.read() is None


def test_a_driver_that_has_the_thread_is_seen_from_outside() -> None:
    seen: list[tuple[int, bool]] = []
    stop = Patience()

    class Looking(Fated):
        def read(self) -> Frame | None:
            seen.append((tether.busy_since_ns, tether.opening))
            return super().read()

    tether = ReaderHandle(stop)
    opener: Callable[[], Fated] = lambda: seen.append((tether.busy_since_ns, tether.opening)) or Looking(1)  # noqa: E731
    source = ReopeningSource(opener, "left", tether, clock=lambda: stop.t_ns)
    source.read()
    assert seen == [(1000 * S, True), (1000 * S, False)] and tether.busy_since_ns == 0
