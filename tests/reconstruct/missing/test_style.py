"""A style as a pose model: its derivatives, what it makes of poses it knows, of poses it does not, of half a pose."""

from dataclasses import replace

import numpy as np
import pytest

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from reconstruct.body_state import BodyState
from reconstruct.missing.pose_model import PartialFrame
from reconstruct.missing.style import (
    FeatureQuery,
    StyleModel,
    StylePrediction,
    TrainingArrays,
    build_feature_subset,
    compute_pose_gaussian,
    compute_prediction_energy,
    find_nearest_training_rows,
    find_style_latent,
)
from reconstruct.models.local.model import DOFS
from reconstruct.models.style.features import N_STATIC, build_training_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import Style, StyleError, build_evaluator, predict_features
from reconstruct.observations import Observations
from tests.support.people import PERIOD_NS, walk

NOTHING = Observations(*(np.zeros(0) for _ in range(7)))
ARM = slice(3 * JOINT_INDEX["leftUpperArm"] - 3, 3 * JOINT_INDEX["leftHand"])
CLIP = walk(build_person_skeleton(1.75), 3)


@pytest.fixture(scope="module")
def style() -> Style:
    """Learn the first second and a half of a walk."""
    clip = slice_clip(CLIP, 0, 90)
    return fit_style(build_training_poses([clip]), clip.skeleton, "walk", LearnOptions(active=30, steps=25))


def seen(clip: Clip, n: int) -> PartialFrame:
    """Return a frame of a clip as if solved, surely."""
    joints = clip.rotvec[n].copy()
    joints[0] = 0.0
    turned = BodyState(n * PERIOD_NS, joints, np.eye(3), np.zeros(3))
    return PartialFrame(NOTHING, turned, np.full(DOFS, 1e-4))


def some_asked(n: int, seed: int = 0) -> FeatureQuery:
    """Return features asked for at random: y, 1 / w^2, and their variances."""
    rng = np.random.default_rng(seed)
    return FeatureQuery(rng.normal(0.0, 0.3, n), rng.uniform(0.01, 1.0, n), rng.uniform(1e-4, 0.1, n))


def room(n_features: int, n_latent: int = 3) -> StylePrediction:
    """Return arrays for what comes out at x."""
    return StylePrediction(np.empty((1 + n_latent, n_features)), np.empty(2))


def test_energy_is_that_of_the_docstring_and_the_gradient_its_derivative(style: Style) -> None:
    level, n = build_evaluator(style, style.learned), int(style.modelled.sum())
    y, spread, variance = asked = some_asked(n)
    part, found = build_feature_subset(level, np.flatnonzero(style.modelled) % N_STATIC), room(n)
    x, g, H = style.latent[10] + 0.1, np.empty(3), np.empty((3, 3))
    energy = compute_prediction_energy(x, part.model, asked, found, g, H)
    f, s2 = predict_features(level, x)
    v = s2 * spread + variance
    assert energy == pytest.approx(0.5 * ((y - f[0]) ** 2 / v + np.log(v)).sum() + 0.5 * x @ x)
    np.testing.assert_allclose(found[0][0], f[0], atol=1e-9)
    assert found[1] == pytest.approx([s2[0], ((y - f[0]) ** 2 / v).mean()])
    step, rest = 1e-6 * np.eye(3), (np.empty(3), np.empty((3, 3)))
    up, down = ([compute_prediction_energy(x + way * d, part.model, asked, room(n), *rest) for d in step] for way in (1.0, -1.0))
    np.testing.assert_allclose(g, np.subtract(up, down) / 2e-6, rtol=1e-4, atol=1e-4)
    moved = (predict_features(level, x + step)[0] - predict_features(level, x - step)[0]) / 2e-6
    np.testing.assert_allclose(found[0][1:], moved, atol=1e-6)
    assert (H == H.T).all() and np.linalg.eigvalsh(H).min() >= 1.0  # at least x's own prior


def test_the_nearest_training_poses_are_those_of_a_sort() -> None:
    rng = np.random.default_rng(1)
    known, asked, rows = rng.normal(size=(40, 9)), some_asked(7, 2), np.empty(3, np.int64)
    find_nearest_training_rows(known, asked, 0.2, rows)
    y, spread, variance = asked
    assert rows.tolist() == np.argsort(((known[:, :7] - y) ** 2 / (0.2 * spread + variance)).sum(axis=1))[:3].tolist()


def test_x_found_is_a_minimum_and_no_worse_than_where_the_search_began(style: Style) -> None:
    """Started at the x of a training pose that the pose asked for is near to."""
    level, chosen = build_evaluator(style, style.learned), np.flatnonzero(style.modelled)
    part = build_feature_subset(level, chosen % N_STATIC)
    training = TrainingArrays(style.features[:, chosen], style.latent)
    asked = FeatureQuery(training.features[12] + 0.01, part.spread, np.full(len(chosen), 1e-4))
    x, found, rest = np.empty(3), room(len(chosen)), (np.empty(3), np.empty((3, 3)))
    energy = find_style_latent(part.model, training, asked, np.empty((0, 3)), x, found)
    begun = [compute_prediction_energy(start, part.model, asked, room(len(chosen)), *rest) for start in style.latent]
    assert energy < begun[12] and energy == compute_prediction_energy(x, part.model, asked, room(len(chosen)), *rest)
    assert energy == pytest.approx(find_style_latent(part.model, training, asked, x[None], x.copy(), found), abs=0.02)


def test_what_is_no_number_has_no_x(style: Style) -> None:
    nowhere = seen(CLIP, 30)
    nowhere.state.joints[3] = np.nan
    model = StyleModel(style)
    assert model.predict(nowhere) is None and model.predict(seen(CLIP, 31)) is not None


def test_an_arm_that_is_not_seen_is_guessed_from_the_rest(style: Style) -> None:
    """The arm's joints come as zeros with a large variance: the guess is nearer than their spread."""
    model, errors = StyleModel(style), []
    variance = np.full(DOFS, 1e-4)
    variance[ARM] = 1.0
    for n in range(11, 89, 20):  # between the moments that were learned
        true = CLIP.rotvec[n]
        joints = np.concatenate([np.zeros((1, 3)), true[1:]])
        joints.reshape(-1)[3:][ARM] = 0.0
        pose = BodyState(n * PERIOD_NS, joints, np.eye(3), np.zeros(3))
        guess = model.predict(PartialFrame(NOTHING, pose, variance))
        assert guess is not None
        errors.append(guess.expected[ARM] - true[1:].ravel()[ARM])
    spread = CLIP.rotvec[:90, 1:].reshape(90, -1)[:, ARM].std(axis=0)
    assert np.sqrt(np.mean(np.square(errors))) < 0.3 * np.sqrt(np.mean(spread**2))


def test_the_gaussian_is_the_one_that_joins_features_of_an_angle_and_a_free_x() -> None:
    """Written out with matrices: each angle's features joined by their weights, a floor, and x with variance 1 integrated out."""
    rng, n_latent = np.random.default_rng(3), 2
    angle, w2, s2 = np.array([0, 2, 0, 5, 2]), rng.uniform(0.5, 2.0, 5), 0.3  # angle 1 is not modelled, 5 is none of four
    taken, F = rng.normal(size=5), rng.normal(size=(1 + n_latent, 5))
    total = np.bincount(angle, w2, 4)[:4]
    of_angle = np.where(total > 0.0, 1.0 / np.where(total > 0.0, total, 1.0), np.inf)
    share = np.where(angle < 4, w2 / total[np.minimum(angle, 3)].clip(1e-9), 0.0)
    expected, precision = np.empty(4), np.empty((4, 4))
    compute_pose_gaussian(StylePrediction(F, np.array([s2, 0.0])), taken, angle, share, of_angle, 0.01, expected, precision)
    average = np.zeros((4, 5))
    average[0, [0, 2]], average[2, [1, 4]] = w2[[0, 2]] / total[0], w2[[1, 4]] / total[2]
    some = [0, 2]
    M = (average @ F[1:].T)[some]
    covariance = np.diag(s2 / total[some] + 0.01) + M @ M.T
    np.testing.assert_allclose(expected[some], (average @ (F[0] + taken))[some])
    np.testing.assert_allclose(precision[np.ix_(some, some)], np.linalg.inv(covariance), rtol=1e-9)
    assert not precision[[1, 3]].any() and not precision[:, [1, 3]].any()


def test_precision_is_positive_and_zero_for_what_is_not_modelled(style: Style) -> None:
    guess = StyleModel(style).predict(seen(CLIP, 100))
    assert guess is not None
    still = ~style.modelled[:DOFS]
    assert np.linalg.eigvalsh(guess.precision).min() > -1e-6
    assert still.any() and not guess.precision[still].any() and not guess.precision[:, still].any()


def test_strange_poses_surprise_more_than_known_ones(style: Style) -> None:
    rng = np.random.default_rng(0)
    strange = replace(CLIP, rotvec=CLIP.rotvec + rng.normal(0.0, 0.7, (1, N_JOINTS, 3)))
    model = StyleModel(style)
    known, other = model.predict(seen(CLIP, 30)), model.predict(seen(strange, 30))
    assert known is not None and other is not None and known.surprise < 1.5 < 4.0 < other.surprise
    assert np.isfinite(other.expected).all() and np.isfinite(other.precision).all()


def test_the_past_counts_when_it_is_long_enough_and_unbroken(style: Style) -> None:
    model = StyleModel(style)
    for n in range(60, 65):
        model.accept(seen(CLIP, n).state)
    assert model._before(65 * PERIOD_NS) is not None
    model.accept(seen(CLIP, 90).state)  # half a second later
    assert model._before(91 * PERIOD_NS) is None
    assert model.fresh()._before(91 * PERIOD_NS) is None
    model.forget()
    assert model._before(66 * PERIOD_NS) is None
    model.accept(seen(CLIP, 60).state)  # one pose alone, long ago
    assert model._before(65 * PERIOD_NS) is None


def test_a_held_out_check_leaves_no_trace(style: Style) -> None:
    one, other = StyleModel(style), StyleModel(style)
    for model in (one, other):
        model.predict(seen(CLIP, 30))
    one.predict(seen(CLIP, 70), held_out=True)
    first, second = one.predict(seen(CLIP, 31)), other.predict(seen(CLIP, 31))
    assert first is not None and second is not None and np.array_equal(first.expected, second.expected)


def test_a_style_of_other_features_is_refused(style: Style) -> None:
    with pytest.raises(StyleError, match="features"):
        StyleModel(replace(style, features=style.features[:, :-1]))
