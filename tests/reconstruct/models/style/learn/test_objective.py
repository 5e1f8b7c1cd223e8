"""L_GP: its gradients against central differences, its value against the formula written out, its speed-ups against none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from reconstruct.models.style.learn.objective import Workspace, chain_covariance, compute_objective, fill_covariance
from tests.support.compiled import limit_examples


def problem(n: int, n_latent: int, n_features: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return X, ln parameters, ln w and Y, all of them uneven."""
    rng = np.random.default_rng(seed)
    parameters = np.log([1.3, 20.0, 0.7]) + 0.3 * rng.normal(size=3)
    return rng.normal(size=(n, n_latent)), parameters, rng.normal(size=n_features), rng.normal(size=(n, n_features))


def plain(X: Floats, ln_parameters: Floats, ln_scale: Floats, Y: Floats) -> float:
    """Return L_GP as eq. 2 has it."""
    a, b, g = np.exp(ln_parameters)
    n, n_features = Y.shape
    K = np.array([[a * np.exp(-0.5 * g * np.sum((p - q) ** 2)) for q in X] for p in X]) + np.eye(n) / b
    fit = sum(np.exp(2.0 * w) * y @ np.linalg.solve(K, y) for w, y in zip(ln_scale, Y.T, strict=True))
    log_prior = np.log(a * b * g) - n * ln_scale.sum()
    return float(0.5 * n_features * np.linalg.slogdet(K)[1] + 0.5 * fit + 0.5 * np.sum(X**2) + log_prior)


def differences(z: Floats, of: tuple[Floats, Floats, Floats, Floats], which: int) -> Floats:
    """Return the derivatives of L_GP by one of its arguments by central differences."""
    out = np.zeros(z.size)
    for i in range(z.size):
        values = []
        for step in (1e-5, -1e-5):
            moved = [np.array(part) for part in of]
            moved[which].ravel()[i] += step
            values.append(compute_objective(moved[0], moved[1], moved[2], moved[3])[0])
        out[i] = (values[0] - values[1]) / 2e-5
    return out.reshape(z.shape)


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 6), st.integers(0, 10**6))
@limit_examples(15)
def test_gradients_equal_central_differences(n: int, n_latent: int, n_features: int, seed: int) -> None:
    of = problem(n, n_latent, n_features, seed)
    _, *gradients = compute_objective(*of)
    for which, gradient in enumerate(gradients):
        numeric = differences(of[which], of, which)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(numeric).max()))


@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 5), st.integers(0, 10**6))
@limit_examples(15)
def test_value_equals_the_formula(n: int, n_latent: int, n_features: int, seed: int) -> None:
    of = problem(n, n_latent, n_features, seed)
    assert compute_objective(*of)[0] == pytest.approx(plain(*of), rel=1e-9, abs=1e-9)


def test_a_workspace_used_again_changes_nothing() -> None:
    of, other = problem(8, 2, 5, 1), problem(8, 2, 5, 2)
    room = Workspace.of(8, 5)
    compute_objective(*other, room)
    for once, again in zip(compute_objective(*of), compute_objective(*of, room), strict=True):
        np.testing.assert_array_equal(once, again)


def test_poses_alike_without_noise_are_refused() -> None:
    X, p, w, Y = problem(5, 2, 3, 4)
    X[3] = X[1]
    p[1] = 80.0
    with pytest.raises(np.linalg.LinAlgError):
        compute_objective(X, p, w, Y)


def test_kernels_equal_numpy() -> None:
    rng = np.random.default_rng(5)
    X, dK = rng.normal(size=(6, 3)), rng.normal(size=(6, 6))
    dK += dK.T
    smooth, K, dX = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 3))
    fill_covariance(X, 1.7, 4.0, 0.6, smooth, K)
    apart = X[:, None] - X
    distance2 = (apart**2).sum(axis=2)
    expected = 1.7 * np.exp(-0.3 * distance2)
    np.testing.assert_allclose(np.tril(smooth), np.tril(expected), rtol=1e-12)
    np.testing.assert_allclose(np.tril(K), np.tril(expected + 0.25 * np.eye(6)), rtol=1e-12)
    sums = chain_covariance(X, 0.6, smooth, dK, dX)
    weight = dK * expected
    np.testing.assert_allclose(sums, [weight.sum(), np.trace(dK), (weight * distance2).sum()], rtol=1e-10)
    np.testing.assert_allclose(dX, -2.0 * 0.6 * np.einsum("ij,ijq->iq", weight, apart), rtol=1e-9, atol=1e-12)
