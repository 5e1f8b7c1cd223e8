"""A style book keeps poses unlike each other and says when there is enough to learn of."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from reconstruct.pose import Pose, State
from reconstruct.style.distinct import FIRST_RADIUS_RAD, Distinct, distances, keys_of
from reconstruct.style.features import N_FEATURES, N_STATIC, STEP_S, static_features
from reconstruct.style.learn import LearnOptions
from reconstruct.style.model import Hyperparameters
from reconstruct.style.recent import Recent, Sample
from reconstruct.style.session import FIRST_S, MAX_ABANDONED, MOST_POSES, StyleBook
from reconstruct.style.task import Learned, LearnTask
from tests.fakes import subject
from tests.style_poses import N_MARKERS, boxing, pose, standing, swung, walking

UP = np.array([0.0, 1.0, 0.0])
S = 1_000_000_000


def learned(task: LearnTask) -> Learned:
    """Give what somebody may have learned of a task, made up."""
    n, features = len(task.poses), task.poses.features
    modelled = features.std(axis=0) > 1e-3
    parts = (modelled, features.mean(axis=0), features.std(axis=0), np.zeros((n, 2)), np.ones(int(modelled.sum())), np.arange(9))
    parameters = Hyperparameters(1.0, 100.0, 1.0)
    return Learned(task.number, task.checksum, 1.5, *parts, parameters, parameters, np.zeros(3))


def tasks(book: StyleBook, poses: Iterable[Pose], answer: bool = True) -> list[tuple[float, LearnTask]]:
    """Give the tasks of a session with their times [s]; whoever learns answers at once, or never."""
    found = []
    for one in poses:
        book.add(one)
        if (task := book.task()) is not None:
            found.append((one.t_capture_ns * 1e-9, task))
            if answer:
                assert book.take(learned(task)) is not None
    return found


@pytest.mark.parametrize("fps", [25.0, 30.0, 60.0, 100.0])
def test_features_are_of_steps_of_a_thirtieth_whatever_the_rate(fps: float) -> None:
    recent, rate = Recent(UP), np.zeros((23, 3))
    rate[3, 1] = 0.6
    samples = [recent.add(pose(rate * n / fps, round(n * 1e9 / fps))) for n in range(round(2 * fps))]
    given = [(n / fps, sample) for n, sample in enumerate(samples) if sample is not None]
    assert 0.9 * min(fps, 30) * 1.9 <= len(given) <= 68
    for t_s, sample in given:
        static = static_features(rate * t_s, UP)
        np.testing.assert_allclose(sample.features[:N_STATIC], static, atol=1e-12)
        np.testing.assert_allclose(
            sample.features[N_STATIC : 2 * N_STATIC], static_features(rate * STEP_S, UP) - [*[0] * 67, 1, 0], atol=1e-9
        )
        np.testing.assert_allclose(sample.features[2 * N_STATIC :], 0.0, atol=1e-9)


def test_no_features_go_across_a_gap_a_jump_or_a_pose_that_was_badly_seen() -> None:
    good = list(walking(1.0))
    bad = {
        "lost": replace(good[30], state=State.COASTING),
        "hidden": pose(good[30].rotvec, good[30].t_capture_ns, n_seen=N_MARKERS // 2),
        "nan": replace(good[30], rotvec=np.full((23, 3), np.nan)),
    }
    for name, one in bad.items():
        recent = Recent(UP)
        given = [recent.add(p) for p in [*good[:30], one, *good[31:]]]
        assert any(given[:30]) and given[30:35] == [None] * 5 and any(given[35:]), name
        stretches = {sample.stretch for sample in given if sample is not None}
        assert stretches == {1, 2}
    recent = Recent(UP)
    for p in good[:30]:
        recent.add(p)
    assert not any(recent.add(p) for p in good[36:40])  # six frames are missing
    recent = Recent(UP)
    for p in good[:30]:
        recent.add(p)
    jumped = [replace(p, rotvec=p.rotvec + 1.3) for p in good[30:34]]
    assert not any(recent.add(p) for p in jumped)
    set_back = [replace(p, t_capture_ns=p.t_capture_ns - 30 * S) for p in good]
    given = [recent.add(p) for p in set_back]
    assert given[:4] == [None] * 4 and any(given)  # a clock that was set back begins a new stretch


def test_the_store_is_bounded_keeps_old_kinds_and_nothing_twice() -> None:
    store, random = Distinct(60), np.random.default_rng(3)

    def sample(centre: float) -> Sample:
        features = np.zeros(N_FEATURES)
        features[:10] = centre + random.normal(0.0, 0.3, 10)
        return Sample(features, np.zeros((23, 3)), 1, 0.0)

    rare = [sample(-9.0) for _ in range(3)]
    for one in rare:
        assert store.add(one) and not store.add(one)
    for _ in range(2000):
        store.add(sample(random.choice([0.0, 4.0])))
        assert len(store) <= 60
    keys = keys_of(store.poses().features)
    assert len(store) > 30 and store.radius_rad > FIRST_RADIUS_RAD
    for n, key in enumerate(keys):
        assert distances(key, np.delete(keys, n, 0)).min() >= store.radius_rad * (1 - 1e-9)
    nearest = [distances(keys_of(one.features), keys).min() for one in rare]
    assert max(nearest) < 2 * store.radius_rad and store.poses().features[:, 0].min() < -8.0


def test_a_session_is_learned_of_once_there_is_enough_that_moves() -> None:
    ((t_s, task),) = tasks(StyleBook(subject().skeleton), walking(20.0))
    assert FIRST_S < t_s < FIRST_S + 1.5 and 100 < len(task.poses) <= MOST_POSES
    assert task.poses.rotvec.shape == (len(task.poses), 23, 3) and np.isfinite(task.poses.features).all()
    assert task.skeleton is not None and task.options == LearnOptions()
    assert not tasks(StyleBook(subject().skeleton), standing(40.0))


def test_a_new_kind_of_motion_is_learned_beside_the_old_one() -> None:
    book = StyleBook(subject().skeleton)
    course = [*walking(15.0), *boxing(15.0, t0_ns=15 * S), *walking(20.0, t0_ns=30 * S)]
    (_, first), (t_s, second) = tasks(book, course)
    assert 15.0 + 1.0 < t_s < 25.0 and second.number == first.number + 1
    keys = keys_of(second.poses.features)
    assert max(distances(key, keys).min() for key in keys_of(first.poses.features)[::10]) < 1.0  # walking is still known
    assert book.style is not None and len(book.style.features) == len(second.poses)


def test_what_is_not_learned_is_asked_for_again_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconstruct.style.session.ABANDONED_NS", 3 * S)
    monkeypatch.setattr("reconstruct.style.session.PAUSE_NS", 1 * S)
    book = StyleBook(subject().skeleton)
    times = [t_s for t_s, _ in tasks(book, walking(24.0, 30.0), answer=False)]
    assert len(times) == MAX_ABANDONED and book.pending is None
    assert all(3.0 < step < 3.2 for step in np.diff(times))


def test_only_what_was_learned_of_the_pending_task_is_taken() -> None:
    book = StyleBook(subject().skeleton)
    ((_, task),) = tasks(book, walking(12.0), answer=False)
    good = learned(task)
    for other in (replace(good, number=7), replace(good, checksum=1), replace(good, latent=good.latent[1:])):
        assert book.take(other) is None and book.pending is task
    style = book.take(good)
    assert style is not None and book.style is style and book.pending is None
    assert style.features is task.poses.features and style.moments is task.poses.moments and style.name == "session, 1"
    assert book.take(good) is None


def test_a_style_from_a_file_is_known_from_the_start_and_kept() -> None:
    first = StyleBook(subject().skeleton)
    tasks(first, walking(12.0))
    assert first.style is not None
    book = StyleBook(subject().skeleton, start=first.style)
    assert book.style is first.style and not tasks(book, walking(20.0))
    ((_, task),) = tasks(book, boxing(9.0, t0_ns=20 * S))
    assert len(task.poses) > len(first.style.features)


def test_poses_without_markers_or_joints_are_no_matter() -> None:
    recent = Recent(UP)
    no_markers = replace(pose(swung(0, 0, 0), 0), seen=np.zeros((2, 0), bool))
    no_joints = replace(pose(swung(0, 0, 0), 0), rotvec=np.zeros((0, 3)))
    assert recent.add(no_markers) is None and recent.add(no_joints) is None
