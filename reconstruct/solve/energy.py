"""The energy of a frame (Chai & Hodgins 2005, eq. 9) and its minimisation by Levenberg-Marquardt.

    E(w, d, s) =  1/2 (w - a)' P (w - a)                prior and motion (eqs. 5 and 6), `prior`
                + 1/2 (z - z_0)' W_z (z - z_0)          the root z = (d, s) near its prediction, `prior`
                + sum_m rho(|L_m (x_m - c_m)|^2)        markers in both cameras (eq. 7), `markers`
                + sum_m rho(|pi(x_m) - u_m|^2 / s_m^2)  markers in one camera (section 6), `views`

in units of standard deviations, with rho pseudo-Huber's, so that one wrong marker cannot throw the pose off. A redescending rho
would: started far away, it takes true markers for outliers and stays there. The variables are those of `linearise`.

A new term is a module with a NamedTuple of its arrays and a kernel that adds its Hessian and gradient and returns its energy; it
becomes a field of `Energy` and a line of `_energy`.
"""

import math
from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.jit import kernel
from reconstruct.models.local.model import Quadratic
from reconstruct.solve.linearise import MarkerBody, PoseSpace, _posed_markers
from reconstruct.solve.markers import MarkerTerm, _add_markers
from reconstruct.solve.prior import RootTerm, _add_prior, _add_root
from reconstruct.solve.views import ViewTerm, _add_views

FIRST_DAMPING, LESS, MORE = 1e-3, 0.2, 10.0
MIN_DAMPING = 1e-4  # after a step that gained nothing
MIN_GAIN = 1e-4  # relative: an iteration that gains less is the last


class Energy(NamedTuple):
    """The terms of one frame, and the poses and the body they are functions of."""

    space: PoseSpace
    body: MarkerBody
    prior: Quadratic
    root: RootTerm
    markers: MarkerTerm
    views: ViewTerm


@kernel
def _energy(x: Floats, terms: Energy, A: Floats, g: Floats) -> float:
    """Return the energy at x; write its gradient to g and the lower triangle of its Gauss-Newton Hessian to A."""
    A[:] = 0.0
    g[:] = 0.0
    posed = _posed_markers(x, terms.space, terms.body)
    energy = _add_markers(terms.markers, posed, A, g)
    energy += _add_views(terms.views, posed, A, g)
    energy += _add_prior(terms.prior, x, A, g)
    energy += _add_root(terms.root, x, A, g)
    return energy


@kernel
def _solve_damped(A: Floats, g: Floats, damping: float, C: Floats, step: Floats) -> bool:
    """Write -(A + damping diag A)^-1 g to step by Cholesky of the lower triangle; return whether it is positive definite.

    C'C = A with C lower triangular, from the last row up: every inner loop then runs along rows from their first element and
    sums nothing up, and becomes vector instructions.
    """
    n = g.shape[0]
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = A[i, j]
        C[i, i] += damping * A[i, i] + 1e-12
        step[i] = -g[i]
    for back in range(n):
        i = n - 1 - back
        if not C[i, i] > 0.0:
            return False
        scale = 1.0 / math.sqrt(C[i, i])
        for j in range(i + 1):
            C[i, j] *= scale
        step[i] *= scale
        for k in range(i):
            a = C[i, k]
            step[k] -= a * step[i]
            for j in range(k + 1):
                C[k, j] -= a * C[i, j]
    for i in range(n):
        s = step[i]
        for k in range(i):
            s -= C[i, k] * step[k]
        step[i] = s / C[i, i]
    return True


@kernel
def _levenberg_marquardt(x: Floats, terms: Energy, max_iterations: int, history: Floats) -> int:
    """Move x to a minimum; write the energy after every iteration to history; return the number of iterations."""
    n = x.shape[0]
    A, g, C, step = np.empty((n, n)), np.empty(n), np.zeros((n, n)), np.empty(n)
    A2, g2 = np.empty((n, n)), np.empty(n)
    energy = _energy(x, terms, A, g)
    history[0] = energy
    damping = FIRST_DAMPING
    for iteration in range(max_iterations):
        history[iteration + 1] = energy
        if not _solve_damped(A, g, damping, C, step):
            damping = max(MORE * damping, 1e-6)
            continue
        trial = x + step
        new = _energy(trial, terms, A2, g2)
        if not new <= energy:
            damping = max(MORE * damping, MIN_DAMPING)
            continue
        gain = energy - new
        x[:] = trial
        energy = new
        A, A2, g, g2 = A2, A, g2, g
        damping = LESS * damping
        history[iteration + 1] = energy
        if gain < MIN_GAIN * (1.0 + energy):
            return iteration + 1
    return max_iterations
