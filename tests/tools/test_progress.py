"""The status line: rewritten in a terminal, a line now and then elsewhere, and news that stay."""

import io

import pytest

from tools import progress
from tools.progress import SILENT_S, StatusLine, StreamWatch, open_progress_bar, print_now_and_then, tell_progress_to


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_rewritten_below_the_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    stream = Terminal()
    line = StatusLine(stream)
    line.tell("begun")
    line.show("tracking, 58 poses/s")
    line.show("lost")
    line.tell("the rig was bumped")
    line.close()
    assert stream.getvalue() == "begun\n\r\x1b[Ktracking, 5\r\x1b[Klost\r\x1b[Kthe rig was bumped\nlost\n"


def test_a_pipe_has_a_line_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    line = StatusLine(stream)
    for second in range(25):
        now[0] = float(second)
        line.show(f"second {second}")
    line.tell("ended")
    line.close()
    assert stream.getvalue().splitlines() == ["second 0", "second 10", "second 20", "ended"]


def test_a_bar_outside_of_a_terminal_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with open_progress_bar("batch") as show:
        for second in range(25):
            now[0] = float(second)
            show(second, 40, "walk")
    assert capsys.readouterr().err.splitlines() == ["batch: 10 of 40, walk", "batch: 20 of 40, walk"]


def test_a_stream_that_does_not_come_is_told_once_and_so_is_its_coming() -> None:
    told = list[str]()
    watch = StreamWatch("tcp://127.0.0.1:5570", told.append, 100.0)
    for after_s in (0.1, SILENT_S, 3.0 * SILENT_S):
        watch.look(False, 100.0 + after_s)
    assert len(told) == 1 and "nothing comes at tcp://127.0.0.1:5570" in told[0]
    for after_s in (4.0, 5.0):
        watch.look(True, 100.0 + after_s * SILENT_S)
    watch.look(False, 200.0)
    assert told[1:] == ["the stream at tcp://127.0.0.1:5570 has come"]


def test_a_stream_that_comes_at_once_is_no_news() -> None:
    told = list[str]()
    watch = StreamWatch("tcp://127.0.0.1:5570", told.append, 0.0)
    watch.look(True, 1.0)
    watch.look(True, 2.0 * SILENT_S)
    assert not told


def test_progress_is_told_to_who_asked_for_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    told = list[str]()
    with tell_progress_to(told.append):
        print_now_and_then("replay")(3, 5, "walk")
    assert told == ["replay: 3 of 5, walk"] and not capsys.readouterr().err
    print_now_and_then("replay")(4, 5)
    assert capsys.readouterr().err == "replay: 4 of 5\n"
