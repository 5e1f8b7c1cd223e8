"""Kernels of synthesis: Levenberg-Marquardt on the energy of x and q.

The Hessian in a is a diagonal and one row for each number that is asked for; `_step` uses that.
"""

import math

import numpy as np

from config.jit import kernel
from database.kinematics import _product, _rodrigues
from database.rotations import Floats
from reconstruct.style.synthesis_energy_kernels import _evaluate
from reconstruct.style.synthesis_rows_kernels import Asked, Body, Linear, Prior, State, _linear, _most_rows

LONGEST_RAD = 1.0  # of one step
FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e9


@kernel
def _cholesky(A: Floats, n: int) -> bool:
    """Replace the lower triangle of A by L, L L' = A; False where A is not positive definite."""
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= A[j, k] * A[j, k]
        if not s > 0.0:
            return False
        A[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / A[j, j]
    return True


@kernel
def _forward_solve(L: Floats, B: Floats, n: int) -> None:
    """Replace the first n rows of B by L^-1 B."""
    for i in range(n):
        for k in range(i):
            for c in range(B.shape[1]):
                B[i, c] -= L[i, k] * B[k, c]
        for c in range(B.shape[1]):
            B[i, c] /= L[i, i]


@kernel
def _back_solve(L: Floats, b: Floats, n: int) -> None:
    """Replace the first n of b by L'^-1 b."""
    for back in range(n):
        i = n - 1 - back
        b[i] /= L[i, i]
        for k in range(i):
            b[k] -= L[i, k] * b[i]


@kernel
def _scaled(lin: Linear, n: int, damping: float, root: Floats, C: Floats, S: Floats, E: Floats) -> None:
    """Write 1 / sqrt of damped D to root (A,), C and ga times it to C (A, P + 1), and S and (E, e - Ja D^-1 ga) of `_step`."""
    D, cross, ga, _, _, rows_a, rows_p, e, _ = lin
    n_a, n_p = cross.shape
    J = np.empty((n, n_a))
    for i in range(n_a):
        d = D[i]
        for r in range(n):
            d += rows_a[r, i] * rows_a[r, i]
        root[i] = 1.0 / math.sqrt(D[i] + damping * d + 1e-9)
        for c in range(n_p):
            C[i, c] = root[i] * cross[i, c]
        C[i, n_p] = root[i] * ga[i]
    for r in range(n):
        for i in range(n_a):
            J[r, i] = rows_a[r, i] * root[i]
        for q in range(r + 1):
            s = 1.0 if q == r else 0.0
            for i in range(n_a):
                s += J[r, i] * J[q, i]
            S[r, q] = s
        for c in range(n_p):
            E[r, c] = rows_p[r, c]
        E[r, n_p] = e[r]
        for i in range(n_a):
            a = J[r, i]
            if a != 0.0:
                for c in range(n_p + 1):
                    E[r, c] -= a * C[i, c]


@kernel
def _solve_p(lin: Linear, n: int, damping: float, C: Floats, E: Floats, step_p: Floats) -> bool:
    """Write step_p of `_step`, given C and ga over sqrt D and S^-1/2 E; False where its matrix is not positive definite."""
    _, _, _, H, gp, _, rows_p, _, scale = lin
    n_a, n_p = C.shape[0], step_p.shape[0]
    A = np.empty((n_p, n_p))
    for c in range(n_p):
        d = scale[c]
        for r in range(n):
            d += rows_p[r, c] * rows_p[r, c]
        for b in range(c + 1):
            A[c, b] = H[c, b]
        A[c, c] += damping * d + 1e-6
        step_p[c] = -gp[c]
    for i in range(n_a):
        for c in range(n_p):
            step_p[c] += C[i, c] * C[i, n_p]
            for b in range(c + 1):
                A[c, b] -= C[i, c] * C[i, b]
    for r in range(n):
        for c in range(n_p):
            step_p[c] -= E[r, c] * E[r, n_p]
            for b in range(c + 1):
                A[c, b] += E[r, c] * E[r, b]
    if not _cholesky(A, n_p):
        return False
    for i in range(n_p):
        for k in range(i):
            step_p[i] -= A[i, k] * step_p[k]
        step_p[i] /= A[i, i]
    _back_solve(A, step_p, n_p)
    return True


@kernel
def _step(lin: Linear, n: int, damping: float, step_a: Floats, step_p: Floats) -> float:
    """Write the damped step of n rows; give by how much the energy should sink at least, negative where there is no such step.

    With rows J = (Ja, Jp), residuals e and l = e + J step:  D step_a = -(ga + C step_p + Ja' l), which leaves
    S = I + Ja D^-1 Ja', E = Jp - Ja D^-1 C:  (H - C' D^-1 C + E' S^-1 E) step_p = C' D^-1 ga - gp - E' S^-1 (e - Ja D^-1 ga).
    """
    n_a, n_p = step_a.shape[0], step_p.shape[0]
    root, C, S, E, pull = np.empty(n_a), np.empty((n_a, n_p + 1)), np.empty((n, n)), np.empty((n, n_p + 1)), np.empty(n)
    _scaled(lin, n, damping, root, C, S, E)
    if not _cholesky(S, n):
        return -1.0
    _forward_solve(S, E, n)
    if not _solve_p(lin, n, damping, C, E, step_p):
        return -1.0
    for r in range(n):
        pull[r] = E[r, n_p]
        for c in range(n_p):
            pull[r] += E[r, c] * step_p[c]
    _back_solve(S, pull, n)
    gain: float = _finish_step(lin, n, root, C, pull, step_a, step_p)
    return gain


@kernel
def _finish_step(lin: Linear, n: int, root: Floats, C: Floats, pull: Floats, step_a: Floats, step_p: Floats) -> float:
    """Write step_a of step_p and the rows' l; give half of -gradient' step."""
    _, _, ga, _, gp, rows_a, rows_p, e, _ = lin
    n_a, n_p = step_a.shape[0], step_p.shape[0]
    gain = 0.0
    for i in range(n_a):
        s = C[i, n_p]
        for c in range(n_p):
            s += C[i, c] * step_p[c]
        step_a[i] = s
    for r in range(n):
        for i in range(n_a):
            step_a[i] += rows_a[r, i] * root[i] * pull[r]
    for i in range(n_a):
        step_a[i] *= -root[i]
        gain -= ga[i] * step_a[i]
    for c in range(n_p):
        gain -= gp[c] * step_p[c]
    for r in range(n):
        s = 0.0
        for i in range(n_a):
            s += rows_a[r, i] * step_a[i]
        for c in range(n_p):
            s += rows_p[r, c] * step_p[c]
        gain -= e[r] * s
    return 0.5 * gain


@kernel
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


@kernel
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
