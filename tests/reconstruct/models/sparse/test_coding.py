"""Order-recursive matching pursuit, and means of drawn codes, against their definitions."""

import numpy as np
import pytest

from config.arrays import Floats, Ints
from reconstruct.models.sparse.averaging import GREEDY, Averaging, average_poses
from reconstruct.models.sparse.coding import code_poses, decode_poses

D, K, T = 20, 60, 5
BEST = Averaging(T, 1, 0, GREEDY, 0.0, 1)


def atoms(seed: int = 0) -> Floats:
    """Return atoms of norm 1, (K, D)."""
    A = np.random.default_rng(seed).normal(size=(K, D))
    return np.asarray(A / np.linalg.norm(A, axis=1, keepdims=True))


def by_definition(A: Floats, x: Floats, ridge: float) -> tuple[Ints, Floats]:
    """Try every atom in every step, with all coefficients fitted anew; return the atoms and their coefficients."""
    chosen: list[int] = []
    for _ in range(T):
        costs = [np.inf if k in chosen else fit(A[[*chosen, k]], x, ridge)[1] for k in range(len(A))]
        chosen.append(int(np.argmin(costs)))
    return np.array(chosen), fit(A[chosen], x, ridge)[0]


def fit(B: Floats, x: Floats, ridge: float) -> tuple[Floats, float]:
    """Return the coefficients of rows B that minimise |x - a B|^2 + ridge |a|^2, and that minimum."""
    a = np.linalg.solve(B @ B.T + ridge * np.eye(len(B)), B @ x)
    return a, float(((x - a @ B) ** 2).sum() + ridge * (a**2).sum())


def test_every_step_takes_the_atom_that_lowers_the_error_most() -> None:
    A, X = atoms(), np.random.default_rng(1).normal(size=(30, D))
    codes = code_poses(A, X, T)
    for n in range(30):
        chosen, coefficient = by_definition(A, X[n], 0.0)
        np.testing.assert_array_equal(codes.atom[n], chosen)
        np.testing.assert_allclose(codes.coefficient[n], coefficient, atol=2e-4)
    np.testing.assert_allclose(((X - decode_poses(A, codes)) ** 2).sum(axis=1), codes.error2, atol=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("masked", [False, True])
def test_a_single_drawn_code_of_high_precision_is_the_best_of_the_known_entries(ridge: float, masked: bool) -> None:
    A, X = atoms(), np.random.default_rng(1).normal(size=(20, D))
    weight = np.where(np.arange(D) % 3 == 0, 0.0, 1.0 + np.arange(D) % 2) if masked else np.ones(D)
    X[:, weight == 0.0] = np.nan
    found = average_poses(A, X, BEST._replace(ridge=ridge), weight)
    for n in range(20):
        seen = weight > 0.0
        chosen, coefficient = by_definition((A * weight)[:, seen], (X[n] * weight)[seen], ridge)
        np.testing.assert_allclose(found[n], coefficient @ A[chosen], atol=1e-4)


def test_a_mask_for_each_pose_is_as_one_for_all() -> None:
    A, X = atoms(), np.random.default_rng(2).normal(size=(4, D))
    W = (np.random.default_rng(3).uniform(size=(4, D)) < 0.6).astype(float)
    W[2] = W[0]
    each = average_poses(A, X, BEST, W)
    for n in range(4):
        np.testing.assert_allclose(each[n], average_poses(A, X[n : n + 1], BEST, W[n])[0], atol=1e-6)


def test_atoms_within_the_span_of_others_are_never_taken() -> None:
    A = np.concatenate([atoms()[:3], atoms()[:3], np.zeros((1, D))])
    codes = code_poses(A, np.ones((1, D)), 6)
    assert (codes.atom[0] >= 0).sum() == 3 and len({k % 3 for k in codes.atom[0] if k >= 0}) == 3
    found = average_poses(A, np.ones((1, D)), BEST._replace(n_nonzero=6))
    np.testing.assert_allclose(found, decode_poses(A, codes), atol=1e-5)


def test_what_is_not_finite_has_no_atoms_and_disturbs_no_other() -> None:
    X = np.random.default_rng(4).normal(size=(30, D))
    clean, mean = code_poses(atoms(), X, T), average_poses(atoms(), X, BEST)
    X[7, 3] = np.inf
    codes = code_poses(atoms(), X, T)
    assert (codes.atom[7] == -1).all() and not codes.coefficient[7].any()
    np.testing.assert_array_equal(np.delete(codes.atom, 7, 0), np.delete(clean.atom, 7, 0))
    found = average_poses(atoms(), X, BEST)
    assert not found[7].any()
    np.testing.assert_array_equal(np.delete(found, 7, 0), np.delete(mean, 7, 0))


def expected(A: Floats, x: Floats, precision: float, ridge: float, chosen: tuple[int, ...], more: int) -> Floats:
    """Return the mean pose over all that can be drawn after some atoms."""
    if more == 0:
        return np.asarray(fit(A[list(chosen)], x, ridge)[0] @ A[list(chosen)])
    left = [k for k in range(len(A)) if k not in chosen]
    costs = np.array([fit(A[[*chosen, k]], x, ridge)[1] for k in left])
    share = np.exp(-0.5 * precision * (costs - costs.min()))
    parts = [expected(A, x, precision, ridge, (*chosen, k), more - 1) for k in left]
    return np.asarray(share @ np.array(parts) / share.sum())


@pytest.mark.parametrize(("n_nonzero", "n_codes", "tolerance"), [(1, 1, 1e-5), (2, 3000, 0.02), (3, 3000, 0.03)])
def test_the_mean_is_over_all_codes_by_how_much_each_atom_lowers_the_error(
    n_nonzero: int, n_codes: int, tolerance: float
) -> None:
    A, x = atoms()[:12], np.random.default_rng(5).normal(size=D)
    found = average_poses(A, x[None], Averaging(n_nonzero, n_codes, 0, 1.5, 0.1, 1))[0]
    true = expected(A, x, 1.5, 0.1, (), n_nonzero)
    np.testing.assert_allclose(found, true, atol=tolerance)
    best = average_poses(A, x[None], BEST._replace(n_nonzero=n_nonzero, ridge=0.1))[0]
    assert np.abs(best - true).max() > 3.0 * tolerance
    np.testing.assert_array_equal(found, average_poses(A, x[None], Averaging(n_nonzero, n_codes, 0, 1.5, 0.1, 1))[0])


def test_only_the_atoms_that_alone_explain_a_pose_best_are_considered() -> None:
    A, X = atoms(), np.random.default_rng(6).normal(size=(5, D))
    few = average_poses(A, X, Averaging(3, 4, 8, 1.0, 0.0, 1))
    for n in range(5):
        near = np.sort(np.argsort(-((A @ X[n]) ** 2))[:8])
        alone = average_poses(A[near], X[n : n + 1], Averaging(3, 4, 0, 1.0, 0.0, 1))[0]
        np.testing.assert_allclose(few[n], alone, atol=1e-6)  # nor do the other poses matter
        assert np.linalg.lstsq(A[near].T, few[n], rcond=None)[1] < 1e-8
