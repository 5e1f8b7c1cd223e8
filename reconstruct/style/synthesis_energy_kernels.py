"""Kernels of synthesis: the energy of x and q with its derivatives, of all that is asked and of how likely the styles find it.

Unknowns as in `reconstruct.style.synthesis_rows_kernels`. The Hessian in a is a diagonal D of L_IK and one row for each number
that is asked for.
"""

import numpy as np

from config.jit import inlined
from database.rotations import Floats
from reconstruct.style.likelihood_kernels import _likelihood
from reconstruct.style.synthesis_rows_kernels import (
    Asked,
    Body,
    Ints,
    Linear,
    Prior,
    State,
    _frames,
    _handle_terms,
    _orientation_terms,
    _rotation_error,
)


@inlined
def _style_terms(state: State, prior: Prior, lin: Linear, about: Floats) -> float:
    """Add sum_s share_s L_IK_s and what holds the static features that no style models; give their energy."""
    pose, R, _, x = state
    styles, shares, first, held, centre, up = prior
    D, cross, ga, H, gp = lin[0], lin[1], lin[2], lin[3], lin[4]
    n_a, n_x = D.shape[0], x.shape[0]
    s, gs, Hss, Hsx = np.empty(n_a + 3), np.zeros(n_a + 3), np.zeros(n_a + 3), np.zeros((n_a + 3, n_x))
    for j in range(1, pose.shape[0]):
        for i in range(3):
            s[3 * (j - 1) + i] = pose[j, i]
    for i in range(3):
        s[n_a + i] = R[0, i] * up[0] + R[1, i] * up[1] + R[2, i] * up[2]
    energy = 0.0
    for i in range(n_a + 3):
        off = s[i] - centre[i]
        energy += 0.5 * held[i] * off * off
        gs[i] += held[i] * off
        Hss[i] += held[i]
    X, inverse, coefficients, shift, scale, column, parameters = styles
    for k in range(shares.shape[0]):
        a, b = first[k], first[k + 1]
        model = (X[k], inverse[k], coefficients[k], shift[k], scale[k], column[k], parameters[k])
        by_x = (gp[6 + a : 6 + b], H[6 + a : 6 + b, 6 + a : 6 + b], lin[8][6 + a : 6 + b])
        by_s = (gs, Hss, Hsx[:, a:b])
        about[k, 1] = _likelihood(x[a:b], s, model, shares[k], by_x, by_s, about[k])
        energy += about[k, 1]
    for i in range(n_a):
        D[i] += Hss[i]
        ga[i] += gs[i]
        for q in range(n_x):
            cross[i, 6 + q] += Hsx[i, q]
    _vertical(R, up, gs[n_a:], Hss[n_a:], Hsx[n_a:], H, gp)
    return energy


@inlined
def _vertical(R: Floats, up: Floats, gs: Floats, Hss: Floats, Hsx: Floats, H: Floats, gp: Floats) -> None:
    """Bring the derivatives by the vertical features R' up to the root's turn w: d(R' up) = R' [up]x dw."""
    V = np.empty((3, 3))
    for i in range(3):
        V[i, 0] = R[1, i] * up[2] - R[2, i] * up[1]
        V[i, 1] = R[2, i] * up[0] - R[0, i] * up[2]
        V[i, 2] = R[0, i] * up[1] - R[1, i] * up[0]
    for i in range(3):
        for c in range(3):
            gp[c] += gs[i] * V[i, c]
            for d in range(3):
                H[c, d] += Hss[i] * V[i, c] * V[i, d]
            for q in range(Hsx.shape[1]):
                H[c, 6 + q] += Hsx[i, q] * V[i, c]
                H[6 + q, c] += Hsx[i, q] * V[i, c]


@inlined
def _evaluate(state: State, prior: Prior, body: Body, asked: Asked, lin: Linear, about: Floats, rows: Ints) -> float:
    """Give the energy; write its linearisation to lin, the number of rows to rows, s2 and L_IK of each style to about (S, 2)."""
    pose, R, root_m, _ = state
    handled, turned, rooted, scale2 = asked
    Hpp, gp, e = lin[3], lin[4], np.empty(3)
    for part in (lin[1], Hpp, lin[6]):
        part[:] = 0.0
    for vector in (lin[0], lin[2], gp, lin[8]):
        vector[:] = 0.0
    n_joints = pose.shape[0]
    G, p, H = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, 3))
    _frames(pose, R, root_m, body, G, p, H)
    rows[0] = 0
    energy = _handle_terms((G, p, H), body[0], handled, scale2, lin, rows)
    energy += _orientation_terms((G, p, H), body[0], turned, lin, rows)
    _rotation_error(R, rooted[0], e)
    for i in range(3):
        d = root_m[i] - rooted[1][i]
        energy += 0.5 * rooted[2] * e[i] * e[i] + 0.5 * rooted[3] * d * d
        gp[i] += rooted[2] * e[i]
        gp[3 + i] += rooted[3] * d
        Hpp[i, i] += rooted[2]
        Hpp[3 + i, 3 + i] += rooted[3]
    energy += _style_terms(state, prior, lin, about)
    for i in range(6):
        lin[8][i] = Hpp[i, i]
    return energy
