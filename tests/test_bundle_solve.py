"""The solver: the Schur complement is the whole system, the cost never rises, and the truth is found."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.bundle import Freedom, moved, residual_px
from calibration.bundle_solve import Prior, adjusted, bundle_cost, normal_equations, reduced, shared_covariance
from calibration.lens import LensModel
from tests.bundle_scenes import small_problem

LENSES = (LensModel(("k1", "k2")), LensModel(("k1",), square=False))


def dense(freedom: Freedom, prior: Prior | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The whole system of `small_problem` in one matrix, shared numbers first."""
    state, seen = small_problem(2)
    normal, G = normal_equations(state, seen, freedom, prior), freedom.n_shared
    H, b = np.zeros((G + 18, G + 18)), np.concatenate([normal.shared_gradient, normal.place_gradient.ravel()])
    H[:G, :G] = normal.shared
    for v in range(3):
        at = slice(G + 6 * v, G + 6 * v + 6)
        H[at, at], H[:G, at], H[at, :G] = normal.place[v], normal.mixed[v], normal.mixed[v].T
    return H, b


def prior_of(state_intrinsics: np.ndarray) -> Prior:
    return Prior(state_intrinsics + 1.5, np.tile([0, 0, 0.01, 0.01, 1, 1, 1, 1, 1.0], (2, 1)))


def test_places_eliminated_give_the_same_step_and_covariance() -> None:
    state, seen = small_problem(2)
    freedom, prior = Freedom(LENSES, form=True, offset=True), prior_of(state.intrinsics)
    H, b = dense(freedom, prior)
    G = freedom.n_shared
    S, right, solved = reduced(normal_equations(state, seen, freedom, prior))
    step = np.linalg.solve(S, right)
    np.testing.assert_allclose(step, np.linalg.solve(H, b)[:G], rtol=1e-6)
    np.testing.assert_allclose(
        (solved[..., -1] - solved[..., :-1] @ step).ravel(), np.linalg.solve(H, b)[G:], rtol=1e-5, atol=1e-9
    )
    covariance = shared_covariance(normal_equations(state, seen, freedom, prior))
    np.testing.assert_allclose(covariance, np.linalg.inv(H)[:G, :G], rtol=1e-5, atol=1e-12)


def test_the_gradient_is_that_of_the_cost() -> None:
    state, seen = small_problem(2)
    freedom, prior = Freedom(LENSES, form=True, offset=True), prior_of(state.intrinsics)
    _, b = dense(freedom, prior)
    for i in range(freedom.n_shared):
        step = np.zeros(freedom.n_shared)
        step[i] = 1e-6
        ahead = bundle_cost(moved(state, freedom, step, np.zeros((3, 6))), seen, prior)
        behind = bundle_cost(moved(state, freedom, -step, np.zeros((3, 6))), seen, prior)
        assert -b[i] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-2)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_the_cost_never_rises(seed: int, steps: int) -> None:
    state, seen = small_problem(2)
    rng = np.random.default_rng(seed)
    freedom = Freedom(LENSES)
    state = moved(state, freedom, rng.normal(0.0, 0.05, freedom.n_shared), rng.normal(0.0, 0.2, (3, 6)))
    before = bundle_cost(state, seen)
    fit = adjusted(state, seen, freedom, None, steps)
    assert fit.cost <= before and fit.cost == bundle_cost(fit.state, seen) and fit.n_steps <= steps


def test_it_ends_where_scipy_ends() -> None:
    """The same problem by `least_squares` on the raw residuals."""
    state, seen = small_problem(2)
    state, freedom = replace(state, form=np.zeros(4)), Freedom(LENSES)
    prior = prior_of(state.intrinsics)
    G = freedom.n_shared

    def residuals(step: np.ndarray) -> np.ndarray:
        at = moved(state, freedom, step[:G] * scale, step[G:].reshape(3, 6))
        r = np.sqrt(seen.weight)[..., None] * np.where(seen.weight[..., None] > 0, residual_px(at, seen), 0.0)
        return np.concatenate([r.ravel(), (np.sqrt(prior.weight) * (at.intrinsics - prior.mean)).ravel()])

    scale = np.array([100, 100, 100, 1, 1, 100, 100, 100, 100, 1, *[1] * 6], float)
    theirs = scipy.optimize.least_squares(residuals, np.zeros(G + 18), xtol=1e-14, ftol=1e-14, gtol=1e-12)
    ours = adjusted(state, seen, freedom, prior)
    assert ours.converged and ours.cost == pytest.approx(theirs.cost, rel=1e-6)
    at = moved(state, freedom, theirs.x[:G] * scale, theirs.x[G:].reshape(3, 6))
    np.testing.assert_allclose(ours.state.translation, at.translation, atol=2e-4)
    np.testing.assert_allclose(ours.state.intrinsics, at.intrinsics, rtol=2e-3, atol=2e-3)
