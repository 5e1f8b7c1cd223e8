"""What waits between two threads: nearly nothing."""

import threading

import pytest

from capture import newest
from capture.newest import Newest


def test_two_that_come_at_once_are_both_given_and_of_many_the_newest() -> None:
    queue: Newest[int] = Newest()
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
    queue: Newest[int] = Newest()
    for away_s, dropped in ((1.0, 9), (60.0, 11)):  # of ten: nine overtaken; then two of the last three alone
        for k in range(10):
            queue.put(k)
        clock[0] += away_s
        assert queue.take(0.0) == 9 and queue.dropped == dropped


def test_an_error_comes_after_what_was_there_and_closing_at_once() -> None:
    queue: Newest[int] = Newest()
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
    queue: Newest[int] = Newest()
    timer = threading.Timer(
        0.05, {"put": lambda: queue.put(7), "close": queue.close, "fail": lambda: queue.fail(OSError("x"))}[how]
    )
    timer.start()
    if how == "fail":
        with pytest.raises(OSError, match="x"):
            queue.take(20.0)
    else:
        assert queue.take(20.0) == (7 if how == "put" else None)
