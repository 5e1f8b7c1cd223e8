"""The kernel of the energy of x and q: all constraints and the likelihood in the styles, with derivatives.

The Hessian in a is a diagonal, of L_IK, and one row for each residual.
"""

import numpy as np

from config.arrays import Floats, Ints
from config.jit import inline_kernel
from reconstruct.models.style.synthesis.arrays import (
    JointTree,
    LatentDerivatives,
    LikelihoodModel,
    Linearisation,
    RootTarget,
    StaticDerivatives,
    SynthesisPrior,
    SynthesisState,
    Targets,
)
from reconstruct.models.style.synthesis.likelihood import ENERGY, add_likelihood
from reconstruct.models.style.synthesis.rows import (
    add_handle_terms,
    add_orientation_terms,
    allocate_joint_frames,
    compute_joint_frames,
    compute_rotation_error,
)


@inline_kernel
def evaluate_synthesis_energy(
    state: SynthesisState,
    prior: SynthesisPrior,
    tree: JointTree,
    targets: Targets,
    lin: Linearisation,
    summary: Floats,
    rows: Ints,
) -> float:
    """Return the energy; write its linearisation.

    Also writes the number of rows to rows (1,), and s2 and share L_IK of each style to summary (S, 2).

    Args:
        state: angles, root and latent positions.
        prior: the styles' likelihood and the limits.
        tree: the skeleton's joints.
        targets: the constraints.
        lin: rows of residuals and derivatives; added to.
        summary: s2 and value of each style; written.
        rows: number of rows; written.
    """
    for part in (lin.hessian_ap, lin.hessian_p, lin.rows_p):
        part[:] = 0.0
    for vector in (lin.hessian_a, lin.gradient_a, lin.gradient_p, lin.scale_p):
        vector[:] = 0.0
    frames = allocate_joint_frames(state.rotvec.shape[0])
    compute_joint_frames(state, tree, frames)
    rows[0] = 0
    energy = add_handle_terms(frames, tree.parents, targets.handles, targets.robust2, lin, rows)
    energy += add_orientation_terms(frames, tree.parents, targets.orientations, lin, rows)
    energy += _add_root_terms(state, targets.root, lin)
    energy += _add_style_terms(state, prior, lin, summary)
    for i in range(6):
        lin.scale_p[i] = lin.hessian_p[i, i]
    return energy


@inline_kernel
def _add_root_terms(state: SynthesisState, root: RootTarget, lin: Linearisation) -> float:
    """Add the root's prior; return its energy."""
    e, energy = np.empty(3), 0.0
    compute_rotation_error(state.rotation, root.rotation, e)
    for i in range(3):
        d = state.root_m[i] - root.position_m[i]
        energy += 0.5 * root.rotation_precision * e[i] * e[i] + 0.5 * root.position_precision * d * d
        lin.gradient_p[i] += root.rotation_precision * e[i]
        lin.gradient_p[3 + i] += root.position_precision * d
        lin.hessian_p[i, i] += root.rotation_precision
        lin.hessian_p[3 + i, 3 + i] += root.position_precision
    return energy


@inline_kernel
def _add_style_terms(state: SynthesisState, prior: SynthesisPrior, lin: Linearisation, summary: Floats) -> float:
    """Add sum_s share_s L_IK_s and the static features that are drawn to a value; return their energy."""
    R, x, up = state.rotation, state.latent, prior.up
    n_a, n_x = lin.hessian_a.shape[0], x.shape[0]
    s, gs, Hss, Hsx = np.empty(n_a + 3), np.zeros(n_a + 3), np.zeros(n_a + 3), np.zeros((n_a + 3, n_x))
    for j in range(1, state.rotvec.shape[0]):
        for i in range(3):
            s[3 * (j - 1) + i] = state.rotvec[j, i]
    for i in range(3):
        s[n_a + i] = R[0, i] * up[0] + R[1, i] * up[1] + R[2, i] * up[2]
    energy = 0.0
    for i in range(n_a + 3):
        d = s[i] - prior.centre[i]
        energy += 0.5 * prior.weight[i] * d * d
        gs[i] += prior.weight[i] * d
        Hss[i] += prior.weight[i]
    m = prior.styles
    for k in range(prior.shares.shape[0]):
        a, b = prior.first[k], prior.first[k + 1]
        model = LikelihoodModel(
            m.latent[k], m.inverse[k], m.coefficients[k], m.shift[k], m.scale[k], m.column[k], m.parameters[k]
        )
        by_x = LatentDerivatives(
            lin.gradient_p[6 + a : 6 + b], lin.hessian_p[6 + a : 6 + b, 6 + a : 6 + b], lin.scale_p[6 + a : 6 + b]
        )
        by_s = StaticDerivatives(gs, Hss, Hsx[:, a:b])
        add_likelihood(x[a:b], s, model, prior.shares[k], by_x, by_s, summary[k])
        energy += summary[k, ENERGY]
    for i in range(n_a):
        lin.hessian_a[i] += Hss[i]
        lin.gradient_a[i] += gs[i]
        for q in range(n_x):
            lin.hessian_ap[i, 6 + q] += Hsx[i, q]
    _add_vertical_derivatives(R, up, StaticDerivatives(gs[n_a:], Hss[n_a:], Hsx[n_a:]), lin)
    return energy


@inline_kernel
def _add_vertical_derivatives(R: Floats, up: Floats, by_s: StaticDerivatives, lin: Linearisation) -> None:
    """Add the derivatives by the root's rotation w through those by the vertical features R' up: d(R' up) = R' [up]x dw."""
    gs, Hss, Hsx, H = by_s.gradient, by_s.diagonal, by_s.cross, lin.hessian_p
    V = np.empty((3, 3))
    for i in range(3):
        V[i, 0] = R[1, i] * up[2] - R[2, i] * up[1]
        V[i, 1] = R[2, i] * up[0] - R[0, i] * up[2]
        V[i, 2] = R[0, i] * up[1] - R[1, i] * up[0]
    for i in range(3):
        for c in range(3):
            lin.gradient_p[c] += gs[i] * V[i, c]
            for d in range(3):
                H[c, d] += Hss[i] * V[i, c] * V[i, d]
            for q in range(Hsx.shape[1]):
                H[c, 6 + q] += Hsx[i, q] * V[i, c]
                H[6 + q, c] += Hsx[i, q] * V[i, c]
