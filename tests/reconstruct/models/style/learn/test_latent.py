"""Latent points of many poses at once: L_IK against the formula, minima."""

import numpy as np

from config.arrays import Floats
from reconstruct.models.style.learn.latent import build_latent_query, compute_energies, find_best_active, find_latent
from reconstruct.models.style.model import Style, build_evaluator, predict_features
from tests.reconstruct.models.style.learn.test_train import MOVING, poses, style


def plain_likelihood(s: Style, Y: Floats, X: Floats, seen: np.ndarray) -> Floats:
    """Return L_IK as eq. 3 has it, of some features only."""
    level = build_evaluator(s, s.learned)
    f, s2 = predict_features(level, X)
    rest2 = (((Y - f + level.mean) * level.scale) ** 2)[:, seen].sum(axis=1)
    return np.asarray(0.5 * rest2 / s2 + 0.5 * seen.sum() * np.log(s2) + 0.5 * (X**2).sum(axis=1))


def test_likelihood_of_many_poses_is_that_of_each() -> None:
    s = style()
    X = np.random.default_rng(3).normal(size=(40, 2))
    for seen in (np.ones(MOVING + 3, bool), np.arange(MOVING + 3) % 3 > 0):
        found = compute_energies(build_latent_query(build_evaluator(s, s.learned), s.centred(), seen), X)
        np.testing.assert_allclose(found, plain_likelihood(s, s.centred(), X, seen), rtol=1e-8)


def test_places_are_minima_and_never_worse_than_their_start() -> None:
    s = style()
    of = build_latent_query(build_evaluator(s, s.learned), poses(15, 0.21).features[:, s.modelled] - s.mean[s.modelled])
    start = find_best_active(of)
    X = find_latent(of, start, 60)
    least = compute_energies(of, X)
    assert (least <= compute_energies(of, start)).all()
    for step in 1e-3 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        assert (compute_energies(of, X + step) >= least - 1e-4 * np.abs(least)).all()


def test_the_nearest_active_pose_of_an_active_pose_is_itself() -> None:
    s = style()
    of = build_latent_query(build_evaluator(s, s.learned), s.centred()[s.active])
    each = np.array([compute_energies(of, np.tile(x, (len(s.active), 1))) for x in s.latent[s.active]])
    np.testing.assert_array_equal(find_best_active(of), s.latent[s.active][each.argmin(axis=0)])
