"""Damped least squares (Levenberg-Marquardt) with unknowns that all residuals share and unknowns of single blocks.

The normal equations H step = -gradient have the shape of an arrow: H is dense over the G shared unknowns, block diagonal over the
others. These are eliminated by the Schur complement (Triggs et al. 2000, section 6), so that a step is linear in the number of
blocks: the poses of a board, the moments of a wand, the takes of a performer.
"""

from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.linalg

from config.arrays import Floats

LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e12  # shares of the diagonal
MAX_STEPS = 60
MIN_GAIN = 1e-9  # of the cost in one step
NO_GAIN = 1e-14
FLOOR = 1e-12  # keeps the equations of a block that nothing was seen of from being singular
LEAST_EIGENVALUE = 1e-15  # of a matrix scaled to a unit diagonal, for covariances

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class OwnBlocks:
    """Normal equations of B blocks with Q unknowns each.

    mixed: between shared and own unknowns, (B, G, Q); own: (B, Q, Q); gradient: (B, Q).
    """

    mixed: Floats
    own: Floats
    gradient: Floats


@dataclass(frozen=True, slots=True)
class NormalEquations:
    """H and the gradient of half the sum of squares: shared (G, G), gradient (G,), and groups of blocks of one size."""

    shared: Floats
    gradient: Floats
    groups: tuple[OwnBlocks, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A change of all unknowns: shared (G,), own (B, Q) by group."""

    shared: Floats
    own: tuple[Floats, ...]


class Damping(NamedTuple):
    """The share of H's diagonal that is added to it: at first, and by what factor it grows and shrinks."""

    first: float = 1e-3
    growth: float = 5.0
    decay: float = 0.2


class LeastSquaresProblem(Protocol[State]):
    """What is minimised, over states of any type."""

    def cost(self, state: State) -> float:
        """Return what is minimised; infinite where the state is impossible."""
        ...

    def linearise(self, state: State) -> NormalEquations:
        """Return the normal equations at a state."""
        ...

    def move(self, state: State, step: Step) -> State | None:
        """Return the state after a step, None where the step makes no sense."""
        ...


@dataclass(frozen=True, slots=True)
class LeastSquaresFit(Generic[State]):
    """The result: state, its cost, whether it converged, and the number of steps."""

    state: State
    cost: float
    converged: bool
    n_steps: int


def minimise_cost(
    problem: LeastSquaresProblem[State],
    start: State,
    damping: Damping = Damping(),  # noqa: B008 - immutable
    max_steps: int = MAX_STEPS,
    smallest_gain: float = MIN_GAIN,
) -> LeastSquaresFit[State]:
    """Minimise the cost from a start on, until a step gains less than a share of it; the cost never rises.

    Args:
        problem: cost, normal equations and steps.
        start: the first state.
        damping: how it begins and changes.
        max_steps: number of linearisations at most.
        smallest_gain: of the cost in one step, relative.
    """
    state, cost, share = start, problem.cost(start), damping.first
    for n in range(1, max_steps + 1):
        normal = problem.linearise(state)
        found = _take_step(problem, state, cost, normal, share)
        while found is None and share <= MOST_DAMPING:
            share *= damping.growth
            found = _take_step(problem, state, cost, normal, share)
        if found is None:
            return LeastSquaresFit(state, cost, True, n)
        gain, share = cost - found[1], max(share * damping.decay, LEAST_DAMPING)
        state, cost = found
        if gain <= smallest_gain * cost + NO_GAIN:
            return LeastSquaresFit(state, cost, True, n)
    return LeastSquaresFit(state, cost, False, max_steps)


def _take_step(
    problem: LeastSquaresProblem[State], state: State, cost: float, normal: NormalEquations, damping: float
) -> tuple[State, float] | None:
    """Return the state after one damped step and its cost, None where the step makes no sense or the cost rises."""
    step = solve_arrow(normal, damping)
    tried = None if step is None else problem.move(state, step)
    if tried is None:
        return None
    new_cost = problem.cost(tried)
    return (tried, new_cost) if new_cost <= cost else None


def solve_arrow(normal: NormalEquations, damping: float) -> Step | None:
    """Return -(H + damping diag H)^-1 gradient; None where the matrix is singular."""
    try:
        S, gradient, solved = eliminate_own(normal, damping)
        S = S + np.diag(damping * np.diag(normal.shared) + FLOOR)
        shared = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), gradient) if len(gradient) else gradient
    except (scipy.linalg.LinAlgError, ValueError):  # singular, not definite, not finite
        return None
    return Step(shared, tuple(-(each[..., -1] + each[..., :-1] @ shared) for each in solved))


def eliminate_own(normal: NormalEquations, damping: float = 0.0) -> tuple[Floats, Floats, list[Floats]]:
    """Eliminate the blocks' own unknowns.

    Returns the Schur complement (G, G) of the blocks with a damped diagonal, its gradient (G,), and by group
    own^-1 [mixed', gradient], (B, Q, G + 1).
    """
    S, gradient, found = normal.shared, normal.gradient, []
    for group in normal.groups:
        diagonal = damping * np.einsum("bii->bi", group.own) + FLOOR
        own = group.own + diagonal[..., None] * np.eye(diagonal.shape[1])
        solved = np.linalg.solve(own, np.concatenate([group.mixed.swapaxes(1, 2), group.gradient[..., None]], axis=2))
        S = S - (group.mixed @ solved[..., :-1]).sum(axis=0)
        gradient = gradient - (group.mixed @ solved[..., -1:]).sum(axis=0)[:, 0]
        found.append(solved)
    return S, gradient, found


def compute_shared_covariance(normal: NormalEquations) -> Floats:
    """Return the covariance of the shared unknowns, the others unknown too, (G, G); undetermined directions come out huge."""
    return invert_scaled(eliminate_own(normal)[0], LEAST_EIGENVALUE)


def invert_scaled(H: Floats, least: float = 1e-13) -> Floats:
    """Invert a symmetric matrix of unlike scales; eigenvalues below `least` count as that: huge in the inverse, not infinite."""
    if not len(H):
        return H
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = scipy.linalg.eigh(H * np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, least)) @ vectors.T
    return np.asarray(inverse * np.outer(scale, scale))
