"""A style book keeps poses unlike each other and says when there is enough to learn of."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from reconstruct.models.style.collect import compute_distances, compute_keys
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Hyperparameters
from reconstruct.models.style.session import FIRST_S, MAX_ABANDONED, MAX_POSES, SessionStyle
from reconstruct.models.style.task import LearnedStyle, LearnTask
from reconstruct.pose import Pose
from tests.reconstruct.style_poses import boxing, standing, walking
from tests.support.fakes import subject

UP = np.array([0.0, 1.0, 0.0])
S = 1_000_000_000


def learned(task: LearnTask) -> LearnedStyle:
    """Return what somebody may have learned of a task, made up."""
    n, features = len(task.poses), task.poses.features
    modelled = features.std(axis=0) > 1e-3
    parts = (modelled, features.mean(axis=0), features.std(axis=0), np.zeros((n, 2)), np.ones(int(modelled.sum())), np.arange(9))
    parameters = Hyperparameters(1.0, 100.0, 1.0)
    return LearnedStyle(task.number, task.checksum, 1.5, *parts, parameters, parameters, np.zeros(3))


def tasks(book: SessionStyle, poses: Iterable[Pose], answer: bool = True) -> list[tuple[float, LearnTask]]:
    """Return the tasks of a session with their times [s]; whoever learns answers at once, or never."""
    found = []
    for one in poses:
        book.add(one)
        if (task := book.task()) is not None:
            found.append((one.t_capture_ns * 1e-9, task))
            if answer:
                assert book.take(learned(task)) is not None
    return found


def test_a_session_is_learned_of_once_there_is_enough_that_moves() -> None:
    ((t_s, task),) = tasks(SessionStyle(subject().skeleton), walking(20.0))
    assert FIRST_S < t_s < FIRST_S + 1.5 and 100 < len(task.poses) <= MAX_POSES
    assert task.poses.rotvec.shape == (len(task.poses), 23, 3) and np.isfinite(task.poses.features).all()
    assert task.skeleton is not None and task.options == LearnOptions()
    assert not tasks(SessionStyle(subject().skeleton), standing(40.0))


def test_a_new_kind_of_motion_is_learned_beside_the_old_one() -> None:
    book = SessionStyle(subject().skeleton)
    course = [*walking(15.0), *boxing(15.0, t0_ns=15 * S), *walking(20.0, t0_ns=30 * S)]
    (_, first), (t_s, second) = tasks(book, course)
    assert 15.0 + 1.0 < t_s < 25.0 and second.number == first.number + 1
    keys = compute_keys(second.poses.features)
    assert (
        max(compute_distances(key, keys).min() for key in compute_keys(first.poses.features)[::10]) < 1.0
    )  # walking is still known
    assert book.style is not None and len(book.style.features) == len(second.poses)


def test_what_is_not_learned_is_asked_for_again_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconstruct.models.style.session.ABANDONED_NS", 3 * S)
    monkeypatch.setattr("reconstruct.models.style.session.PAUSE_NS", 1 * S)
    book = SessionStyle(subject().skeleton)
    times = [t_s for t_s, _ in tasks(book, walking(24.0, 30.0), answer=False)]
    assert len(times) == MAX_ABANDONED and book.pending is None
    assert all(3.0 < step < 3.2 for step in np.diff(times))


def test_only_what_was_learned_of_the_pending_task_is_taken() -> None:
    book = SessionStyle(subject().skeleton)
    ((_, task),) = tasks(book, walking(12.0), answer=False)
    good = learned(task)
    for other in (replace(good, number=7), replace(good, checksum=1), replace(good, latent=good.latent[1:])):
        assert book.take(other) is None and book.pending is task
    style = book.take(good)
    assert style is not None and book.style is style and book.pending is None
    assert style.features is task.poses.features and style.times is task.poses.times and style.name == "session, 1"
    assert book.take(good) is None


def test_a_style_from_a_file_is_known_from_the_start_and_kept() -> None:
    first = SessionStyle(subject().skeleton)
    tasks(first, walking(12.0))
    assert first.style is not None
    book = SessionStyle(subject().skeleton, start=first.style)
    assert book.style is first.style and not tasks(book, walking(20.0))
    ((_, task),) = tasks(book, boxing(9.0, t0_ns=20 * S))
    assert len(task.poses) > len(first.style.features)
