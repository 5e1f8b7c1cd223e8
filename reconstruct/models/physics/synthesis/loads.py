"""How contacts share what the body needs: weights on the edges of friction cones, w >= 0, frame by frame (eq. 2).

minimise |r - A w|^2 / 2 + sum_k e_k w_k^2 / 2 over w >= 0, with r (6,) force and torque in units of the physics term: a
primal-dual interior-point method whose systems have the size of r, for all frames at once. The paper keeps w positive as
exp(lambda); solved for exactly, they need no place among the unknowns of the motion.
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from reconstruct.models.physics.interior import TO_BOUND

ITERATIONS = 40
GAP = 1e-11  # of the first
START = 0.1  # a weight, in body weights


class Loads(NamedTuple):
    """Weights w (N, K) and the rest of r, (N, 6); slack: the inverse of how freely each weight follows r, (N, K)."""

    weight: Floats
    residual: Floats
    slack: Floats


def share_loads(A: Floats, r: Floats, even: Floats) -> Loads:
    """Return the weights of frames.

    Args:
        A: wrench of each load, (N, 6, K).
        r: wrench to be shared, (N, 6).
        even: loads without preference, above 0, (N, K).
    """
    w = np.full(even.shape, START)
    z = np.repeat(np.abs(np.einsum("nik,ni->nk", A, r)).max(axis=1, keepdims=True) + 1e-3, even.shape[1], axis=1)
    enough = GAP * float((w * z).mean())
    for _ in range(ITERATIONS):
        gap = (w * z).mean(axis=1, keepdims=True)
        if gap.max() < enough:
            break
        gradient = even * w - np.einsum("nik,ni->nk", A, r - np.einsum("nik,nk->ni", A, w))
        d = even + z / w
        AD = A / d[:, None, :]
        small = np.linalg.inv(np.eye(6) + AD @ np.swapaxes(A, 1, 2))

        system = _System(A, AD, small, d)
        dw = _solve_system(system, -gradient)
        dz = -z - z * dw / w
        reach = np.minimum(_limit_step(w, dw), _limit_step(z, dz))
        left = ((w + reach * dw) * (z + reach * dz)).mean(axis=1, keepdims=True)
        centre = (left / gap) ** 3 * gap - dw * dz
        dw = _solve_system(system, centre / w - gradient)
        dz = centre / w - z - z * dw / w
        reach = np.minimum(_limit_step(w, dw), _limit_step(z, dz))
        w, z = w + reach * dw, z + reach * dz
    residual = r - np.einsum("nik,nk->ni", A, w)
    return Loads(w, residual, even + z / w)


class _System(NamedTuple):
    """A'A + D by its parts: A and A D^-1 (N, 6, K), (I + A D^-1 A')^-1 (N, 6, 6), diagonal of D (N, K)."""

    A: Floats
    AD: Floats
    small: Floats
    d: Floats


def _solve_system(system: _System, right: Floats) -> Floats:
    """Return (A'A + D)^-1 right, (N, K), by Woodbury's formula."""
    inner = np.einsum("nij,nj->ni", system.small, np.einsum("nik,nk->ni", system.AD, right))
    return np.asarray(right / system.d - np.einsum("nik,ni->nk", system.AD, inner))


def _limit_step(x: Floats, dx: Floats) -> Floats:
    """Return how far each frame may go along a step so that all stays above zero, (N, 1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(dx < 0.0, -x / dx, np.inf)
    return np.asarray(np.minimum(1.0, TO_BOUND * ratio.min(axis=1, keepdims=True)))
