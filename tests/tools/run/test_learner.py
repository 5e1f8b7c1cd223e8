"""What becomes of a learner that dies, hangs or is never asked for; no process is started here."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from capture.clock import now_ns
from capture.process.control import Order, Report, ReportKind, StartOrder
from capture.process.link import SupervisorAddress
from config.logs import LogSettings
from reconstruct.process.learner import LearnerPlan
from tools.run.child import ChildProcess
from tools.run.learner import SILENT_S, LearnerProcess

HELLO, READY = Report(ReportKind.HELLO, "run", "", {}), Report(ReportKind.READY, "run", "", {})


class Board:
    """Keeps the orders that are sent."""

    def __init__(self) -> None:
        self.sent: list[Order] = []

    def send(self, child: ChildProcess, order: Order) -> None:
        self.sent.append(order)


@pytest.fixture
def learner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a learner whose process is made up: `starts` counts how often it was started, `alive` says whether it lives."""
    made = SimpleNamespace(starts=0, alive=True, told=[], board=Board())

    def spawn(child: ChildProcess, link: SupervisorAddress) -> None:
        child.forget()
        made.starts, made.alive = made.starts + 1, True
        child.process = Mock(is_alive=lambda: made.alive, exitcode=-9)

    monkeypatch.setattr(ChildProcess, "spawn", spawn)
    link = SupervisorAddress("style", "tcp://127.0.0.1:1", "run", LogSettings())
    made.child = LearnerProcess(LearnerPlan(), made.board, link, made.told.append)  # type: ignore[arg-type]
    return made


def say(learner: Any, report: Report) -> None:
    learner.child.child.hear(report, now_ns())
    learner.child.take(report)


def test_it_is_started_when_asked_for_and_told_where_tasks_are(learner: Any) -> None:
    learner.child.turn()
    assert learner.starts == 0
    learner.child.ask("tcp://127.0.0.1:5")
    assert learner.starts == 1 and not learner.board.sent
    say(learner, HELLO)
    say(learner, READY)
    assert [order.address for order in learner.board.sent] == ["tcp://127.0.0.1:5"] and learner.child.child.ready
    learner.child.ask("tcp://127.0.0.1:6")  # of a reconstruction that was started again
    assert learner.starts == 1 and learner.board.sent[-1] == StartOrder(address="tcp://127.0.0.1:6")


def test_one_that_dies_is_started_again_and_one_that_always_does_is_given_up(learner: Any) -> None:
    learner.child.ask("tcp://127.0.0.1:5")
    for _ in range(8):
        say(learner, HELLO)
        learner.alive = False
        learner.child.turn()
        learner.child.child.due_ns = min(learner.child.child.due_ns, 1)
        learner.child.turn()
    assert learner.starts == 4 and len(learner.told) == 4
    assert learner.told[0] == "the style process was ended by signal 9; starting it again"
    assert learner.told[-1] == "the style process was ended by signal 9; no style is learned any more, poses go on without"
    learner.child.ask("tcp://127.0.0.1:5")
    assert learner.starts == 4


def test_a_style_that_was_kept_stays_so_though_its_process_died(learner: Any) -> None:
    learner.child.ask("tcp://127.0.0.1:5")
    say(learner, Report(ReportKind.BEAT, "run", "", {"saved": 0}))
    assert not learner.child.has_saved
    for saved in (1, 0):  # the next one begins to count anew
        say(learner, Report(ReportKind.BEAT, "run", "", {"saved": saved}))
        assert learner.child.has_saved


def test_one_that_is_silent_for_long_is_ended_and_its_own_words_are_told(learner: Any) -> None:
    learner.child.ask("tcp://127.0.0.1:5")
    say(learner, READY)
    learner.child.child.last_heard_ns = now_ns() - round((SILENT_S - 10.0) * 1e9)
    learner.child.turn()
    assert not learner.told
    learner.child.child.last_heard_ns = now_ns() - round((SILENT_S + 1.0) * 1e9)
    learner.child.turn()
    assert len(learner.told) == 1 and learner.child.child.process.terminate.called
    say(learner, Report(ReportKind.FAILED, "run", "out of memory", {}))
    learner.child.child.due_ns, learner.alive = 0, False
    learner.child.turn()
    assert learner.told[-1].startswith("out of memory; starting it again")
