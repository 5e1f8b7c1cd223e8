"""Damped least squares: elimination against the whole matrix, refused steps, covariances, a known minimum."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from config.arrays import Floats
from numerics.least_squares import (
    NormalEquations,
    OwnBlocks,
    Step,
    compute_shared_covariance,
    invert_scaled,
    minimise_cost,
    solve_arrow,
)

G, SIZES = 3, ((4, 2), (1, 5))  # shared unknowns; blocks and their sizes by group


def arrow() -> tuple[NormalEquations, Floats, Floats]:
    """Return random normal equations, and the same as a whole matrix and gradient, shared unknowns first."""
    rng = np.random.default_rng(0)
    n = G + sum(count * size for count, size in SIZES)
    whole, g, at, groups = np.zeros((n, n)), rng.normal(size=n), G, []
    for count, size in SIZES:
        mixed, own = np.empty((count, G, size)), np.empty((count, size, size))
        for b in range(count):
            J = rng.normal(size=(G + size + 3, G + size))
            index = np.r_[0:G, at + b * size : at + (b + 1) * size]
            whole[np.ix_(index, index)] += J.T @ J
            mixed[b], own[b] = (J.T @ J)[:G, G:], (J.T @ J)[G:, G:]
        end = at + count * size
        groups.append(OwnBlocks(mixed, own, g[at:end].reshape(count, size)))
        at = end
    return NormalEquations(whole[:G, :G].copy(), g[:G], tuple(groups)), whole, g


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_step_is_that_of_the_whole_matrix(damping: float) -> None:
    normal, whole, g = arrow()
    step = solve_arrow(normal, damping)
    assert step is not None
    expected = -np.linalg.solve(whole + damping * np.diag(np.diag(whole)), g)
    np.testing.assert_allclose(np.concatenate([step.shared, *(own.ravel() for own in step.own)]), expected, rtol=1e-8)


def test_covariance_is_the_corner_of_the_whole_inverse() -> None:
    normal, whole, _ = arrow()
    np.testing.assert_allclose(compute_shared_covariance(normal), np.linalg.inv(whole)[:G, :G], rtol=1e-8)


def test_an_undetermined_direction_comes_out_huge_and_the_others_as_they_are() -> None:
    inverse = invert_scaled(np.array([[1e6, 1e3, 0.0], [1e3, 1.0, 0.0], [0.0, 0.0, 1e-6]]))
    assert inverse[2, 2] == pytest.approx(1e6) and inverse[1, 1] > 1e11


@dataclass(frozen=True)
class Bend:
    """Rosenbrock's valley, of one shared unknown and one own: least at (1, 1); refuses to step beyond a limit."""

    limit: float = np.inf

    def residual(self, state: Floats) -> Floats:
        return np.array([10.0 * (state[1] - state[0] ** 2), 1.0 - state[0]])

    def cost(self, state: Floats) -> float:
        return 0.5 * float((self.residual(state) ** 2).sum())

    def linearise(self, state: Floats) -> NormalEquations:
        J, r = np.array([[-20.0 * state[0], 10.0], [-1.0, 0.0]]), self.residual(state)
        H, g = J.T @ J, J.T @ r
        return NormalEquations(H[:1, :1], g[:1], (OwnBlocks(H[None, :1, 1:], H[None, 1:, 1:], g[None, 1:]),))

    def move(self, state: Floats, step: Step) -> Floats | None:
        moved = state + np.array([step.shared[0], step.own[0][0, 0]])
        return moved if abs(moved).max() < self.limit else None


def test_the_end_of_a_bent_valley_is_found_and_the_cost_never_rises() -> None:
    problem, start = Bend(), np.array([-1.2, 1.0])
    costs = [minimise_cost(problem, start, max_steps=n).cost for n in range(12)]
    assert costs[0] == problem.cost(start) and all(after <= before for before, after in itertools.pairwise(costs))
    fit = minimise_cost(problem, start)
    assert fit.converged and fit.n_steps < 40
    np.testing.assert_allclose(fit.state, [1.0, 1.0], atol=1e-6)


def test_steps_that_make_no_sense_are_not_taken() -> None:
    fit = minimise_cost(Bend(limit=0.9), np.array([-0.5, 0.5]), max_steps=200)
    assert np.abs(fit.state).max() < 0.9 and fit.cost < Bend().cost(np.array([-0.5, 0.5]))


def test_an_impossible_start_stays_impossible() -> None:
    fit = minimise_cost(Bend(), np.array([np.nan, 0.0]))
    assert fit.converged and np.isnan(fit.state[0]) and fit.n_steps == 1
