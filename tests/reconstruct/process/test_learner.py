"""The learner and the connection to it: tasks out and styles in over real sockets, nothing accepted from strangers."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zmq

from capture.process.control import Details, Order, StartOrder, StopOrder
from reconstruct.models.style.features import TrainingPoses
from reconstruct.models.style.file import read_style
from reconstruct.models.style.learn.train import fit_style
from reconstruct.models.style.task import (
    LearnedStyle,
    LearnTask,
    decode_task,
    encode_learned,
    extract_learned_part,
    style_from_result,
)
from reconstruct.process import learner
from reconstruct.process.learner import LearnerPlan
from reconstruct.process.learner_connection import MAX_GIVEN, LearnerConnection, LearnerMessage, LearnFailure
from tests.reconstruct.style_poses import walking_task
from tests.support.kept import Kept


class Orders:
    """A supervisor link whose orders a test gives."""

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
    return walking_task()


@pytest.fixture(scope="module")
def learned(task: LearnTask) -> LearnedStyle:
    return extract_learned_part(task, fit_style(task.poses, task.skeleton, task.name, task.options), 0.1)


@pytest.fixture
def connection() -> Iterator[LearnerConnection]:
    made = LearnerConnection("a run")
    yield made
    made.close()


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Orders]:
    """Run the learner in a thread of this process, at this priority."""
    monkeypatch.setattr(learner, "lower_priority", lambda **how: None)
    orders = Orders()
    plan = LearnerPlan(tmp_path / "kept.style")
    thread = threading.Thread(target=learner._serve_tasks, args=(orders, "a run", plan), daemon=True)
    thread.start()
    yield orders
    orders.given.append(StopOrder())
    thread.join(20.0)
    assert not thread.is_alive()


def received(
    connection: LearnerConnection, until: Callable[[], bool] = lambda: False, seconds: float = 30.0
) -> list[LearnedStyle | LearnFailure]:
    """Wait for results, or until something else is so."""
    found: list[LearnedStyle | LearnFailure] = []
    end = time.monotonic() + seconds
    while not found and not until() and time.monotonic() < end:
        found = connection.results()
        time.sleep(0.005)
    return found


def test_a_task_goes_out_and_a_style_comes_back_and_is_kept(
    connection: LearnerConnection, at_work: Orders, task: LearnTask, tmp_path: Path
) -> None:
    connection.offer(task)  # before anybody is there
    at_work.given.append(StartOrder(address=connection.address))
    (learned,) = received(connection)
    assert isinstance(learned, LearnedStyle)
    style = style_from_result(task, learned)
    assert style is not None and np.isfinite(style.latent).all() and learned.seconds > 0.0
    received(connection, lambda: at_work.counts.get("saved") == 1)
    kept = read_style(tmp_path / "kept.style")
    assert kept.latent.tobytes() == style.latent.tobytes() and kept.name == task.name
    connection.offer(task)
    assert len(received(connection)) == 1 and [kind for kind, _ in at_work.reports] == ["hello", "ready"]


def test_a_learner_rests_while_frames_are_late(connection: LearnerConnection, at_work: Orders, task: LearnTask) -> None:
    connection.rest(True)
    connection.offer(task)
    at_work.given.append(StartOrder(address=connection.address))
    assert not received(connection, seconds=1.0)
    connection.rest(False)
    assert isinstance(received(connection)[0], LearnedStyle)


def test_what_cannot_be_learned_is_told_and_the_next_task_is_learned(
    connection: LearnerConnection, at_work: Orders, task: LearnTask
) -> None:
    at_work.given.append(StartOrder(address=connection.address))
    still = TrainingPoses(np.zeros_like(task.poses.features), task.poses.rotvec, task.poses.times)
    connection.offer(LearnTask(3, 0, "still", task.skeleton, still, task.options))
    (failure,) = received(connection)
    assert isinstance(failure, LearnFailure) and "no joint moves" in failure.text
    connection.offer(task)
    assert isinstance(received(connection)[0], LearnedStyle)


def test_a_learner_turns_to_a_reconstruction_that_was_started_again(
    connection: LearnerConnection, at_work: Orders, task: LearnTask, kept: Kept
) -> None:
    at_work.given.append(StartOrder(address=connection.address))
    other = kept(LearnerConnection("a run"))
    other.offer(task)
    at_work.given.append(StartOrder(address=other.address))
    assert len(received(other)) == 1


@pytest.fixture
def stranger(connection: LearnerConnection) -> Iterator["zmq.Socket[bytes]"]:
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(connection.address)
    yield socket
    socket.close()


def test_strangers_are_told_nothing_and_their_words_are_dropped(
    connection: LearnerConnection, stranger: "zmq.Socket[bytes]", task: LearnTask
) -> None:
    connection.offer(task)
    for parts in ([b"x"], [b"ready", b"another run", b""], [b"learned", b"a run", b"\xc1"], [b"what", b"a run", b""], [b""] * 9):
        stranger.send_multipart(parts)
    assert not received(connection, lambda: connection.n_malformed == 5) and connection.n_malformed == 5
    assert not stranger.poll(50)


def test_a_task_is_given_again_to_a_learner_that_was_started_again_but_not_for_ever(
    connection: LearnerConnection, stranger: "zmq.Socket[bytes]", task: LearnTask
) -> None:
    connection.offer(task)
    for _ in range(MAX_GIVEN):
        stranger.send_multipart([b"ready", b"a run", b""])
        received(connection, lambda: bool(stranger.poll(0)))
        session, payload = stranger.recv_multipart()
        assert session == b"a run" and decode_task(payload).number == task.number
    stranger.send_multipart([b"ready", b"a run", b""])
    received(connection, seconds=0.2)
    assert not stranger.poll(50)


@pytest.mark.parametrize("answer", [LearnerMessage.FAILED, LearnerMessage.LEARNED])
def test_a_task_that_is_offered_while_an_older_one_is_learned_is_given_next(
    connection: LearnerConnection, stranger: "zmq.Socket[bytes]", task: LearnTask, learned: LearnedStyle, answer: LearnerMessage
) -> None:
    connection.offer(task)
    stranger.send_multipart([b"ready", b"a run", b""])
    received(connection, lambda: bool(stranger.poll(0)))
    stranger.recv_multipart()
    connection.offer(replace(task, number=task.number + 1))  # the older one was given up
    stranger.send_multipart([answer.value, b"a run", encode_learned(learned)])
    stranger.send_multipart([b"ready", b"a run", b""])
    (result,) = received(connection)
    received(connection, lambda: bool(stranger.poll(0)))
    assert isinstance(result, LearnedStyle) == (answer is LearnerMessage.LEARNED)
    assert decode_task(stranger.recv_multipart(zmq.NOBLOCK)[1]).number == task.number + 1


def test_a_learner_that_gets_something_else_than_a_task_says_so_and_goes_on(at_work: Orders) -> None:
    socket = zmq.Context.instance().socket(zmq.ROUTER)
    socket.setsockopt(zmq.LINGER, 0)
    address = f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"
    at_work.given.append(StartOrder(address=address))
    peer, kind, session, _ = socket.recv_multipart()
    assert (kind, session) == (b"ready", b"a run")
    socket.send_multipart([peer, session, b"\xc1"])
    answers = [socket.recv_multipart()[1:] for _ in range(2)]
    socket.close()
    assert [kind for kind, *_ in answers] == [b"failed", b"ready"] and b"msgpack" in answers[0][2]


def test_every_message_of_the_line_has_its_place(learned: LearnedStyle) -> None:
    assert len(encode_learned(learned)) < 40_000  # small beside the task: it is journaled and taken between two turns
