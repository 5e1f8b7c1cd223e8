"""Levenberg-Marquardt for the adjustment, the board's places eliminated by the Schur complement (Triggs et al. 2000, section 6).

Only what is shared by all places is solved for at once, a system of some 25 unknowns; each place is a system of six.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from calibration.bundle import BundleState, Freedom, Observations, jacobian, moved, residual_px
from database.rotations import Floats

MAX_STEPS = 60
FIRST_DAMPING = 1e-7
LARGEST_DAMPING = 1e12
SMALLEST_GAIN = 1e-9  # of the cost in one step
FLOOR = 1e-12  # keeps places that nothing is seen of from being singular


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known of the intrinsics beforehand: mean and inverse variance, both (C, 9), weight 0 where nothing is."""

    mean: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Normal:
    """The normal equations: of the shared numbers (G, G), between them and each place (V, G, 6), of each place (V, 6, 6)."""

    shared: Floats
    mixed: Floats
    place: Floats
    shared_gradient: Floats
    place_gradient: Floats


@dataclass(frozen=True, slots=True)
class BundleFit:
    """The result: state, cost (half the weighted squares), whether it came to rest, and in how many steps."""

    state: BundleState
    cost: float
    converged: bool
    n_steps: int


def adjusted(
    state: BundleState,
    seen: Observations,
    freedom: Freedom,
    prior: Prior | None = None,
    max_steps: int = MAX_STEPS,
    smallest_gain: float = SMALLEST_GAIN,
) -> BundleFit:
    """Move the state to the least cost from where it is, until a step gains less than a share of it; the cost never rises."""
    damping, cost, n = FIRST_DAMPING, bundle_cost(state, seen, prior), 0
    for n in range(1, max_steps + 1):
        normal = normal_equations(state, seen, freedom, prior)
        while True:
            shared, place = _step(normal, damping)
            tried = moved(state, freedom, shared, place)
            new_cost = bundle_cost(tried, seen, prior)
            if new_cost <= cost or damping > LARGEST_DAMPING:
                break
            damping *= 10.0
        if not new_cost <= cost:
            return BundleFit(state, cost, True, n)
        gain, state, cost, damping = cost - new_cost, tried, new_cost, max(damping / 10.0, 1e-12)
        if gain <= smallest_gain * cost + 1e-14:
            return BundleFit(state, cost, True, n)
    return BundleFit(state, cost, False, n)


def bundle_cost(state: BundleState, seen: Observations, prior: Prior | None = None) -> float:
    """Give half the weighted squares of all residuals and of what was known beforehand; infinite where it makes no sense."""
    if not (state.intrinsics[:, :2] > 0).all():
        return float("inf")
    residual = residual_px(state, seen)
    used = seen.weight > 0
    cost = 0.5 * float(seen.weight[used] @ (residual[used] ** 2).sum(axis=1))
    if prior is not None:
        cost += 0.5 * float((prior.weight * (state.intrinsics - prior.mean) ** 2).sum())
    return cost


def normal_equations(state: BundleState, seen: Observations, freedom: Freedom, prior: Prior | None = None) -> Normal:
    """Build J' W J and J' W r, place by place."""
    G, (_, V, _) = freedom.n_shared, seen.weight.shape
    J_shared, J_place = jacobian(state, seen, freedom)
    J = np.concatenate([J_shared, J_place], axis=-1).swapaxes(0, 1).reshape(V, -1, G + 6)
    residual = residual_px(state, seen)
    counts = (seen.weight > 0) & np.isfinite(residual).all(axis=-1)  # not what lies behind a camera
    root = np.sqrt(np.repeat(np.where(counts, seen.weight, 0.0).swapaxes(0, 1).reshape(V, -1), 2, axis=1))
    r = np.where(counts[..., None], residual, 0.0).swapaxes(0, 1).reshape(V, -1) * root
    J = J * root[..., None]
    H, b = J.swapaxes(1, 2) @ J, (J * r[..., None]).sum(axis=1)
    shared, gradient = H[:, :G, :G].sum(axis=0), b[:, :G].sum(axis=0)
    if prior is not None:
        column = 0
        for c, lens in enumerate(freedom.lenses):
            S, at = lens.directions, slice(column, column + lens.n_free)
            shared[at, at] += (S * prior.weight[c][:, None]).T @ S
            gradient[at] += S.T @ (prior.weight[c] * (prior.mean[c] - state.intrinsics[c]))
            column += lens.n_free
    return Normal(shared, H[:, :G, G:], H[:, G:, G:], gradient, b[:, G:])


def reduced(normal: Normal, damping: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Eliminate the places: the Schur complement (G, G), its right side (G,), and place^-1 mixed' (V, 6, G)."""
    place = normal.place + _diagonal(normal.place, damping)
    both = np.concatenate([normal.mixed.swapaxes(1, 2), normal.place_gradient[..., None]], axis=2)
    solved = np.linalg.solve(place, both)
    S = normal.shared - (normal.mixed @ solved[..., :-1]).sum(axis=0)
    return S, normal.shared_gradient - (normal.mixed @ solved[..., -1:]).sum(axis=0)[:, 0], solved


def shared_covariance(normal: Normal) -> Floats:
    """Give the covariance of the shared numbers, the places unknown too, (G, G); directions nothing is known of come out huge."""
    S, _, _ = reduced(normal)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    values, vectors = scipy.linalg.eigh(S * np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, 1e-15)) @ vectors.T
    return np.asarray(inverse * np.outer(scale, scale))


def _step(normal: Normal, damping: float) -> tuple[Floats, Floats]:
    """Solve the damped equations: shared (G,) and place (V, 6)."""
    S, right, solved = reduced(normal, damping)
    S = S + np.diag(np.diag(normal.shared) * damping + FLOOR)
    try:
        shared = scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), right) if len(right) else right
    except scipy.linalg.LinAlgError:
        shared = scipy.linalg.lstsq(S, right)[0]
    return shared, solved[..., -1] - solved[..., :-1] @ shared


def _diagonal(H: Floats, damping: float) -> Floats:
    """Give what Marquardt adds to the diagonals of (V, 6, 6)."""
    diagonal = np.einsum("vii->vi", H)
    return np.asarray(np.einsum("vi,ij->vij", damping * diagonal + FLOOR, np.eye(H.shape[1])))
