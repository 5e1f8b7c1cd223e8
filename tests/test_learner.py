"""The learner and the line to it: tasks out and styles in over real sockets, and nothing taken from strangers."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zmq

from capture.control import Details, Order
from reconstruct import learner
from reconstruct.learner import LearnerPlan
from reconstruct.learner_line import FAILED, LEARNED, MAX_GIVEN, READY, LearnerLine
from reconstruct.style.features import TrainingPoses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.session import StyleBook
from reconstruct.style.style_file import read_style
from reconstruct.style.task import Learned, LearnTask, decode_task, encode_learned, learned_part, style_of
from tests.fakes import subject
from tests.kept import Kept
from tests.style_poses import walking


class Orders:
    """A lifeline whose orders a test gives."""

    def __init__(self) -> None:
        self.given: list[Order] = []
        self.reports: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}

    def report(self, kind: str, text: str = "", counts: object = None, details: object = None) -> None:
        self.reports.append((kind, text))

    def beat(self, counts: Callable[[], dict[str, int]], details: Callable[[], Details] = dict) -> None:
        self.counts = counts()

    def orders(self, timeout_ms: int) -> list[Order]:
        if not self.given:
            time.sleep(1e-3 * timeout_ms)
        given, self.given = self.given, []
        return given


@pytest.fixture(scope="module")
def task() -> LearnTask:
    book = StyleBook(subject().skeleton, options=LearnOptions(active=20, steps=3))
    for pose in walking(10.0, 30.0):
        book.add(pose)
    made = book.task()
    assert made is not None
    return made


@pytest.fixture(scope="module")
def learned(task: LearnTask) -> Learned:
    return learned_part(task, learn(task.poses, task.skeleton, task.name, task.options), 0.1)


@pytest.fixture
def line() -> Iterator[LearnerLine]:
    made = LearnerLine("a run")
    yield made
    made.close()


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Orders]:
    """Run the learner in a thread of this process, at this priority."""
    monkeypatch.setattr(learner, "step_back", lambda by: None)
    orders = Orders()
    plan = LearnerPlan(tmp_path / "kept.style")
    thread = threading.Thread(target=learner._serve, args=(orders, "a run", plan), daemon=True)
    thread.start()
    yield orders
    orders.given.append(Order("stop"))
    thread.join(20.0)
    assert not thread.is_alive()


def heard(line: LearnerLine, until: Callable[[], bool] = lambda: False, seconds: float = 30.0) -> list[Learned]:
    """Listen until something was learned, or something else is so."""
    found: list[Learned] = []
    end = time.monotonic() + seconds
    while not found and not until() and time.monotonic() < end:
        found = line.learned()
        time.sleep(0.005)
    return found


def test_a_task_goes_out_and_a_style_comes_back_and_is_kept(
    line: LearnerLine, at_work: Orders, task: LearnTask, tmp_path: Path
) -> None:
    line.offer(task)  # before anybody is there
    at_work.given.append(Order("start", address=line.address))
    (learned,) = heard(line)
    style = style_of(task, learned)
    assert style is not None and np.isfinite(style.latent).all() and learned.seconds > 0.0 and not line.failure
    heard(line, lambda: at_work.counts.get("saved") == 1)
    kept = read_style(tmp_path / "kept.style")
    assert kept.latent.tobytes() == style.latent.tobytes() and kept.name == task.name
    line.offer(task)
    assert len(heard(line)) == 1 and [kind for kind, _ in at_work.reports] == ["hello", "ready"]


def test_what_cannot_be_learned_is_told_and_the_next_task_is_learned(line: LearnerLine, at_work: Orders, task: LearnTask) -> None:
    at_work.given.append(Order("start", address=line.address))
    still = TrainingPoses(np.zeros_like(task.poses.features), task.poses.rotvec, task.poses.moments)
    line.offer(LearnTask(3, 0, "still", task.skeleton, still, task.options))
    assert not heard(line, lambda: bool(line.failure)) and "no joint moves" in line.failure
    line.offer(task)
    assert len(heard(line)) == 1


def test_a_learner_turns_to_a_reconstruction_that_was_started_again(
    line: LearnerLine, at_work: Orders, task: LearnTask, kept: Kept
) -> None:
    at_work.given.append(Order("start", address=line.address))
    other = kept(LearnerLine("a run"))
    other.offer(task)
    at_work.given.append(Order("start", address=other.address))
    assert len(heard(other)) == 1


@pytest.fixture
def stranger(line: LearnerLine) -> Iterator["zmq.Socket[bytes]"]:
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(line.address)
    yield socket
    socket.close()


def test_strangers_are_told_nothing_and_their_words_are_dropped(
    line: LearnerLine, stranger: "zmq.Socket[bytes]", task: LearnTask
) -> None:
    line.offer(task)
    for parts in ([b"x"], [READY, b"another run", b""], [LEARNED, b"a run", b"\xc1"], [b"what", b"a run", b""], [b""] * 9):
        stranger.send_multipart(parts)
    assert not heard(line, lambda: line.n_malformed == 5) and line.n_malformed == 5
    assert not stranger.poll(50)


def test_a_task_is_given_again_to_a_learner_that_was_started_again_but_not_for_ever(
    line: LearnerLine, stranger: "zmq.Socket[bytes]", task: LearnTask
) -> None:
    line.offer(task)
    for _ in range(MAX_GIVEN):
        stranger.send_multipart([READY, b"a run", b""])
        heard(line, lambda: bool(stranger.poll(0)))
        session, payload = stranger.recv_multipart()
        assert session == b"a run" and decode_task(payload).number == task.number
    stranger.send_multipart([READY, b"a run", b""])
    heard(line, seconds=0.2)
    assert not stranger.poll(50)


@pytest.mark.parametrize("answer", [FAILED, LEARNED])
def test_a_task_that_is_offered_while_an_older_one_is_learned_is_given_next(
    line: LearnerLine, stranger: "zmq.Socket[bytes]", task: LearnTask, learned: Learned, answer: bytes
) -> None:
    line.offer(task)
    stranger.send_multipart([READY, b"a run", b""])
    heard(line, lambda: bool(stranger.poll(0)))
    stranger.recv_multipart()
    line.offer(replace(task, number=task.number + 1))  # the older one was given up
    stranger.send_multipart([answer, b"a run", encode_learned(learned)])
    stranger.send_multipart([READY, b"a run", b""])
    found = heard(line) if answer == LEARNED else []
    heard(line, lambda: bool(stranger.poll(0)), 30.0)
    assert len(found) == (answer == LEARNED)
    assert decode_task(stranger.recv_multipart(zmq.NOBLOCK)[1]).number == task.number + 1


def test_a_learner_that_gets_something_else_than_a_task_says_so_and_goes_on(line: LearnerLine, at_work: Orders) -> None:
    at_work.given.append(Order("start", address=line.address))
    line._task, line._n_given = b"\xc1", 0
    heard(line, lambda: bool(line.failure))
    assert "msgpack" in line.failure
    heard(line, lambda: at_work.counts.get("malformed") == 1)
    assert at_work.counts["malformed"] == 1


def test_every_message_of_the_line_has_its_place(learned: Learned) -> None:
    assert len(encode_learned(learned)) < 40_000  # small beside the task: it is journaled and taken between two turns
