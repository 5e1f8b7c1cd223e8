"""A style as a pose model: its derivatives, what it makes of poses it knows, of poses it does not, of half a pose."""

from dataclasses import replace

import numpy as np
import pytest

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import body
from database.clips import Clip, clip_slice
from reconstruct.fill_in_style import Asked, StyleModel
from reconstruct.history import Moment
from reconstruct.local_model import DOFS
from reconstruct.observations import Observations
from reconstruct.pose_model import Seen
from reconstruct.style.features import training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style, StyleError
from tests.people import PERIOD_NS, walk

NOTHING = Observations(*(np.zeros(0) for _ in range(7)))
ARM = slice(3 * JOINT_INDEX["leftUpperArm"] - 3, 3 * JOINT_INDEX["leftHand"])
CLIP = walk(body(1.75), 3)


@pytest.fixture(scope="module")
def style() -> Style:
    """Learn the first second and a half of a walk."""
    clip = clip_slice(CLIP, 0, 90)
    return learn(training_poses([clip]), clip.skeleton, "walk", LearnOptions(active=30, steps=25))


def seen(clip: Clip, n: int, covariance: np.ndarray | None = None) -> Seen:
    """Give a frame of a clip as if solved, surely unless said otherwise."""
    joints = clip.rotvec[n].copy()
    joints[0] = 0.0
    turned = Moment(n * PERIOD_NS, joints, np.eye(3), np.zeros(3))
    return Seen(NOTHING, turned, 1e-4 * np.eye(DOFS) if covariance is None else covariance)


def test_gradient_is_that_of_the_energy(style: Style) -> None:
    model, rng = StyleModel(style), np.random.default_rng(0)
    n = int(style.modelled.sum())
    asked = Asked(rng.normal(0.0, 0.3, n), rng.uniform(1e-4, 0.1, n), rng.uniform(size=n) < 0.7)
    x = style.latent[10] + 0.1
    step = 1e-6 * np.eye(len(x))
    numeric = [(model._fit(x + d, asked).energy - model._fit(x - d, asked).energy) / 2e-6 for d in step]
    np.testing.assert_allclose(model._fit(x, asked).gradient, numeric, rtol=1e-4, atol=1e-4)


def test_an_arm_that_is_not_seen_is_guessed_from_the_rest(style: Style) -> None:
    """The arm's joints come as zeros with a wide covariance: the guess is nearer than their spread."""
    model, errors = StyleModel(style), []
    covariance = 1e-4 * np.eye(DOFS)
    covariance[ARM, ARM] = np.eye(ARM.stop - ARM.start)
    for n in range(11, 89, 20):  # between the moments that were learned
        true = CLIP.rotvec[n]
        joints = np.concatenate([np.zeros((1, 3)), true[1:]])
        joints.reshape(-1)[3:][ARM] = 0.0
        pose = Moment(n * PERIOD_NS, joints, np.eye(3), np.zeros(3))
        guess = model.guess(Seen(NOTHING, pose, covariance))
        assert guess is not None
        errors.append(guess.expected[ARM] - true[1:].ravel()[ARM])
    spread = CLIP.rotvec[:90, 1:].reshape(90, -1)[:, ARM].std(axis=0)
    assert np.sqrt(np.mean(np.square(errors))) < 0.3 * np.sqrt(np.mean(spread**2))


def test_precision_is_positive_and_zero_for_what_is_not_modelled(style: Style) -> None:
    guess = StyleModel(style).guess(seen(CLIP, 100))
    assert guess is not None
    still = ~style.modelled[:DOFS]
    assert np.linalg.eigvalsh(guess.precision).min() > -1e-6
    assert still.any() and not guess.precision[still].any() and not guess.precision[:, still].any()


def test_strange_poses_surprise_more_than_known_ones(style: Style) -> None:
    rng = np.random.default_rng(0)
    strange = replace(CLIP, rotvec=CLIP.rotvec + rng.normal(0.0, 0.7, (1, N_JOINTS, 3)))
    model = StyleModel(style)
    known, other = model.guess(seen(CLIP, 30)), model.guess(seen(strange, 30))
    assert known is not None and other is not None and known.surprise < 1.5 < 4.0 < other.surprise
    assert np.isfinite(other.expected).all() and np.isfinite(other.precision).all()


def test_the_past_counts_when_it_is_long_enough_and_unbroken(style: Style) -> None:
    model = StyleModel(style)
    for n in range(60, 65):
        model.accept(seen(CLIP, n).pose)
    assert model._before(65 * PERIOD_NS) is not None
    model.accept(seen(CLIP, 90).pose)  # half a second later
    assert model._before(91 * PERIOD_NS) is None
    model.forget()
    assert model._before(66 * PERIOD_NS) is None


def test_a_rehearsal_leaves_no_trace(style: Style) -> None:
    one, other = StyleModel(style), StyleModel(style)
    for model in (one, other):
        model.guess(seen(CLIP, 30))
    one.guess(seen(CLIP, 70), rehearsal=True)
    first, second = one.guess(seen(CLIP, 31)), other.guess(seen(CLIP, 31))
    assert first is not None and second is not None and np.array_equal(first.expected, second.expected)


def test_a_style_of_other_features_is_refused(style: Style) -> None:
    with pytest.raises(StyleError, match="features"):
        StyleModel(replace(style, features=style.features[:, :-1]))
