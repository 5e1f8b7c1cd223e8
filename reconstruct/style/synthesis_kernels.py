"""Kernels of synthesis: the energy of x and q with derivatives, and Levenberg-Marquardt on it.

Unknowns: a, the coordinates of the joints (A = 3 (J - 1)); p, the root's turn about the point it starts from, its place, and x
of all styles. The Hessian in a is a diagonal D of L_IK and one row for each number that is asked for; `_step` uses that.
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.kinematics import _product, _rodrigues
from database.rotations import Floats
from reconstruct.style.likelihood_kernels import Model, _likelihood

LONGEST_RAD = 1.0  # of one step
FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e9
NEAREST_M = 0.05  # of a point before a camera; nearer or behind, it is pulled to the front

Ints = NDArray[np.int64]
Body = tuple[Ints, Floats, Floats]
Views = tuple[Floats, Floats, Floats]
# All styles' models behind each other: X, K^-1, K^-1 Y W, w and parameters of each; W b; s of each feature; and by style, (S, 5),
# M, Q, K, where its numbers begin and where its features do. So one compiled kernel serves any number of styles.
Styles = tuple[Floats, Floats, Ints, Ints]
# Styles, shares (S,), start of each style's x and their end (S + 1,); weights and centres of static features that are held,
# (A + 3,) each; the world's up (3,).
Prior = tuple[Styles, Floats, Ints, Floats, Floats, Floats]
Handled = tuple[Ints, Floats, Floats, Floats, Floats, Floats, Views]  # joint, offset, then Observations.arrays()
Turned = tuple[Ints, Floats, Floats]  # joint, rotation, sigma
Rooted = tuple[Floats, Floats, float, float]  # rotation, place, 1 / sigma^2 of both
Asked = tuple[Handled, Turned, Rooted, float]  # and the square of robust_sigmas
State = tuple[Floats, Floats, Floats, Floats]  # pose (J, 3), its row 0 unused; R (3, 3), root (3,), x
# D (A,), H_ap (A, P), g_a (A,), H_pp (P, P), g_p (P,) without the rows; rows by a (R, A), by p (R, P), and their values (R,);
# the scale of steps of p (P,).
Linear = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]


@kernel
def _rotation_error(R: Floats, target: Floats, e: Floats) -> None:
    """Write the rotation vector of R target', in the world, to e (3,)."""
    T = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            T[i, j] = R[i, 0] * target[j, 0] + R[i, 1] * target[j, 1] + R[i, 2] * target[j, 2]
    x, y, z = T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]
    sine2, cosine2 = math.sqrt(x * x + y * y + z * z), T[0, 0] + T[1, 1] + T[2, 2] - 1.0
    angle = math.atan2(sine2, cosine2)
    if sine2 > 1e-6:
        scale = angle / sine2
        e[0], e[1], e[2] = scale * x, scale * y, scale * z
    elif cosine2 > 0.0:
        e[0], e[1], e[2] = 0.5 * x, 0.5 * y, 0.5 * z
    else:  # half a turn: its axis is the column of T + I that is longest
        best = 0
        for j in range(3):
            if T[j, j] > T[best, best]:
                best = j
        norm = 0.0
        for i in range(3):
            e[i] = T[i, best] + (1.0 if i == best else 0.0)
            norm += e[i] * e[i]
        for i in range(3):
            e[i] *= angle / math.sqrt(max(norm, 1e-12))


@kernel
def _frames(pose: Floats, R: Floats, root_m: Floats, body: Body, G: Floats, p: Floats, H: Floats) -> None:
    """Write joints' orientations G, places p, and angular velocities by their coordinates, H = G_parent reference J_l(r)."""
    parents, offsets_m, reference = body
    turn, left, L = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        p[0, i] = root_m[i]
        for k in range(3):
            G[0, i, k] = R[i, k]
    for j in range(1, pose.shape[0]):
        parent = parents[j]
        _rodrigues(pose[j], turn, left)
        _product(G[parent], reference[j], L)
        _product(L, turn, G[j])
        _product(L, left, H[j])
        for i in range(3):
            p[j, i] = p[parent, i]
            for k in range(3):
                p[j, i] += G[parent, i, k] * offsets_m[j, k]


@kernel
def _point_rows(x: Floats, joint: int, frame: tuple[Floats, Floats, Floats], parents: Ints, full: Floats) -> None:
    """Write a world point's derivatives by a and the root's six to full (3, A + 6); the point moves with joint."""
    p, H = frame[1], frame[2]
    n_a = 3 * (parents.shape[0] - 1)
    full[:] = 0.0
    j = joint
    while parents[j] >= 0:
        a0, a1, a2 = x[0] - p[j, 0], x[1] - p[j, 1], x[2] - p[j, 2]
        first = 3 * (j - 1)
        for c in range(3):
            w0, w1, w2 = H[j, 0, c], H[j, 1, c], H[j, 2, c]
            full[0, first + c] = w1 * a2 - w2 * a1
            full[1, first + c] = w2 * a0 - w0 * a2
            full[2, first + c] = w0 * a1 - w1 * a0
        j = parents[j]
    a0, a1, a2 = x[0] - p[0, 0], x[1] - p[0, 1], x[2] - p[0, 2]
    full[0, n_a + 1], full[0, n_a + 2] = a2, -a1
    full[1, n_a], full[1, n_a + 2] = -a2, a0
    full[2, n_a], full[2, n_a + 1] = a1, -a0
    for i in range(3):
        full[i, n_a + 3 + i] = 1.0


@kernel
def _image_error(x: Floats, camera: int, views: Views, ideal: Floats, e: Floats, D: Floats) -> None:
    """Write pi(x) - u [px of an ideal camera] to e and its derivative to D; third: how far it is behind NEAREST_M, in pixels."""
    rotation, translation, focal = views
    c = np.empty(3)
    for i in range(3):
        c[i] = translation[camera, i]
        for k in range(3):
            c[i] += rotation[camera, i, k] * x[k]
    before = c[2] > NEAREST_M
    f, iz = focal[camera], 1.0 / (c[2] if before else NEAREST_M)
    u, v = c[0] * iz, c[1] * iz
    e[0], e[1], e[2] = f * (u - ideal[0]), f * (v - ideal[1]), 0.0 if before else f * (1.0 - c[2] * iz)
    for i in range(3):
        forward = rotation[camera, 2, i] if before else 0.0
        D[0, i] = f * iz * (rotation[camera, 0, i] - u * forward)
        D[1, i] = f * iz * (rotation[camera, 1, i] - v * forward)
        D[2, i] = 0.0 if before else -f * iz * rotation[camera, 2, i]


@kernel
def _add_rows(row: int, scale: float, D: Floats, e: Floats, full: Floats, lin: Linear) -> int:
    """Append rows scale D full with values scale e; give the row after the last one."""
    by_a, by_p, value = lin[5], lin[6], lin[7]
    n_a = by_a.shape[1]
    for i in range(3):
        if D[i, 0] == 0.0 and D[i, 1] == 0.0 and D[i, 2] == 0.0:
            continue
        d0, d1, d2 = scale * D[i, 0], scale * D[i, 1], scale * D[i, 2]
        for b in range(n_a):
            by_a[row, b] = d0 * full[0, b] + d1 * full[1, b] + d2 * full[2, b]
        for b in range(6):
            by_p[row, b] = d0 * full[0, n_a + b] + d1 * full[1, n_a + b] + d2 * full[2, n_a + b]
        value[row] = scale * e[i]
        row += 1
    return row


@kernel
def _handle_terms(
    frame: tuple[Floats, Floats, Floats], parents: Ints, handled: Handled, scale2: float, lin: Linear, rows: Ints
) -> float:
    """Append the rows of the handles; give their energy, sum rho(|e|^2) with pseudo-Huber's rho."""
    joint, offset_m, point, root_info, ideal, weight_px, views = handled
    G, p, _ = frame
    x, e, D, full = np.empty(3), np.empty(3), np.empty((3, 3)), np.empty((3, 3 * (parents.shape[0] - 1) + 6))
    energy = 0.0
    for m in range(joint.shape[0]):
        has3 = root_info[m, 0, 0] > 0.0
        if not (has3 or weight_px[0, m] > 0.0 or weight_px[1, m] > 0.0):
            continue
        j = joint[m]
        for i in range(3):
            x[i] = p[j, i] + G[j, i, 0] * offset_m[m, 0] + G[j, i, 1] * offset_m[m, 1] + G[j, i, 2] * offset_m[m, 2]
        _point_rows(x, j, frame, parents, full)
        for camera in range(1 if has3 else 2):
            weight = 1.0 if has3 else weight_px[camera, m]
            if not weight > 0.0:
                continue
            if has3:
                for i in range(3):
                    e[i] = 0.0
                    for k in range(3):
                        D[i, k] = root_info[m, i, k]
                        e[i] += root_info[m, i, k] * (x[k] - point[m, k])
            else:
                _image_error(x, camera, views, ideal[camera, m], e, D)
            s = weight * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
            root = math.sqrt(1.0 + s / scale2)
            energy += s / (1.0 + root)
            rows[0] = _add_rows(rows[0], math.sqrt(weight / root), D, e, full, lin)
    return energy


@kernel
def _orientation_terms(frame: tuple[Floats, Floats, Floats], parents: Ints, turned: Turned, lin: Linear, rows: Ints) -> float:
    """Append the rows of the orientations; give their energy, half of squared angles over sigma."""
    joint, rotation, sigma = turned
    G, _, H = frame
    n_a = 3 * (parents.shape[0] - 1)
    e, full, unit = np.empty(3), np.empty((3, n_a + 6)), np.zeros((3, 3))
    unit[0, 0] = unit[1, 1] = unit[2, 2] = 1.0
    energy = 0.0
    for o in range(joint.shape[0]):
        if not (sigma[o] > 0.0 and sigma[o] < np.inf):
            continue
        full[:] = 0.0
        j = joint[o]
        _rotation_error(G[j], rotation[o], e)
        while parents[j] >= 0:
            for i in range(3):
                for c in range(3):
                    full[i, 3 * (j - 1) + c] = H[j, i, c]
            j = parents[j]
        for i in range(3):
            full[i, n_a + i] = 1.0
            energy += 0.5 * (e[i] / sigma[o]) ** 2
        rows[0] = _add_rows(rows[0], 1.0 / sigma[o], unit, e, full, lin)
    return energy


@kernel
def _model(styles: Styles, style: int) -> Model:
    """Give one style's model, views of what is packed."""
    data, shift, column, table = styles
    n, n_latent, n_features, at, first = table[style, 0], table[style, 1], table[style, 2], table[style, 3], table[style, 4]
    inverse = at + n * n_latent
    coefficients = inverse + n * n
    scale = coefficients + n * n_features
    end, last = scale + n_features, first + n_features
    return (
        data[at:inverse].reshape(n, n_latent),
        data[inverse:coefficients].reshape(n, n),
        data[coefficients:scale].reshape(n, n_features),
        shift[first:last],
        data[scale:end],
        column[first:last],
        data[end : end + 3],
    )


@kernel
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
    for k in range(shares.shape[0]):
        a, b = first[k], first[k + 1]
        by_x = (gp[6 + a : 6 + b], H[6 + a : 6 + b, 6 + a : 6 + b], lin[8][6 + a : 6 + b])
        by_s = (gs, Hss, Hsx[:, a:b])
        about[k, 1] = _likelihood(x[a:b], s, _model(styles, k), shares[k], by_x, by_s, about[k])
        energy += about[k, 1]
    for i in range(n_a):
        D[i] += Hss[i]
        ga[i] += gs[i]
        for q in range(n_x):
            cross[i, 6 + q] += Hsx[i, q]
    _vertical(R, up, gs[n_a:], Hss[n_a:], Hsx[n_a:], H, gp)
    return energy


@kernel
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


@kernel
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
def _step(lin: Linear, n: int, damping: float, step_a: Floats, step_p: Floats) -> float:
    """Write the damped step of n rows; give by how much the energy should sink at least, negative where there is no such step.

    With rows J = (Ja, Jp), residuals e and l = e + J step:  D step_a = -(ga + C step_p + Ja' l), which leaves
    S = I + Ja D^-1 Ja', E = Jp - Ja D^-1 C:  (H - C' D^-1 C + E' S^-1 E) step_p = C' D^-1 ga - gp - E' S^-1 (e - Ja D^-1 ga).
    """
    D, cross, ga, H, gp, rows_a, rows_p, e, scale = lin
    n_a, n_p = cross.shape
    J, C, root = np.empty((n, n_a)), np.empty((n_a, n_p + 1)), np.empty(n_a)
    for i in range(n_a):
        d = D[i]
        for r in range(n):
            d += rows_a[r, i] * rows_a[r, i]
        root[i] = 1.0 / math.sqrt(D[i] + damping * d + 1e-9)
        for c in range(n_p):
            C[i, c] = root[i] * cross[i, c]
        C[i, n_p] = root[i] * ga[i]
    S, E = np.empty((n, n)), np.empty((n, n_p + 1))
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
    if not _cholesky(S, n):
        return -1.0
    _forward_solve(S, E, n)
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
        return -1.0
    for i in range(n_p):
        for k in range(i):
            step_p[i] -= A[i, k] * step_p[k]
        step_p[i] /= A[i, i]
    _back_solve(A, step_p, n_p)
    pull = np.empty(n)
    for r in range(n):
        pull[r] = E[r, n_p]
        for c in range(n_p):
            pull[r] += E[r, c] * step_p[c]
    _back_solve(S, pull, n)
    return _finish_step(lin, n, root, C, pull, step_a, step_p)


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
def _most_rows(handled: Handled, turned: Turned) -> int:
    """Give how many rows there can be."""
    n_handles, n_turned = handled[0].shape[0], turned[0].shape[0]
    return int(6 * n_handles + 3 * n_turned + 1)


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


@kernel
def _linear(n_rows: int, n_a: int, n_p: int) -> Linear:
    """Make room for a linearisation."""
    by_a, by_p = np.empty((n_rows, n_a)), np.empty((n_rows, n_p))
    D, cross, ga, H, gp = np.empty(n_a), np.empty((n_a, n_p)), np.empty(n_a), np.empty((n_p, n_p)), np.empty(n_p)
    return D, cross, ga, H, gp, by_a, by_p, np.empty(n_rows), np.empty(n_p)


@kernel
def _handle_jacobian(state: State, body: Body, joint: Ints, offset_m: Floats, points: Floats, jacobian: Floats) -> None:
    """Write the places of handles, (N, 3), and their derivatives by a and the root's six, (N, 3, A + 6)."""
    pose, R, root_m, _ = state
    n_joints = pose.shape[0]
    G, p, H = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, 3))
    _frames(pose, R, root_m, body, G, p, H)
    for m in range(joint.shape[0]):
        j = joint[m]
        for i in range(3):
            points[m, i] = p[j, i]
            for k in range(3):
                points[m, i] += G[j, i, k] * offset_m[m, k]
        _point_rows(points[m], j, (G, p, H), body[0], jacobian[m])
