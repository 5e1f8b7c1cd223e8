"""Kernels of synthesis: Levenberg-Marquardt on the energy of x and q, with steps that use the form of the Hessian."""

import math

import numpy as np

from config.arrays import Floats
from config.jit import inline_kernel, kernel
from database.geometry.kinematics import _multiply_matrices, _write_rotation_and_jacobian
from reconstruct.models.style.synthesis.arrays import (
    JointTree,
    Linearisation,
    SynthesisMinimum,
    SynthesisPrior,
    SynthesisState,
    Targets,
)
from reconstruct.models.style.synthesis.energy import evaluate_synthesis_energy
from reconstruct.models.style.synthesis.likelihood import compute_gram
from reconstruct.models.style.synthesis.rows import allocate_linearisation, count_max_rows

MAX_STEP_RAD = 1.0  # of any angle
FIRST_DAMPING, MAX_DAMPING = 1e-3, 1e9


@inline_kernel
def _scale_system(lin: Linearisation, n: int, damping: float, root: Floats, B: Floats, K: Floats) -> None:
    """Write 1 / sqrt of damped D to root (A,), (Ja, C', ga') times it to B (n + P + 1, A), and K of `_step`."""
    D, cross, H, rows_a, rows_p = lin.hessian_a, lin.hessian_ap, lin.hessian_p, lin.rows_a, lin.rows_p
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
        B[last, i] = lin.gradient_a[i] * root[i]
    compute_gram(B, B, K)
    for r in range(n):
        K[r, r] += 1.0
        K[last, r] -= lin.residual[r]
        for c in range(n_p):
            K[n + c, r] -= rows_p[r, c]
    for c in range(n_p):
        d = lin.scale_p[c]
        for r in range(n):
            d += rows_p[r, c] * rows_p[r, c]
        for b in range(c + 1):
            K[n + c, n + b] -= H[c, b]
        K[n + c, n + c] -= damping * d + 1e-6
        K[last, n + c] -= lin.gradient_p[c]


@inline_kernel
def _solve_symmetric(K: Floats, n: int, z: Floats) -> bool:
    """Solve K z = b for symmetric K, of which the lower triangle is given and overwritten; b is the row after it.

    K = M S M' with M lower triangular and S diagonal, n times 1 and then -1. Return whether K has this form.
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


@inline_kernel
def compute_damped_step(lin: Linearisation, n: int, damping: float, step_a: Floats, step_p: Floats) -> float:
    """Write the damped step with n rows; return the gain it predicts, negative where there is no such step.

    With rows J = (Ja, Jp), residuals e and l = e + J step: D step_a = -(ga + C step_p + Ja' l), which leaves (I + Ja D^-1 Ja') l
    + (Ja D^-1 C - Jp) step_p = e - Ja D^-1 ga, (C' D^-1 Ja - Jp') l + (C' D^-1 C - H) step_p = gp - C' D^-1 ga. The matrix of
    both is K, and K's last row the right-hand side, with the other sign.

    Args:
        lin: rows of residuals and derivatives; added to.
        n: number of rows.
        damping: added to the diagonal.
        step_a: step of the angles; written.
        step_p: step of root and latent positions; written.
    """
    n_a, n_p = step_a.shape[0], step_p.shape[0]
    last = n + n_p
    root, B, K, z = np.empty(n_a), np.empty((last + 1, n_a)), np.empty((last + 1, last + 1)), np.empty(last + 1)
    _scale_system(lin, n, damping, root, B, K)
    if not _solve_symmetric(K, n, z):
        return -1.0
    z[last] = -1.0
    ga, gp, e = lin.gradient_a, lin.gradient_p, lin.residual
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


@inline_kernel
def apply_synthesis_step(state: SynthesisState, step_a: Floats, step_p: Floats, trial: SynthesisState) -> None:
    """Write the state after a step, shortened so that no angle changes by more than MAX_STEP_RAD.

    Args:
        state: state before the step.
        step_a: step of the angles.
        step_p: step of root and latent positions.
        trial: the state after it; written.
    """
    longest = 0.0
    for i in range(step_a.shape[0]):
        longest = max(longest, abs(step_a[i]))
    for i in range(3):
        longest = max(longest, abs(step_p[i]))
    share = min(1.0, MAX_STEP_RAD / max(longest, 1e-12))
    w, rotation, left = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        w[i] = share * step_p[i]
        trial.root_m[i] = state.root_m[i] + share * step_p[3 + i]
    _write_rotation_and_jacobian(w, rotation, left)
    _multiply_matrices(rotation, state.rotation, trial.rotation)
    for i in range(3):
        trial.rotvec[0, i] = state.rotvec[0, i]
    for j in range(1, state.rotvec.shape[0]):
        for i in range(3):
            trial.rotvec[j, i] = state.rotvec[j, i] + share * step_a[3 * (j - 1) + i]
    for q in range(state.latent.shape[0]):
        trial.latent[q] = state.latent[q] + share * step_p[6 + q]


@inline_kernel
def _copy_state(source: SynthesisState, target: SynthesisState) -> None:
    """Copy a state."""
    for j in range(source.rotvec.shape[0]):
        for i in range(3):
            target.rotvec[j, i] = source.rotvec[j, i]
    for i in range(3):
        target.root_m[i] = source.root_m[i]
        for k in range(3):
            target.rotation[i, k] = source.rotation[i, k]
    for q in range(source.latent.shape[0]):
        target.latent[q] = source.latent[q]


@kernel
def minimise_synthesis_energy(
    state: SynthesisState,
    prior: SynthesisPrior,
    tree: JointTree,
    targets: Targets,
    max_steps: int,
    tolerance: float,
    summary: Floats,
) -> SynthesisMinimum:
    """Move the state to a minimum of the energy.

    It has converged when one more step promises a gain below tolerance. Writes s2 and share L_IK of each style to summary (S, 2).

    Args:
        state: angles, root and latent positions; changed.
        prior: the styles' likelihood and the limits.
        tree: the skeleton's joints.
        targets: the constraints.
        max_steps: greatest number of steps.
        tolerance: relative decrease that ends the search.
        summary: s2 and value of each style; written.
    """
    n_a, n_p = 3 * (state.rotvec.shape[0] - 1), 6 + state.latent.shape[0]
    n_rows = count_max_rows(targets.handles, targets.orientations)
    lin, new_lin = allocate_linearisation(n_rows, n_a, n_p), allocate_linearisation(n_rows, n_a, n_p)
    trial = SynthesisState(np.empty_like(state.rotvec), np.empty((3, 3)), np.empty(3), np.empty_like(state.latent))
    step_a, step_p, rows, new_summary = np.zeros(n_a), np.zeros(n_p), np.zeros(1, np.int64), np.empty(summary.shape)
    energy, damping, gain, converged, steps, n = np.inf, FIRST_DAMPING, 0.0, False, 0, 0
    while True:
        apply_synthesis_step(state, step_a, step_p, trial)
        new = evaluate_synthesis_energy(trial, prior, tree, targets, new_lin, new_summary, rows)
        if new <= energy:
            if steps > 0:
                damping *= 0.1 if energy - new > 0.7 * gain else (1.0 if energy - new > 0.2 * gain else 5.0)
            energy, n = new, rows[0]
            lin, new_lin = new_lin, lin
            _copy_state(trial, state)
            for k in range(summary.shape[0]):
                summary[k, 0], summary[k, 1] = new_summary[k, 0], new_summary[k, 1]
        else:
            damping *= 10.0
        gain = -1.0
        while gain < 0.0 and damping < MAX_DAMPING:
            gain = compute_damped_step(lin, n, damping, step_a, step_p)
            if not gain >= 0.0:
                gain = -1.0
                damping *= 10.0
        if 0.0 <= gain < tolerance and damping <= 0.1:
            converged = True
        if converged or steps >= max_steps or damping >= MAX_DAMPING or not energy < np.inf:
            break
        steps += 1
    return SynthesisMinimum(energy, converged)
