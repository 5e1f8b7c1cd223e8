"""The newest of what comes, and the frame rate of what comes."""

import threading

import numpy as np
import pytest

from capture.sources.network import camera as newest
from capture.sources.network.camera import NewestQueue, estimate_frame_rate


def test_two_that_come_at_once_are_both_given_and_of_many_the_newest() -> None:
    queue: NewestQueue[int] = NewestQueue()
    queue.put(1)
    queue.put(2)
    assert [queue.take(0.0), queue.take(0.0)] == [1, 2] and queue.dropped == 0
    for k in range(3, 9):
        queue.put(k)
    assert queue.take(0.0) == 8 and queue.dropped == 5
    with pytest.raises(TimeoutError):
        queue.take(0.0)


def test_what_came_while_nobody_wanted_it_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(newest.time, "monotonic", lambda: clock[0])
    queue: NewestQueue[int] = NewestQueue()
    for away_s, dropped in ((1.0, 9), (60.0, 11)):  # of ten: nine overtaken; then two of the last three alone
        for k in range(10):
            queue.put(k)
        clock[0] += away_s
        assert queue.take(0.0) == 9 and queue.dropped == dropped


def test_an_error_comes_after_what_was_there_and_closing_at_once() -> None:
    queue: NewestQueue[int] = NewestQueue()
    queue.put(1)
    queue.fail(OSError("gone"))
    queue.fail(OSError("later"))
    assert queue.take(0.0) == 1
    with pytest.raises(OSError, match="gone"):
        queue.take(0.0)
    queue.put(2)
    queue.close()
    assert queue.take(0.0) is None and queue.closed


@pytest.mark.parametrize("how", ["put", "close", "fail"])
def test_whoever_waits_is_woken(how: str) -> None:
    queue: NewestQueue[int] = NewestQueue()
    timer = threading.Timer(
        0.05, {"put": lambda: queue.put(7), "close": queue.close, "fail": lambda: queue.fail(OSError("x"))}[how]
    )
    timer.start()
    if how == "fail":
        with pytest.raises(OSError, match="x"):
            queue.take(20.0)
    else:
        assert queue.take(20.0) == (7 if how == "put" else None)


def times(gaps_ms: list[float]) -> list[int]:
    return [round(1e6 * t) for t in np.cumsum([1000.0, *gaps_ms])]


@pytest.mark.parametrize(
    ("gaps_ms", "fps"),
    [
        ([33.3] * 15, 30.0),
        ([16.0, 17.5, 16.6, 16.2, 17.0, 16.7], 60.0),
        ([40.0, 40.0, 80.0, 40.0, 40.0], 25.0),  # one was lost
        ([1.0, 65.0, 1.0, 65.0, 1.0, 65.0, 1.0, 65.0, 1.0, 65.0], 30.0),  # in pairs
        ([28.0] * 10, 1000.0 / 28.0),  # no common rate: as it is
        ([2000.0] * 5, 1.0),
        ([33.0], 30.0),
        ([], 30.0),
        ([0.0, 0.0, 0.0], 30.0),
    ],
)
def test_rates_by_hand(gaps_ms: list[float], fps: float) -> None:
    assert estimate_frame_rate(times(gaps_ms)) == pytest.approx(fps, rel=0.011)
