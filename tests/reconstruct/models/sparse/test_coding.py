"""Order-recursive matching pursuit, against its definition."""

import numpy as np
import pytest

from config.arrays import Floats, Ints
from reconstruct.models.sparse.coding import Codes, Draw, code, decoded

D, K, T = 20, 60, 5


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


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("count", [3, 30])
def test_every_step_takes_the_atom_that_lowers_the_error_most(ridge: float, masked: bool, count: int) -> None:
    A, X = atoms(), np.random.default_rng(1).normal(size=(count, D))
    weight = np.where(np.arange(D) % 3 == 0, 0.0, 1.0 + np.arange(D) % 2) if masked else np.ones(D)
    X[:, weight == 0.0] = np.nan
    codes = code(A, X, T, weight, ridge)
    for n in range(count):
        seen = weight > 0.0
        chosen, coefficient = by_definition((A * weight)[:, seen], (X[n] * weight)[seen], ridge)
        np.testing.assert_array_equal(codes.atom[n], chosen)
        np.testing.assert_allclose(codes.coefficient[n], coefficient, atol=2e-4)
    if not masked and ridge == 0.0:
        np.testing.assert_allclose(((X - decoded(A, codes)) ** 2).sum(axis=1), codes.error2, atol=1e-4)


def test_a_mask_for_each_pose_is_as_one_for_all() -> None:
    A, X = atoms(), np.random.default_rng(2).normal(size=(4, D))
    W = (np.random.default_rng(3).uniform(size=(4, D)) < 0.6).astype(float)
    each = code(A, X, T, W)
    for n in range(4):
        alone = code(A, X[n : n + 1], T, W[n])
        np.testing.assert_array_equal(each.atom[n], alone.atom[0])
        np.testing.assert_allclose(each.coefficient[n], alone.coefficient[0], rtol=1e-5)


def test_atoms_within_the_span_of_others_are_never_taken() -> None:
    A = np.concatenate([atoms()[:3], atoms()[:3], np.zeros((1, D))])
    codes = code(A, np.ones((1, D)), 6)
    assert (codes.atom[0] >= 0).sum() == 3 and len({k % 3 for k in codes.atom[0] if k >= 0}) == 3


def test_what_is_not_finite_has_no_atoms_and_disturbs_no_other() -> None:
    X = np.random.default_rng(4).normal(size=(30, D))
    clean = code(atoms(), X, T)
    X[7, 3] = np.inf
    codes = code(atoms(), X, T)
    assert (codes.atom[7] == -1).all() and not codes.coefficient[7].any()
    np.testing.assert_array_equal(np.delete(codes.atom, 7, 0), np.delete(clean.atom, 7, 0))


def first_atoms(seed: int, precision: float, x: Floats) -> Codes:
    """Draw the first atom of a pose many times."""
    return code(atoms(), np.tile(x, (4000, 1)), 1, draw=Draw(precision, seed))


def test_drawn_atoms_are_as_likely_as_they_lower_the_error() -> None:
    x = np.random.default_rng(5).normal(size=D)
    gain = (atoms() @ x) ** 2
    expected = np.exp(0.5 * 0.8 * (gain - gain.max()))
    expected /= expected.sum()
    found = np.bincount(first_atoms(1, 0.8, x).atom[:, 0], minlength=K) / 4000.0
    np.testing.assert_allclose(found, expected, atol=0.03)
    np.testing.assert_array_equal(first_atoms(1, 0.8, x).atom, first_atoms(1, 0.8, x).atom)
    assert (first_atoms(2, 0.8, x).atom != first_atoms(1, 0.8, x).atom).any()
