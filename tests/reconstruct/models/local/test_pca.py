"""Leave-one-out cross-validation of K and B in closed form: against refitting, by hand, and where it degenerates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from reconstruct.models.local.model import DOFS, LocalModel
from reconstruct.models.local.pca import (
    choose_candidate,
    compute_left_out_errors2,
    compute_pca,
    compute_score_shares,
    find_secular_root,
    fit_local_pca,
    select_local_pca,
)


def left_out(examples: Floats, max_dimensions: int, judged: int | None = None) -> Floats:
    """Return the root mean square errors of the examples judged, of all if None, put back by 1 to B dimensions."""
    errors2 = compute_left_out_errors2(compute_pca(examples), judged or len(examples), max_dimensions)
    return np.asarray(np.sqrt(errors2.mean(axis=0)))


def refitted(examples: Floats, max_dimensions: int, judged: int | None = None) -> Floats:
    """Return what `left_out` does the slow, obvious way: fit again without each example."""
    squared = []
    for i in range(judged or len(examples)):
        others = np.delete(examples, i, axis=0)
        mean = others.mean(axis=0)
        _, singular, Vt = np.linalg.svd(others - mean, full_matrices=False)
        rank = int((singular**2 > 1e-13 * singular[0] ** 2).sum()) if singular[0] > 0 else 0
        e = examples[i] - mean
        kept = [Vt[: min(b, rank)] for b in range(1, max_dimensions + 1)]
        squared.append([np.sum((e - U.T @ (U @ e)) ** 2) for U in kept])
    return np.asarray(np.sqrt(np.mean(squared, axis=0)))


def poses(n: int, width: int, decay: float = 0.7, seed: int = 0) -> Floats:
    """Return examples with falling variances in turned directions, off the origin."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return np.asarray((rng.normal(size=(n, width)) * decay ** np.arange(width)) @ turn + rng.normal(size=width))


def test_three_points_on_a_line() -> None:
    # Left out, each point lies on the line of the other two: one dimension puts it back exactly.
    line = np.array([0.0, 1.0, 5.0])[:, None] * [0.6, 0.8] + [1.0, -2.0]
    np.testing.assert_allclose(left_out(line, 2), [0.0, 0.0], atol=1e-7)


def test_a_right_triangle_by_hand() -> None:
    # The altitudes of the triangle (0, 0), (3, 0), (0, 4) are 12/5, 3 and 4; two others have one direction, so B = 2 adds none.
    triangle = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    expected = np.sqrt((2.4**2 + 3.0**2 + 4.0**2) / 3.0)
    np.testing.assert_allclose(left_out(triangle, 2), [expected, expected], rtol=1e-12)


def test_two_points_are_their_distance_apart() -> None:
    np.testing.assert_allclose(left_out(np.array([[0.0, 0.0], [3.0, 4.0]]), 3), [5.0, 5.0, 5.0], rtol=1e-12)


@pytest.mark.parametrize(("n", "width"), [(9, 5), (5, 9), (6, 6), (7, 6), (8, 6), (30, 12)])
def test_equals_refitting(n: int, width: int) -> None:
    X = poses(n, width, seed=n)
    np.testing.assert_allclose(left_out(X, n), refitted(X, n), rtol=1e-9, atol=1e-7)


def test_only_the_nearest_are_judged() -> None:
    X = poses(24, 10, seed=3)
    np.testing.assert_allclose(left_out(X, 4, judged=8), refitted(X, 4, judged=8), rtol=1e-9)


def test_steeply_falling_variances() -> None:
    X = poses(20, 8, decay=0.05, seed=5)
    np.testing.assert_allclose(left_out(X, 3), refitted(X, 3), rtol=1e-6)


def test_repeated_eigenvalues() -> None:
    # The corners of a cross-polytope: all eigenvalues are equal, what is left out is at right angles to some of the rest.
    X = np.concatenate([np.eye(5), -np.eye(5)]) + 0.25
    errors = compute_left_out_errors2(compute_pca(X), 10, 4)
    # Downdated, four eigenvalues stay 2 and the fifth, along the corner left out, falls: the four directions hold nothing of it.
    np.testing.assert_allclose(errors, (10.0 / 9.0) ** 2, rtol=1e-12)


def test_repeated_examples() -> None:
    X = np.repeat(poses(4, 6, seed=2), 3, axis=0)
    # Each has two twins among the rest, which span it.
    np.testing.assert_allclose(left_out(X, 5), refitted(X, 5), rtol=1e-8, atol=2e-7)
    assert left_out(X, 5)[1] > 0.1


def test_identical_examples_have_no_error() -> None:
    X = np.tile([0.1, -0.7, 2.0], (9, 1))
    assert (left_out(X, 4) < 1e-15).all()
    chosen = select_local_pca(X, 4)
    np.testing.assert_allclose(chosen.mean, X[0], rtol=1e-15)
    assert chosen.directions.shape == (3, 0)


@given(st.integers(3, 12), st.integers(1, 9), st.integers(0, 10_000))
def test_equals_refitting_on_rounded_examples(n: int, width: int, seed: int) -> None:
    # Rounded to quarters: ties, twins, columns that stand still and low ranks are common.
    X = np.round(np.random.default_rng(seed).normal(size=(n, width)) * 2.0) / 4.0
    errors = left_out(X, width)
    assert np.isfinite(errors).all() and (np.diff(errors) <= 1e-12).all()
    for b in range(1, width + 1):
        # Where the B-th and the next variance of some fit are equal, several answers are right.
        if all(_gap(np.delete(X, i, axis=0), b) > 1e-6 for i in range(n)):
            np.testing.assert_allclose(errors[b - 1], refitted(X, b)[b - 1], rtol=1e-6, atol=2e-7)


def _gap(X: Floats, b: int) -> float:
    """Return the difference of the b-th variance and the next."""
    values = np.append(np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2, np.zeros(X.shape[1] + 1))
    return float(values[b - 1] - values[b]) if values[b - 1] > 1e-9 else 1.0


def test_the_secular_root_is_an_eigenvalue() -> None:
    values, z, rate = np.array([5.0, 2.0, 1.999999, 0.3]), np.array([0.4, 1e-4, 0.7, 0.2]), 1.1
    true = np.linalg.eigvalsh(np.diag(values) - rate * np.outer(z, z))[::-1]
    roots = [find_secular_root(values, rate * z**2, 4, k, 1e-12)[0] for k in range(4)]
    np.testing.assert_allclose(roots, true, rtol=1e-13)


def test_shares_are_those_of_the_eigenvectors() -> None:
    values, z, rate = np.array([3.0, 3.0, 1.0, 0.5]), np.array([0.3, -0.4, 0.0, 0.1]), 1.25
    m, U = np.linalg.eigh(np.diag(values) - rate * np.outer(z, z))
    shares = np.empty(4)
    compute_score_shares(values, z, rate, 1e-12, np.empty((4, 4)), shares)
    np.testing.assert_allclose(shares, ((z @ U) ** 2)[::-1], atol=1e-14)
    assert m[-1] == pytest.approx(3.0)


def test_choose_takes_few_dimensions_and_many_neighbours_among_equals() -> None:
    errors = np.array([[0.5, 0.31, 0.3], [0.5, 0.4, 0.3]])
    assert choose_candidate(errors, [20, 50]) == (50, 3)
    assert choose_candidate(np.zeros((2, 3)), [20, 50]) == (50, 1)


def test_the_chosen_model_is_the_pca_of_its_examples_and_no_other_count_errs_less() -> None:
    X = poses(70, 9, seed=8)
    chosen = select_local_pca(X, 3)
    errors = {count: refitted(X[:count], 3)[2] for count in (20, 50, 70)}
    count = len(chosen.scores)
    assert errors[count] == pytest.approx(min(errors.values()))
    fitted = X[:count]
    np.testing.assert_allclose(chosen.mean, fitted.mean(axis=0), rtol=1e-12)
    values, vectors = np.linalg.eigh(np.cov(fitted.T))
    np.testing.assert_allclose(chosen.variances, values[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(chosen.directions * vectors[:, ::-1][:, :3], axis=0)), 1.0, rtol=1e-9)


@pytest.mark.parametrize(("n", "width"), [(12, 7), (7, 12), (1, 4)])
def test_pca_gives_the_examples_back(n: int, width: int) -> None:
    X = poses(n, width, seed=1)
    X[:, 2] = 0.5
    model = compute_pca(X)
    assert len(model.scatter) == min(n - 1, width - 1)
    np.testing.assert_allclose(model.mean + model.scores @ model.directions.T, X, atol=1e-12)
    np.testing.assert_allclose(model.directions.T @ model.directions, np.eye(len(model.scatter)), atol=1e-10)
    np.testing.assert_allclose(model.energy, np.sum((X - X.mean(axis=0)) ** 2, axis=1), atol=1e-14)


def examples(k: int, seed: int = 0) -> Floats:
    """Return K poses with very different spreads by coordinate."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 1.0, (k, DOFS)) * np.geomspace(0.01, 0.5, DOFS) + rng.normal(0.0, 0.3, DOFS)


def energy(model: LocalModel, w: Floats) -> float:
    """Return the model's energy without its constant."""
    return float(0.5 * (w - model.center) @ model.precision @ (w - model.center))


def test_paper_directions_are_orthonormal_and_the_most_spread() -> None:
    """Of 15 poses all count: K and B are then 15 and the 7 that are allowed, as more directions always reconstruct better."""
    poses = examples(15)
    model = fit_local_pca(poses, None, dimensions=7, smooth_sigma_rad=0.1)
    U = model.directions.reshape(-1, 7)[3:]
    np.testing.assert_allclose(U.T @ U, np.eye(7), atol=1e-10)
    assert np.all(model.directions[0] == 0.0)
    values = np.linalg.eigvalsh(np.cov(poses.T))[::-1][:7]
    np.testing.assert_allclose(1.0 / np.diag(model.precision), values, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_paper_smoothness_collapses(seed: int) -> None:
    """|p + U w - q|^2 differs from |w - U'(q - p)|^2 by a constant, so both energies differ by one in w."""
    poses, rng = examples(15, seed), np.random.default_rng(seed)
    predicted = poses[0] + rng.normal(0.0, 0.2, DOFS)
    prior = fit_local_pca(poses, None, dimensions=5, smooth_sigma_rad=0.1)
    model = fit_local_pca(poses, predicted, dimensions=5, smooth_sigma_rad=0.1)
    gaps = []
    for _ in range(6):
        w = rng.normal(0.0, 1.0, len(model.center))
        pose = (model.mean + model.directions @ w)[1:].ravel()
        direct = energy(prior, w) + 0.5 * np.sum((pose - predicted) ** 2) / 0.1**2
        gaps.append(direct - energy(model, w))
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


@pytest.mark.parametrize("alike", [1, 6])
def test_paper_model_of_one_pose_stays_there(alike: int) -> None:
    poses = np.repeat(examples(1), alike, axis=0)
    model = fit_local_pca(poses, poses[0] + 0.1, dimensions=7, smooth_sigma_rad=0.1)
    assert model.precision.shape == (1, 1) and np.isfinite(model.precision).all()
    found = model.mean + model.directions @ model.center
    np.testing.assert_allclose(found[1:].ravel(), poses[0], atol=1e-6)
