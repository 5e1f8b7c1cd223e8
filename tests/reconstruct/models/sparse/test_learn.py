"""K-SVD on poses whose dictionary is known, and on what cannot be learned from."""

import numpy as np
import pytest

from config.arrays import Singles
from reconstruct.models.sparse.coding import code_poses, decode_poses
from reconstruct.models.sparse.dictionary import (
    RestoreOptions,
    compute_centring,
    join_dictionaries,
    learn_dictionary,
    restore_poses,
)
from reconstruct.models.sparse.learn import DictionaryOptions, SparseError, learn_atoms, replace_useless_atoms, update_atoms
from tests.support.compiled import compiled_only

D, K, T = 24, 30, 3


def poses(n: int = 1500, seed: int = 0, noise: float = 0.0) -> Singles:
    """Return sums of 3 of 30 atoms, (n, D)."""
    rng = np.random.default_rng(seed)
    A = np.random.default_rng(99).normal(size=(K, D))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    X = np.zeros((n, D))
    for x in X:
        x[:] = rng.normal(1.0, 0.3, T) * rng.choice([-1.0, 1.0], T) @ A[rng.choice(K, T, replace=False)]
    return np.asarray(X + noise * rng.normal(size=X.shape), np.float32)


@compiled_only
def test_atoms_that_poses_are_made_of_are_found_again() -> None:
    learned = learn_atoms(poses(), DictionaryOptions(n_atoms=K, n_nonzero=T, iterations=40))
    A = np.random.default_rng(99).normal(size=(K, D))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    assert (np.abs(A @ learned.atoms.T).max(axis=1) > 0.98).mean() > 0.8
    assert learned.error[-1] < 0.4 * learned.error[0]
    np.testing.assert_allclose(np.linalg.norm(learned.atoms, axis=1), 1.0, atol=1e-5)
    again = learn_atoms(poses(), DictionaryOptions(n_atoms=K, n_nonzero=T, iterations=40))
    np.testing.assert_array_equal(learned.atoms, again.atoms)


def test_an_update_of_the_atoms_never_raises_the_error() -> None:
    X = poses(300, noise=0.1)
    atoms = learn_atoms(X, DictionaryOptions(n_atoms=20, n_nonzero=T, iterations=1)).atoms.copy()
    codes = code_poses(atoms, X, T)
    before = float(codes.error2.sum())
    update_atoms(X, atoms, codes)
    assert float(codes.error2.sum()) < before
    np.testing.assert_allclose(codes.error2, ((X - decode_poses(atoms, codes)) ** 2).sum(axis=1), atol=1e-5)


def test_useless_atoms_become_the_worst_coded_poses() -> None:
    X = poses(50)
    atoms = learn_atoms(X, DictionaryOptions(n_atoms=10, n_nonzero=2, iterations=1)).atoms.copy()
    atoms[4] = atoms[2]  # alike
    codes = code_poses(atoms, X, 2)
    codes.atom[codes.atom == 7] = 6  # never used
    worst = np.argsort(-codes.error2, kind="stable")[:2]
    assert replace_useless_atoms(X, atoms, codes) == 2
    np.testing.assert_allclose(atoms[[4, 7]], X[worst] / np.linalg.norm(X[worst], axis=1, keepdims=True), rtol=1e-5)


@compiled_only
def test_a_dictionary_grows_until_the_target_is_met() -> None:
    X = poses(800)
    coarse, fine = (learn_atoms(X, DictionaryOptions(n_nonzero=T, target=target)) for target in (0.15, 0.03))
    assert coarse.error[-1] <= 0.15 and fine.error[-1] <= 0.03 and len(fine.atoms) > len(coarse.atoms)


@pytest.mark.parametrize("bad", [np.zeros((5, 3)), np.full((5, 3), np.nan), np.ones((1, 3)), np.zeros((0, 3))])
def test_what_cannot_be_learned_from_is_refused(bad: Singles) -> None:
    with pytest.raises(SparseError, match=r"two poses|not all zero"):
        learn_dictionary(bad)


@compiled_only
def test_missing_entries_are_restored_from_the_others() -> None:
    X = poses(900)
    d = learn_dictionary(X, DictionaryOptions(n_atoms=K + 6, n_nonzero=T + 1, iterations=40))
    new, weight = poses(200, seed=5), np.where(np.arange(D) < 4, 0.0, 1.0)
    hidden = np.where(weight > 0.0, new, np.nan)
    error = np.abs(restore_poses(d, hidden, weight, RestoreOptions(6, 0.01, 1)) - new)[:, :4]
    assert np.median(error) < 0.3 * np.median(np.abs(new[:, :4] - X.mean(axis=0)[:4]))
    np.testing.assert_allclose(restore_poses(d, np.full((1, D), np.nan), np.zeros(D))[0], d.mean, atol=1e-6)


@compiled_only
def test_the_mean_of_drawn_codes_is_nearer_to_noisy_poses_than_the_best_code() -> None:
    d = learn_dictionary(poses(900), DictionaryOptions(n_atoms=K, n_nonzero=T, iterations=40))
    clean, noise = poses(200, seed=5), np.random.default_rng(6).normal(0.0, 0.35, (200, D))
    best, drawn = (
        np.sqrt(((restore_poses(d, clean + noise, None, RestoreOptions(T, 0.35, n_codes)) - clean) ** 2).mean())
        for n_codes in (1, 12)
    )
    assert drawn < 0.97 * best < np.sqrt((noise**2).mean())


def test_dictionaries_are_joined() -> None:
    near, far = poses(400), poses(400, seed=1) + np.float32(2.0)
    both = compute_centring(np.concatenate([near, far]))
    first, second = (learn_dictionary(X, DictionaryOptions(n_atoms=20, n_nonzero=T), centring=both) for X in (near, far))
    together = join_dictionaries([first, second])
    assert len(together) == 40 and together.n_nonzero == T
    for X, own in ((near, first), (far, second)):
        alone, all_ = (np.abs(restore_poses(d, X, None, RestoreOptions(T, 0.01)) - X).mean() for d in (own, together))
        assert all_ < 1.3 * alone
    with pytest.raises(SparseError, match="different means"):
        join_dictionaries([first, learn_dictionary(near, DictionaryOptions(n_atoms=20, n_nonzero=T))])


def test_the_constant_coordinate_keeps_noise_out_of_a_code() -> None:
    X = poses(900) + np.float32(1.0)
    d = learn_dictionary(X, DictionaryOptions(n_atoms=K, n_nonzero=T, iterations=10))
    assert d.atoms.shape == (K, D + 1) and d.centring.constant > 1.0
    coefficients = code_poses(d.atoms, d.centring.apply(X), T)
    constant = np.where(coefficients.atom >= 0, coefficients.coefficient * d.atoms[coefficients.atom, -1], 0.0).sum(axis=1)
    np.testing.assert_allclose(constant.mean(), d.centring.constant, rtol=0.02)


def test_as_many_atoms_as_poses_are_these_poses() -> None:
    X = poses(40)
    d = learn_dictionary(X, DictionaryOptions(n_atoms=40, n_nonzero=T))
    own = d.atoms[:, :-1] / d.atoms[:, -1:] * d.centring.constant + d.mean
    assert np.abs(own[:, None] - X).max(axis=2).min(axis=0).max() < 1e-5
    np.testing.assert_allclose(restore_poses(d, X, None, RestoreOptions(1, 0.01)), X, atol=1e-3)
