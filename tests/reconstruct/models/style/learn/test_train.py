"""Styles are learned by both ways: the objective falls, poses are fitted, the same comes out each time, bad poses are refused."""

from dataclasses import replace
from functools import cache
from unittest.mock import Mock

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import N_JOINTS
from database.builtin.catalog import make_builtin_clip
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import N_FEATURES, N_STATIC, TrainingPoses
from reconstruct.models.style.learn.optimise import Optimiser
from reconstruct.models.style.learn.parameters import LN_SIGNAL, StyleFit, anneal_parameters, learn_parameters
from reconstruct.models.style.learn.train import (
    FIRST,
    LearnOptions,
    Method,
    compute_max_scale,
    fit_start_from_components,
    fit_style,
    learn_first_parameters,
)
from reconstruct.models.style.model import Style, StyleError, build_evaluator, predict_features

MOVING = 9
WAYS: list[tuple[Method, Optimiser]] = [("direct", "lbfgs"), ("direct", "scg"), ("heuristic", "lbfgs"), ("heuristic", "scg")]


@cache
def skeleton() -> Skeleton:
    return make_builtin_clip("walk", fps=30.0).skeleton


def poses(n: int = 40, phase: float = 0.0, noise: float = 0.01) -> TrainingPoses:
    """Return a motion round and round: nine angles and three of their velocities follow a phase."""
    rng = np.random.default_rng(7)
    t = np.linspace(0.0, 4.0 * np.pi, n) + phase
    features = np.zeros((n, N_FEATURES))
    amplitude, shift = rng.uniform(0.1, 0.6, MOVING), rng.uniform(0.0, 6.0, MOVING)
    features[:, 5 : 5 + MOVING] = amplitude * np.sin(t[:, None] + shift) + 0.2 * np.cos(2.0 * t[:, None])
    features[:, N_STATIC + 5 : N_STATIC + 8] = amplitude[:3] * np.cos(t[:, None] + shift[:3]) * 0.1
    features[:, np.abs(features).max(axis=0) > 0.0] += noise * rng.normal(size=(n, MOVING + 3))
    return TrainingPoses(features, np.zeros((n, N_JOINTS, 3)))


def quick(**changes: object) -> LearnOptions:
    return replace(LearnOptions(latent=2, active=25, steps=40), **changes)  # type: ignore[arg-type]


@cache
def style(method: Method = "direct", optimiser: Optimiser = "lbfgs") -> Style:
    return fit_style(
        poses(), skeleton(), "round", quick(method=method, optimiser=optimiser, steps=12 if method == "heuristic" else 60)
    )


def finite(s: Style) -> bool:
    """Return whether a style has numbers everywhere, and is what it says."""
    arrays = (s.latent, s.scale, s.objective, s.mean, s.spread)
    numbers = [s.learned.alpha, s.learned.beta, s.learned.gamma, s.annealed.alpha, s.annealed.beta, s.annealed.gamma]
    level = build_evaluator(s, s.learned)
    return (
        all(np.isfinite(a).all() for a in (*arrays, level.inverse, level.coefficients, np.array(numbers))) and min(numbers) > 0.0
    )


@pytest.mark.parametrize(("method", "optimiser"), WAYS)
def test_the_objective_falls_and_the_poses_are_fitted(method: Method, optimiser: Optimiser) -> None:
    s = style(method, optimiser)
    assert finite(s)
    assert s.objective[-1] < s.objective[0]
    f, _ = predict_features(build_evaluator(s, s.learned), s.latent)
    rest = (s.features[:, s.modelled] - f).std(axis=0)
    assert np.median(rest / s.spread[s.modelled]) < 0.2
    assert s.latent.shape == (40, 2) and len(set(s.active.tolist())) == len(s.active) <= 25


def test_both_optimisers_come_to_much_the_same() -> None:
    first, last = style("direct", "lbfgs").objective[[0, -1]]
    assert abs(style("direct", "scg").objective[-1] - last) < 0.2 * abs(first - last)


def test_features_that_never_move_are_not_modelled() -> None:
    s = style()
    np.testing.assert_array_equal(np.flatnonzero(s.modelled), [*range(5, 5 + MOVING), *range(N_STATIC + 5, N_STATIC + 8)])
    assert len(s.scale) == MOVING + 3


def test_the_same_comes_out_each_time() -> None:
    for method in ("direct", "heuristic"):
        once, again = (fit_style(poses(), skeleton(), "round", quick(method=method, steps=5)) for _ in range(2))
        for field in ("latent", "scale", "active", "objective"):
            assert getattr(once, field).tobytes() == getattr(again, field).tobytes()
        assert (once.learned, once.annealed) == (again.learned, again.annealed)


def test_annealed_parameters_are_smoother_and_noisier() -> None:
    for s in (style(), style("heuristic")):
        assert s.annealed.alpha * s.annealed.beta < 0.8 * s.learned.alpha * s.learned.beta
    s = style()
    fit = StyleFit(s.latent, np.log(s.scale), s.learned)
    little, much = (anneal_parameters(fit, s.centred(), s.active, variance, 1, "lbfgs") for variance in (0.01, 0.3))
    assert much.alpha * much.beta < little.alpha * little.beta


def test_noise_follows_the_seed() -> None:
    fit = StyleFit(style().latent, np.log(style().scale), style().learned)
    first, second = (anneal_parameters(fit, style().centred(), style().active, None, seed, "lbfgs") for seed in (1, 2))
    assert first != second


def test_scales_are_normal_and_bounded() -> None:
    s = style()
    assert np.mean(np.var(s.centred() * s.scale, axis=0)) == pytest.approx(1.0)
    # Normal scales differ from bounded ones by one factor, that of alpha.
    modelled = np.zeros(N_FEATURES, bool)
    modelled[[0, N_STATIC, 2 * N_STATIC]] = True
    np.testing.assert_allclose(compute_max_scale(modelled), [100.0, 200.0, 200.0])


def test_signal_is_never_more_than_its_bound() -> None:
    s = fit_style(poses(noise=0.0), skeleton(), "exact", quick(latent=3, active=40))
    assert s.learned.alpha * s.learned.beta <= np.exp(LN_SIGNAL[1]) * (1.0 + 1e-9)


def test_progress_is_told_to_the_end() -> None:
    for method in ("direct", "heuristic"):
        progress = Mock()
        s = fit_style(poses(), skeleton(), "round", quick(method=method, steps=4), progress)
        done, total, L = zip(*(call.args for call in progress.call_args_list), strict=True)
        assert list(done) == sorted(done) and set(total) == {5} and done[-1] == 5
        np.testing.assert_array_equal(L, s.objective)


def test_learning_can_be_stopped() -> None:
    def stop(done: int, total: int, L: float) -> None:
        if done == 2:
            raise KeyboardInterrupt

    for method, optimiser in WAYS:
        with pytest.raises(KeyboardInterrupt):
            fit_style(poses(), skeleton(), "round", quick(method=method, optimiser=optimiser), stop)


def test_a_style_goes_on_from_one_learned_before() -> None:
    more = TrainingPoses(np.concatenate([poses().features, poses(9, 0.13).features]), np.zeros((49, N_JOINTS, 3)))
    warm = fit_style(more, skeleton(), "more", quick(steps=10), start=style())
    cold = fit_style(more, skeleton(), "more", quick(steps=10))
    assert finite(warm)
    assert warm.objective[0] < cold.objective[0]
    assert warm.objective[-1] < cold.objective[-1]


def test_known_poses_keep_their_places_and_new_ones_join_them() -> None:
    s = style()
    more = TrainingPoses(np.concatenate([s.features[::2], s.features[3:4] + 1e-4]), np.zeros((21, N_JOINTS, 3)))
    warm = fit_style(more, skeleton(), "more", quick(steps=1), start=s)
    apart = np.linalg.norm(warm.latent[:20] - s.latent[::2], axis=1)
    assert np.median(apart) < 0.2
    assert np.linalg.norm(warm.latent[20] - s.latent[3]) < 0.3


def test_a_start_of_other_dimensions_is_not_used() -> None:
    warm = fit_style(poses(), skeleton(), "round", quick(latent=3, steps=0), start=style())
    cold = fit_style(poses(), skeleton(), "round", quick(latent=3, steps=0))
    np.testing.assert_array_equal(warm.objective, cold.objective)  # from the same start, in as many steps


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (poses(10), LearnOptions(), "too few"),
        (TrainingPoses(np.zeros((5000, N_FEATURES)), np.zeros((5000, N_JOINTS, 3))), LearnOptions(), "at most"),
        (TrainingPoses(np.tile(poses().features[:1], (30, 1)), np.zeros((30, N_JOINTS, 3))), LearnOptions(), "no joint moves"),
        (TrainingPoses(np.full((30, N_FEATURES), np.nan), np.zeros((30, N_JOINTS, 3))), LearnOptions(), "not numbers"),
        (TrainingPoses(poses().features, np.full((40, N_JOINTS, 3), np.inf)), LearnOptions(), "not numbers"),
        (TrainingPoses(poses().features[:, :7], np.zeros((40, N_JOINTS, 3))), LearnOptions(), "7 features"),
        (poses(), LearnOptions(latent=0), "0 dimensions"),
        (poses(), LearnOptions(latent=40), "40 dimensions"),
        (poses(), LearnOptions(active=1), "active set of 1"),
        (poses(), LearnOptions(steps=-1), "-1 steps"),
        (poses(), LearnOptions(noise_variance=-0.1), "noise variance"),
        (poses(), LearnOptions(noise_variance=float("nan")), "noise variance"),
        (poses(), LearnOptions(method="magic"), "magic"),  # type: ignore[arg-type]
        (poses(), LearnOptions(optimiser="magic"), "magic"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(given: TrainingPoses, options: LearnOptions, words: str) -> None:
    with pytest.raises(StyleError, match=words) as refused:
        fit_style(given, skeleton(), "bad", options)
    assert len(str(refused.value).splitlines()) <= 2


def odd(what: str) -> TrainingPoses:
    """Return poses that are hard to learn of but allowed."""
    given = poses(24)
    features = {
        "every pose twice": np.repeat(given.features[:12], 2, axis=0),
        "two poses only": np.tile(given.features[:2], (12, 1)),
        "one feature moves": np.where(np.arange(N_FEATURES) == 6, given.features, 0.0),
        "one pose differs": np.where(np.arange(24)[:, None] == 5, given.features, 0.0),
        "a feature is huge": given.features + 1e4 * (np.arange(N_FEATURES) == 6) * np.sin(np.arange(24))[:, None],
        "all are huge": given.features * 1e8,
    }
    return TrainingPoses(features[what], np.zeros((24, N_JOINTS, 3)))


@pytest.mark.parametrize(
    "what", ["every pose twice", "two poses only", "one feature moves", "one pose differs", "a feature is huge", "all are huge"]
)
@pytest.mark.parametrize(("method", "optimiser"), WAYS)
def test_hard_poses_give_a_sound_style(what: str, method: Method, optimiser: Optimiser) -> None:
    s = fit_style(odd(what), skeleton(), what, quick(latent=4, active=100, method=method, optimiser=optimiser, steps=6))
    assert finite(s)


def noisy(n: int, signal: int, n_features: int, deviation: float) -> Floats:
    """Return features, (N, D), the first of which follow one phase, and all of which are noisy."""
    rng = np.random.default_rng(7)
    phase = np.linspace(0.0, 4.0 * np.pi, n)
    Y = deviation * rng.normal(size=(n, n_features))
    Y[:, :signal] += np.sin(phase[:, None] + rng.uniform(0.0, 6.0, signal))
    return np.asarray(Y - Y.mean(axis=0))


def from_gamma(gamma: float, start: StyleFit, Y: Floats) -> StyleFit:
    """Return the start with parameters learned from one gamma only."""
    first = replace(FIRST, gamma=gamma)
    return replace(start, parameters=learn_parameters(start.X, start.ln_scale, Y, first, "lbfgs"))


@pytest.mark.parametrize(
    ("Y", "n_latent", "bad", "good"),
    [(noisy(60, 12, 36, 0.6), 3, 10.0, 1.0), (noisy(80, 9, 60, 0.5), 5, 0.1, 1.0)],
)
def test_a_large_gamma_is_a_minimum_and_not_where_learning_starts(Y: Floats, n_latent: int, bad: float, good: float) -> None:
    start = fit_start_from_components(Y, n_latent, np.full(Y.shape[1], 100.0))
    trapped, sound = from_gamma(bad, start, Y), from_gamma(good, start, Y)
    assert trapped.parameters.gamma > 20.0 * sound.parameters.gamma
    assert trapped.value(Y) > sound.value(Y) + 100.0
    found = learn_first_parameters(start, Y, "lbfgs")
    np.testing.assert_allclose(found.value(Y), sound.value(Y), rtol=1e-3)
    assert found.parameters.gamma < 1.1 * sound.parameters.gamma


def test_a_style_of_its_active_poses_alone() -> None:
    whole = fit_style(poses(), skeleton(), "whole", LearnOptions(active=20, steps=2))
    alone = fit_style(poses(), skeleton(), "alone", LearnOptions(active=20, steps=2, only_active=True))
    assert len(alone.latent) == 20 and alone.active.tolist() == list(range(20))
    np.testing.assert_array_equal(alone.latent, whole.latent[whole.active])
    np.testing.assert_array_equal(alone.rotvec, whole.rotvec[whole.active])
