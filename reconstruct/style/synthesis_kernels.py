"""Kernels of synthesis: Levenberg-Marquardt on the energy of x and q.

The Hessian in a is a diagonal and one row for each number that is asked for; `_step` uses that.
"""

import math

import numpy as np

from config.jit import inlined, kernel
from database.kinematics import _product, _rodrigues
from database.rotations import Floats
from reconstruct.style.likelihood_kernels import _gram
from reconstruct.style.synthesis_energy_kernels import _evaluate
from reconstruct.style.synthesis_rows_kernels import Asked, Body, Linear, Prior, State, _linear, _most_rows

LONGEST_RAD = 1.0  # of one step
FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e9


@inlined
def _scaled(lin: Linear, n: int, damping: float, root: Floats, B: Floats, K: Floats) -> None:
    """Write 1 / sqrt of damped D to root (A,), (Ja, C', ga') times it to B (n + P + 1, A), and K of `_step`."""
    D, cross, ga, H, gp, rows_a, rows_p, e, scale = lin
    n_a, n_p = cross.shape
    last = n + n_p
    for i in range(n_a):
        d = D[i]
        for r in range(n):
            d += rows_a[r, i] * rows_a[r, i]
        root[i] = 1.0 / math.sqrt(D[i] + damping * d + 1e-9)
        for r in range(n):
            B[r, i] = rows_a[r, i] * root[i]
        for c in range(n_p):
            B[n + c, i] = cross[i, c] * root[i]
        B[last, i] = ga[i] * root[i]
    _gram(B, B, K)
    for r in range(n):
        K[r, r] += 1.0
        K[last, r] -= e[r]
        for c in range(n_p):
            K[n + c, r] -= rows_p[r, c]
    for c in range(n_p):
        d = scale[c]
        for r in range(n):
            d += rows_p[r, c] * rows_p[r, c]
        for b in range(c + 1):
            K[n + c, n + b] -= H[c, b]
        K[n + c, n + c] -= damping * d + 1e-6
        K[last, n + c] -= gp[c]


@kernel
def _solve(K: Floats, n: int, z: Floats) -> bool:
    """Solve K z = b, b the row of K after its last, and K symmetric of which the lower triangle is given and written over.

    K = M S M' with M lower triangular and S diagonal, n times 1 and then -1; False where K is no such matrix.
    """
    last = K.shape[0] - 1
    for j in range(last):
        for i in range(j, last + 1):
            s = K[i, j]
            for k in range(min(j, n)):
                s -= K[i, k] * K[j, k]
            for k in range(n, j):
                s += K[i, k] * K[j, k]
            K[i, j] = s if j < n else -s
        if not K[j, j] > 0.0:
            return False
        pivot = 1.0 / math.sqrt(K[j, j])
        for i in range(j, last + 1):
            K[i, j] *= pivot
    for back in range(last):
        i = last - 1 - back
        s = K[last, i]
        for k in range(i + 1, last):
            s -= K[k, i] * z[k]
        z[i] = s / K[i, i]
    return True


@kernel
def _step(lin: Linear, n: int, damping: float, step_a: Floats, step_p: Floats) -> float:
    """Write the damped step of n rows; give by how much the energy should sink at least, negative where there is no such step.

    With rows J = (Ja, Jp), residuals e and l = e + J step:  D step_a = -(ga + C step_p + Ja' l), which leaves
    (I + Ja D^-1 Ja') l + (Ja D^-1 C - Jp) step_p = e - Ja D^-1 ga,
    (C' D^-1 Ja - Jp') l + (C' D^-1 C - H) step_p = gp - C' D^-1 ga.
    The matrix of both is K, and K's last row what they should be, with the other sign.
    """
    n_a, n_p = step_a.shape[0], step_p.shape[0]
    last = n + n_p
    root, B, K, z = np.empty(n_a), np.empty((last + 1, n_a)), np.empty((last + 1, last + 1)), np.empty(last + 1)
    _scaled(lin, n, damping, root, B, K)
    if not _solve(K, n, z):
        return -1.0
    z[last] = -1.0
    ga, gp, e = lin[2], lin[4], lin[7]
    gain = 0.0
    for i in range(n_a):
        step_a[i] = 0.0
    for r in range(last + 1):
        for i in range(n_a):
            step_a[i] += z[r] * B[r, i]
    for i in range(n_a):
        step_a[i] *= root[i]
        gain -= ga[i] * step_a[i]
    for c in range(n_p):
        step_p[c] = -z[n + c]
        gain -= gp[c] * step_p[c]
    for r in range(n):
        gain += e[r] * (z[r] + e[r])
    return 0.5 * gain


@inlined
def _moved(state: State, step_a: Floats, step_p: Floats, trial: State) -> None:
    """Write the state a step further, at most LONGEST_RAD of any angle and of the root's turn."""
    longest = 0.0
    for i in range(step_a.shape[0]):
        longest = max(longest, abs(step_a[i]))
    for i in range(3):
        longest = max(longest, abs(step_p[i]))
    share = min(1.0, LONGEST_RAD / max(longest, 1e-12))
    w, turn, left = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        w[i] = share * step_p[i]
        trial[2][i] = state[2][i] + share * step_p[3 + i]
    _rodrigues(w, turn, left)
    _product(turn, state[1], trial[1])
    for i in range(3):
        trial[0][0, i] = state[0][0, i]
    for j in range(1, state[0].shape[0]):
        for i in range(3):
            trial[0][j, i] = state[0][j, i] + share * step_a[3 * (j - 1) + i]
    for q in range(state[3].shape[0]):
        trial[3][q] = state[3][q] + share * step_p[6 + q]


@inlined
def _take(trial: State, new_about: Floats, state: State, about: Floats) -> None:
    """Copy the trial to the state."""
    for j in range(trial[0].shape[0]):
        for i in range(3):
            state[0][j, i] = trial[0][j, i]
    for i in range(3):
        state[2][i] = trial[2][i]
        for k in range(3):
            state[1][i, k] = trial[1][i, k]
    for q in range(trial[3].shape[0]):
        state[3][q] = trial[3][q]
    for k in range(about.shape[0]):
        about[k, 0], about[k, 1] = new_about[k, 0], new_about[k, 1]


@kernel
def _minimise(
    state: State, prior: Prior, body: Body, asked: Asked, most: int, tolerance: float, result: Floats, about: Floats
) -> None:
    """Move the state to a minimum of the energy, in at most `most` steps.

    Writes the energy, the gain that one more step promises, whether that is less than tolerance (1) or not (0), and the
    number of steps to result (4,); s2 and share L_IK of each style to about (S, 2).
    """
    n_a, n_p, n_rows = 3 * (state[0].shape[0] - 1), 6 + state[3].shape[0], _most_rows(asked[0], asked[1])
    lin, new_lin = _linear(n_rows, n_a, n_p), _linear(n_rows, n_a, n_p)
    trial = (np.empty_like(state[0]), np.empty((3, 3)), np.empty(3), np.empty_like(state[3]))
    step_a, step_p, rows, new_about = np.zeros(n_a), np.zeros(n_p), np.zeros(1, np.int64), np.empty(about.shape)
    energy, damping, gain, converged, steps, n = np.inf, FIRST_DAMPING, 0.0, 0.0, 0, 0
    while True:
        _moved(state, step_a, step_p, trial)
        new = _evaluate(trial, prior, body, asked, new_lin, new_about, rows)
        if new <= energy:
            if steps > 0:
                damping *= 0.1 if energy - new > 0.7 * gain else (1.0 if energy - new > 0.2 * gain else 5.0)
            energy, n = new, rows[0]
            lin, new_lin = new_lin, lin
            _take(trial, new_about, state, about)
        else:
            damping *= 10.0
        gain = -1.0
        while gain < 0.0 and damping < MOST_DAMPING:
            gain = _step(lin, n, damping, step_a, step_p)
            if not gain >= 0.0:
                gain = -1.0
                damping *= 10.0
        if 0.0 <= gain < tolerance and damping <= 0.1:
            converged = 1.0
        if converged > 0.0 or steps >= most or damping >= MOST_DAMPING or not energy < np.inf:
            break
        steps += 1
    result[0], result[1], result[2], result[3] = energy, gain, converged, steps
