"""The energy of a frame (Chai & Hodgins 2005, eq. 9) and its minimisation by Levenberg-Marquardt.

    E(w, d, s) =  1/2 (x - a)' P (x - a)                what is known before, x = (w, d, s): prior, motion (eqs. 5 and 6), `prior`
                + sum_i (q_i - limit_i)^2 / (2 s_q^2)   coordinates beyond a limit of their joint, `limits`
                + sum_m rho(|L_m (x_m - c_m)|^2)        markers in both cameras (eq. 7), `markers`
                + sum_m rho(|pi(x_m) - u_m|^2 / s_m^2)  markers in one camera (section 6), `views`
                + sum_i rho(|x_i - y_i|^2 / s^2)        both hands on a prop, `grips`

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
from config.joints import N_JOINTS
from numerics.definite import solve_damped
from reconstruct.models.local.model import Quadratic
from reconstruct.solve.grips import GripTerm, add_grips
from reconstruct.solve.limits import Limits, add_limits
from reconstruct.solve.linearise import MarkerBody, PoseSpace, compute_marker_jacobian, compute_posed_markers
from reconstruct.solve.markers import MarkerTerm, add_markers
from reconstruct.solve.prior import add_prior
from reconstruct.solve.views import ViewTerm, add_views

FIRST_DAMPING, LESS, MORE = 1e-3, 0.2, 10.0
MIN_DAMPING = 1e-4  # after a step that gained nothing
MIN_GAIN = 1e-4  # relative: an iteration that gains less is the last, and one that is expected to is not looked at
ALL_JOINTS, AT_JOINTS = np.arange(N_JOINTS), np.zeros((N_JOINTS, 3))  # markers that are the joints themselves


class Energy(NamedTuple):
    """The terms of one frame, and the poses and the body they are functions of."""

    space: PoseSpace
    body: MarkerBody
    prior: Quadratic
    limits: Limits
    markers: MarkerTerm
    views: ViewTerm
    grips: GripTerm


@kernel
def compute_energy(x: Floats, terms: Energy, A: Floats, g: Floats) -> float:
    """Return the energy at x, and write its gradient and Gauss-Newton Hessian.

    Args:
        x: coordinates of the pose, (B,).
        terms: terms of the energy.
        A: lower triangle of the Hessian, (B, B); written.
        g: gradient, (B,); written.
    """
    A[:] = 0.0
    g[:] = 0.0
    posed = compute_posed_markers(x, terms.space, terms.body)
    energy = add_markers(terms.markers, posed, A, g)
    energy += add_views(terms.views, posed, A, g)
    energy += add_grips(terms.grips, posed, A, g)
    energy += add_prior(terms.prior, x, A, g)
    energy += add_limits(terms.limits, terms.space, x, A, g)
    return energy


@kernel
def run_levenberg_marquardt(x: Floats, terms: Energy, max_iterations: int, history: Floats) -> int:
    """Move x to a minimum of the energy; return the number of iterations.

    Args:
        x: coordinates of the pose, (B,); changed.
        terms: terms of the energy.
        max_iterations: greatest number of iterations.
        history: energy after every iteration; written.
    """
    n = x.shape[0]
    A, g, C, step = np.empty((n, n)), np.empty(n), np.zeros((n, n)), np.empty(n)
    A2, g2 = np.empty((n, n)), np.empty(n)
    energy = compute_energy(x, terms, A, g)
    history[0] = energy
    damping = FIRST_DAMPING
    for iteration in range(max_iterations):
        history[iteration + 1] = energy
        if not solve_damped(A, g, damping, C, step):
            damping = max(MORE * damping, 1e-6)
            continue
        expected = 0.0
        for i in range(n):
            expected -= 0.5 * g[i] * step[i]
        if expected < MIN_GAIN * (1.0 + energy):
            x += step
            history[iteration + 1] = energy - expected
            return iteration + 1
        trial = x + step
        new = compute_energy(trial, terms, A2, g2)
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


@kernel
def compute_joint_sigmas(x: Floats, terms: Energy, covariance: Floats, out: Floats) -> None:
    """Write the standard deviation of every joint's position, (J,) [m]: that of D C D', with D its derivative by x.

    Args:
        x: coordinates of the pose, (B,).
        terms: terms of the energy.
        covariance: C of these coordinates, (B, B).
        out: (J,) [m]; written.
    """
    body = terms.body
    origins = MarkerBody(body.parents, body.offsets_m, body.reference, ALL_JOINTS, AT_JOINTS)
    posed = compute_posed_markers(x, terms.space, origins)
    for j in range(out.shape[0]):
        n, total = compute_marker_jacobian(posed, j), 0.0
        for k in range(n):
            for m in range(n):
                along = 0.0
                for i in range(3):
                    along += posed.by_x[k, i] * posed.by_x[m, i]
                total += along * covariance[posed.columns[k], posed.columns[m]]
        out[j] = math.sqrt(max(total, 0.0) / 3.0)
