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

from config.arrays import Floats, Ints
from config.jit import kernel
from config.joints import N_JOINTS
from database.geometry.kinematics import _product, _rodrigues
from numerics.definite import eliminate_rows, solve_damped, substitute_rows
from reconstruct.models.local.model import Quadratic
from reconstruct.solve.limits import Limits, _clamp, _oversteps
from reconstruct.solve.linearise import MarkerBody, PoseSpace, _marker_jacobian, _posed_markers
from reconstruct.solve.markers import MarkerTerm, _add_markers
from reconstruct.solve.prior import RootTerm, _add_prior, _add_root
from reconstruct.solve.views import ViewTerm, _add_views

FIRST_DAMPING, LESS, MORE = 1e-3, 0.2, 10.0
MIN_DAMPING = 1e-4  # after a step that gained nothing
MIN_GAIN = 1e-4  # relative: an iteration that gains less is the last, and one that is expected to is not looked at
ALL_JOINTS, AT_JOINTS = np.arange(N_JOINTS), np.zeros((N_JOINTS, 3))  # markers that are the joints themselves
LIMIT_ROUNDS = 3  # minima of a frame at most, each with the joints clamped that overstepped a limit in the one before


class Energy(NamedTuple):
    """The terms of one frame, and the poses and the body they are functions of."""

    space: PoseSpace
    body: MarkerBody
    prior: Quadratic
    root: RootTerm
    markers: MarkerTerm
    views: ViewTerm


class ObservedCoordinates(NamedTuple):
    """Which coordinates w the markers that are observed tell of; the others follow from these by the prior alone.

    order: those that they tell of and then the others, (B,); directions, span: those of a `PoseSpace` of the first ones alone.
    """

    order: Ints
    directions: Floats
    span: Ints


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


@kernel
def _count_from_here(x: Floats, rotation: Floats, root: RootTerm) -> None:
    """Let the rotation vector d of x count from exp([d]x) R_0, written to rotation, (3, 3), where its Jacobian is exact."""
    d, expected = x[x.shape[0] - 6 : x.shape[0] - 3], root.center
    turn, left, before = np.empty((3, 3)), np.empty((3, 3)), rotation.copy()
    _rodrigues(d, turn, left)
    _product(turn, before, rotation)
    # The expected rotation, exp([expected]x) exp([-d]x), as a quaternion.
    a, b = math.sqrt(expected[0] ** 2 + expected[1] ** 2 + expected[2] ** 2), math.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2)
    s, t = 0.5 if a < 1e-9 else math.sin(0.5 * a) / a, -0.5 if b < 1e-9 else -math.sin(0.5 * b) / b
    u0, u1, u2, u3 = s * expected[0], s * expected[1], s * expected[2], math.cos(0.5 * a)
    v0, v1, v2, v3 = t * d[0], t * d[1], t * d[2], math.cos(0.5 * b)
    q0 = u3 * v0 + v3 * u0 + u1 * v2 - u2 * v1
    q1 = u3 * v1 + v3 * u1 + u2 * v0 - u0 * v2
    q2 = u3 * v2 + v3 * u2 + u0 * v1 - u1 * v0
    q3 = u3 * v3 - u0 * v0 - u1 * v1 - u2 * v2
    sine = math.copysign(math.sqrt(q0 * q0 + q1 * q1 + q2 * q2), q3)
    scale = 2.0 if abs(sine) < 1e-9 else 2.0 * math.atan2(abs(sine), abs(q3)) / sine
    expected[0], expected[1], expected[2] = scale * q0, scale * q1, scale * q2
    d[:] = 0.0


@kernel
def _within_limits(x: Floats, terms: Energy, limits: Limits, max_iterations: int, history: Floats) -> int:
    """Move x to a minimum within the joints' limits; otherwise as `_levenberg_marquardt`, for the last of the minima on the way.

    The prior, the root's rotation and its term change with it.
    """
    n_w, center, precision = x.shape[0] - 6, terms.prior.center, terms.prior.precision
    C, pull = np.empty((n_w, n_w)), np.empty(n_w)
    n = _levenberg_marquardt(x, terms, max_iterations, history)
    for _ in range(1, LIMIT_ROUNDS):
        if not _clamp(terms.prior, terms.space, limits, x, pull):
            break
        solve_damped(precision, -pull, 0.0, C, center)
        _count_from_here(x, terms.space.rotation, terms.root)
        n = _levenberg_marquardt(x, terms, max_iterations, history)
    return n


@kernel
def _minimise(x: Floats, terms: Energy, told: ObservedCoordinates, limits: Limits, max_iterations: int, history: Floats) -> int:
    """Move x to a minimum within the joints' limits, over the coordinates alone that the markers tell of.

    The others are eliminated from the prior before and follow from it afterwards; if one of these oversteps a limit, all are
    moved. The prior, the root's rotation and its term change with it.
    """
    n_w, n, order, prior = x.shape[0] - 6, told.directions.shape[2], told.order, terms.prior
    if n == n_w:
        return _within_limits(x, terms, limits, max_iterations, history)
    C, rest = np.empty((n_w, n_w)), np.zeros(n_w)
    for i in range(n_w):
        for j in range(i + 1):
            C[i, j] = prior.precision[order[i], order[j]]
    eliminate_rows(C, rest, n)
    y, center, precision = np.empty(n + 6), np.empty(n), np.empty((n, n))
    for i in range(n):
        y[i], center[i] = x[order[i]], prior.center[order[i]]
        for j in range(i + 1):
            precision[i, j] = precision[j, i] = C[i, j]
    y[n:] = x[n_w:]
    space = PoseSpace(terms.space.mean, told.directions, told.span, terms.space.rotation.copy())
    root = RootTerm(terms.root.center.copy(), terms.root.precision)
    part = Energy(space, terms.body, Quadratic(center, precision), root, terms.markers, terms.views)
    iterations = _within_limits(y, part, limits, max_iterations, history)
    for i in range(n):
        rest[i] = y[i] - prior.center[order[i]]
    substitute_rows(C, rest, n)
    w = np.empty(n_w)
    for i in range(n_w):
        w[order[i]] = prior.center[order[i]] + rest[i]
    if _oversteps(terms.space, limits, w, told.span):
        return _within_limits(x, terms, limits, max_iterations, history)
    x[:n_w] = w
    x[n_w:] = y[n:]
    terms.space.rotation[:] = space.rotation
    return iterations


@kernel
def _joint_sigmas(x: Floats, terms: Energy, A: Floats, out: Floats) -> bool:
    """Write the standard deviation of every joint's position at a minimum, (J,) [m]; return whether it has a curvature.

    That of a Gaussian with the curvature A = C'C of the energy, its lower triangle given: |C'^-1 D'| / sqrt(3), with D the
    derivative of the position by x.
    """
    n, n_joints = x.shape[0], out.shape[0]
    C, B = np.empty((n, n)), np.zeros((n, 3 * n_joints))
    if not solve_damped(A, x, 0.0, C, np.empty(n)):
        return False
    body = terms.body
    origins = MarkerBody(body.parents, body.offsets_m, body.reference, ALL_JOINTS, AT_JOINTS)
    posed = _posed_markers(x, terms.space, origins)
    for j in range(n_joints):
        for k in range(_marker_jacobian(posed, j)):
            for i in range(3):
                B[posed.columns[k], 3 * j + i] = posed.by_x[k, i]
    out[:] = 0.0
    for back in range(n):
        i = n - 1 - back
        scale = 1.0 / C[i, i]
        for b in range(3 * n_joints):
            B[i, b] *= scale
        for k in range(i):
            a = C[i, k]
            for b in range(3 * n_joints):
                B[k, b] -= a * B[i, b]
        for j in range(n_joints):
            out[j] += B[i, 3 * j] ** 2 + B[i, 3 * j + 1] ** 2 + B[i, 3 * j + 2] ** 2
    for j in range(n_joints):
        out[j] = math.sqrt(out[j] / 3.0)
    return True
