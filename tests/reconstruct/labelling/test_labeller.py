"""What labelling remembers: expectations, carried residuals, doubts, suspects; swapped labels of finished poses."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import LabelSettings
from reconstruct.estimator import Estimate
from reconstruct.labelling.labeller import (
    MAX_CARRY_M,
    SURPRISE,
    Labeller,
    near_each_other,
    opposite_markers,
    relabel_by_energy,
    swapped_markers,
)
from reconstruct.labelling.proposals import exchange_labels
from reconstruct.pose import Pose
from tests.support.fakes import pose
from tests.support.people import marker_frame_of, person

SUBJECT = person("boxing")
NAMES = SUBJECT.markers.names
M = len(NAMES)
SETTINGS = LabelSettings()


def places(seed: int = 0) -> np.ndarray:
    """Return marker places half a metre apart."""
    return np.arange(M)[:, None] * [0.5, 0.1, -0.2] + np.random.default_rng(seed).normal(0.0, 0.01, (M, 3))


def labeller() -> Labeller:
    """Return a labeller of the boxing set."""
    return Labeller(SETTINGS, SUBJECT.markers.torso, opposite_markers(SUBJECT))


def marker(name: str) -> int:
    """Return a marker's place in the set."""
    return NAMES.index(name)


def test_opposite_markers_are_left_and_right_limbs_only() -> None:
    pairs = {frozenset((NAMES[a], NAMES[b])) for a, b in np.argwhere(opposite_markers(SUBJECT))}
    assert pairs == {frozenset(("left_hand", "right_hand")), frozenset(("left_foot", "right_foot"))}


def test_a_steady_residual_is_carried_up_to_a_limit() -> None:
    """The left hand sits 2 cm off, the head 10 cm: of that only MAX_CARRY_M is believed."""
    own, model = labeller(), places()
    seen = model.copy()
    seen[marker("left_hand")] += [0.02, 0.0, 0.0]
    seen[marker("head")] += [0.0, 0.10, 0.0]
    for _ in range(60):
        own.remember(marker_frame_of(seen), model)
    expected = own.expected(model).point_m
    np.testing.assert_allclose(expected[marker("left_hand")], seen[marker("left_hand")], atol=1e-3)
    np.testing.assert_allclose(expected[marker("head")], model[marker("head")] + [0.0, MAX_CARRY_M, 0.0], atol=1e-9)


def test_uncertainty_grows_while_unseen_more_on_limbs_than_on_the_torso() -> None:
    own, model = labeller(), places()
    valid = np.ones(M, bool)
    valid[[marker("left_hand"), marker("waist_left")]] = False
    for _ in range(50):
        own.remember(marker_frame_of(model, valid), model)
    sigma = own.expected(model).sigma_m
    assert sigma[marker("left_hand")] == pytest.approx(SETTINGS.max_sigma_m)
    assert sigma[marker("waist_left")] == pytest.approx(SETTINGS.max_torso_sigma_m)
    assert sigma[marker("right_hand")] == pytest.approx(SETTINGS.sigma_m)
    for _ in range(4):
        back = own.expected(model).sigma_m[marker("left_hand")]
        own.remember(marker_frame_of(model), model)
        assert SETTINGS.sigma_m <= own.expected(model).sigma_m[marker("left_hand")] <= back
    assert own.expected(model).sigma_m[marker("left_hand")] == pytest.approx(SETTINGS.sigma_m)


def test_a_marker_that_is_back_may_jump_for_a_frame_or_two() -> None:
    """Its limb jumped to it, so where the pose goes on to is no good guess yet."""
    own, model = labeller(), places()
    valid = np.ones(M, bool)
    valid[marker("left_hand")] = False
    for _ in range(30):
        own.remember(marker_frame_of(model, valid), model)
    own.remember(marker_frame_of(model), model)
    assert own.expected(model).sigma_m[marker("left_hand")] > 3.0 * SETTINGS.sigma_m


def test_the_torso_is_less_sure_where_little_of_it_is_seen() -> None:
    own, model = labeller(), places()
    valid = ~SUBJECT.markers.torso
    valid[marker("waist_left")] = True
    for _ in range(50):
        own.remember(marker_frame_of(model, valid), model)
    sigma = own.expected(model).sigma_m
    assert (sigma[~valid] > 2.0 * SETTINGS.max_torso_sigma_m).all()
    assert sigma[marker("waist_left")] == pytest.approx(SETTINGS.sigma_m)


def test_suspects_are_near_or_opposite_and_come_in_turn() -> None:
    own, model = labeller(), places()
    model[marker("waist_right")] = model[marker("waist_left")] + [0.2, 0.0, 0.0]
    found = {own.suspects(np.ones(M, bool), model) for _ in range(12)}
    named = {frozenset((NAMES[a], NAMES[b])) for pair in found if pair for a, b in [pair]}
    assert named == {
        frozenset(("left_hand", "right_hand")),
        frozenset(("left_foot", "right_foot")),
        frozenset(("waist_left", "waist_right")),
    }


def test_nothing_seen_gives_no_suspects() -> None:
    assert labeller().suspects(np.zeros(M, bool), places()) is None


def test_exchanging_twice_is_as_before_and_once_moves_everything() -> None:
    frame = marker_frame_of(places())
    other = exchange_labels(frame, 1, 4)
    assert np.array_equal(other.point_m[1], frame.point_m[4]) and np.array_equal(other.image_px[:, 4], frame.image_px[:, 1])
    assert np.array_equal(other.point_m[[0, 2, 3]], frame.point_m[[0, 2, 3]])
    assert np.array_equal(exchange_labels(other, 1, 4).point_m, frame.point_m)


def back_again() -> tuple[Labeller, MarkerFrame]:
    """Return a labeller whose left hand, head and right foot were out of sight, and a frame: a point by the head is the
    hand's.
    """
    own, model = labeller(), places()
    model[marker("head")] = model[marker("left_hand")] + [0.3, 0.0, 0.0]
    gone = np.isin(np.arange(M), [marker(name) for name in ("left_hand", "head", "right_foot")])
    for _ in range(30):
        own.remember(marker_frame_of(model, ~gone), model)
    own.expected(model)
    seen = ~gone
    seen[marker("left_hand")] = True
    return own, marker_frame_of(model + [0.02, 0.0, 0.0], seen)


def test_rivals_are_out_of_sight_and_near_what_is_back() -> None:
    own, frame = back_again()
    assert own.rivals(frame) == [(marker("left_hand"), marker("head"))]
    assert labeller().rivals(frame) == []
    own.forget()
    assert own.rivals(frame) == []


@pytest.mark.parametrize(
    ("here", "there", "taken"),
    [(90.0, 20.0, True), (90.0, 89.0, False), (0.9 * SURPRISE, 0.0, False), (90.0, None, False)],
)
def test_a_marker_that_is_back_gets_the_label_that_explains_it(here: float, there: float | None, taken: bool) -> None:
    own, frame = back_again()

    def solve(other: MarkerFrame, start: object, near: object) -> Estimate | None:
        assert start is None and near is None and other.valid[marker("head")] and not other.valid[marker("left_hand")]
        return None if there is None else cast(Estimate, SimpleNamespace(energy=there))

    labels, estimate = relabel_by_energy(frame, cast(Estimate, SimpleNamespace(energy=here)), own.rivals(frame), solve)
    assert bool(labels.valid[marker("head")]) is taken
    assert estimate.energy == (there if taken else here)


def test_uncertainty_grows_no_further_than_a_filled_pose_knows() -> None:
    own, model = labeller(), places()
    valid = np.ones(M, bool)
    valid[[marker("left_hand"), marker("right_hand"), marker("waist_left")]] = False
    for _ in range(50):
        own.remember(marker_frame_of(model, valid), model)
    sure = np.full(M, 0.04)
    sure[marker("right_hand")] = 1.0
    sigma, before = own.expected(model, sure_m=sure).sigma_m, own.expected(model).sigma_m
    assert sigma[marker("left_hand")] == pytest.approx(np.hypot(SETTINGS.sigma_m, 1.5 * 0.04))
    assert sigma[marker("left_hand")] < 0.5 * before[marker("left_hand")]
    others = np.arange(M) != marker("left_hand")
    np.testing.assert_array_equal(sigma[others], before[others])


PLACES = np.array([[0.0, 1.0, 0.0], [0.2, 1.0, 0.0], [0.0, 0.2, 0.1], [1.0, 0.2, 0.0]])


def seen(order: list[int], noise_m: float = 0.0) -> tuple[Pose, MarkerFrame]:
    """Return a pose and its frame, marker m measured where marker order[m] is."""
    points: Floats = PLACES[order] + np.random.default_rng(0).normal(0.0, noise_m, (4, 3))
    fitted = replace(pose(0, 0, np.zeros(3)), marker_m=PLACES, measured=np.ones(4, bool))
    return fitted, marker_frame_of(points)


@pytest.mark.parametrize("noise_m", [0.0, 0.02])
def test_good_labels_are_not_doubted(noise_m: float) -> None:
    assert swapped_markers(*seen([0, 1, 2, 3], noise_m)) == []


def test_two_near_markers_exchanged() -> None:
    assert swapped_markers(*seen([1, 0, 2, 3], 0.02)) == [(0, 1)]


def test_far_markers_are_not_compared() -> None:
    """No labelling exchanges markers a metre apart; what looks so is something else."""
    assert swapped_markers(*seen([0, 1, 3, 2])) == []


def test_only_measured_markers_count() -> None:
    fitted, frame = seen([1, 0, 2, 3])
    assert swapped_markers(replace(fitted, measured=np.array([True, False, True, True])), frame) == []


def test_near_markers_are_all_pairs_of_valid_ones_within_the_limit() -> None:
    rng = np.random.default_rng(5)
    point_m, valid, near = rng.uniform(0.0, 0.5, (8, 3)), rng.random(8) < 0.7, np.empty((8, 8), bool)
    near_each_other(point_m, valid, 0.3, near)
    apart_m = np.linalg.norm(point_m[:, None] - point_m, axis=2)
    assert (near == ((apart_m < 0.3) & valid & valid[:, None])).all()
