"""The mean of many sparse codes of a pose (Elad & Yavneh 2009).

    minimise |W (x - a D)|^2 + ridge |a|^2  subject to  |a|_0 <= T,  for rows x (D,) and atoms D (K, D)

A pose that is corrupted or known in part has many sparse codes that explain it nearly as well. The mean over codes drawn by the
pursuit of `coding`, each atom with probability ~ exp(decrease of the error / 2 sigma^2), is nearer to the pose than the
best code. The last atom of a code is not drawn: the mean over all that it could be is taken, which for codes of one atom is
exact. Only those atoms are considered that alone explain the known entries best. The ridge is as one more entry for every atom,
which no other has and which is zero in every pose.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints, Singles, make_read_only
from config.jit import inline_kernel, kernel
from reconstruct.models.sparse.coding import PursuitArrays, allocate_pursuit_work, solve_triangle, take_atom

LEAST_NORM2 = 1e-7  # as in `coding`, but in double precision: poses an instant apart are different atoms
GREEDY = 1e12  # precision with which the best atom is always drawn
CHUNK = 128  # poses whose products with all atoms are held at once
MAX_GUMBEL = 22.0  # noise of a draw that is larger occurs once in 10^9
LEAST_SHARE = 16.0  # -ln of the probability of an atom, relative to the likeliest, below which it does not count


class Averaging(NamedTuple):
    """How many codes of a pose are drawn and averaged, and of which atoms.

    Attributes:
        n_nonzero: atoms of a code.
        n_codes: codes that are averaged.
        n_near: atoms that are considered for a pose.
        precision: 1 / sigma^2 of known entries of weight 1.
        ridge: sigma^2 over the variance of a coefficient.
        seed: seed of the random numbers.
    """

    n_nonzero: int
    n_codes: int
    n_near: int
    precision: float
    ridge: float
    seed: int


class AtomParts(NamedTuple):
    """Atoms, whole (K, D), and their known entries weighted (K, S)."""

    whole: Singles
    seen: Singles


class AveragingWork(NamedTuple):
    """Working memory for one pose.

    Attributes:
        pursuit: memory of the pursuit.
        norm2: squared norms of the atoms, (M,).
        gram: inner products of the atoms, (M, M).
        known: rows of `gram` that are known, (M,).
        mean: mean code, (M,).
        chosen: atoms of a code, (T,).
        coefficient: coefficients of these atoms, (T,).
    """

    pursuit: PursuitArrays
    norm2: Floats
    gram: Floats
    known: Ints
    mean: Floats
    chosen: Ints
    coefficient: Floats


def average_poses(atoms: ArrayLike, poses: ArrayLike, how: Averaging, weight: ArrayLike | None = None) -> Floats:
    """Return the means of poses over their sparse codes, (N, D).

    Poses with known entries that are not finite become zero.

    Args:
        atoms: atoms, (K, D), of any norm.
        poses: poses, (N, D).
        how: atoms, noise and number of means.
        weight: weight of every entry, (D,) or (N, D), 0 where it is not known.
    """
    A, X = np.asarray(atoms, np.float32), np.asarray(poses, np.float32)
    W = np.ones((1, A.shape[1]), np.float32) if weight is None else np.atleast_2d(np.asarray(weight, np.float32))
    patterns, which = np.unique(W, axis=0, return_inverse=True)
    out = np.zeros(X.shape)
    for number, pattern in enumerate(patterns):
        rows = np.arange(len(X)) if len(W) == 1 else np.flatnonzero(which.ravel() == number)
        _average_alike(A, X, pattern, rows, out, how._replace(n_near=min(how.n_near or len(A), len(A))))
    return out


def _average_alike(atoms: Singles, poses: Singles, weight: Singles, rows: Ints, out: Floats, how: Averaging) -> None:
    """Write the means of poses of which the same entries are known."""
    at = np.flatnonzero(weight > 0.0)
    seen = atoms[:, at] * weight[at]
    norm2 = np.einsum("kd,kd->k", seen, seen) + np.float32(how.ridge)
    parts, work = (
        AtomParts(make_read_only(atoms), make_read_only(seen)),
        _allocate_work(how.n_near, min(how.n_nonzero, how.n_near)),
    )
    for first in range(0, len(rows), CHUNK):
        some = rows[first : first + CHUNK]
        given = poses[np.ix_(some, at)] * weight[at]
        given[~np.isfinite(given).all(axis=1)] = 0.0
        near, means = _find_nearest_atoms(given @ seen.T, norm2, how.n_near), np.empty((len(some), atoms.shape[1]))
        _average_codes(make_read_only(given), near, parts, means, work, how)
        out[some] = means


def _find_nearest_atoms(product: Singles, norm2: Singles, n_near: int) -> Ints:
    """Return the atoms that alone leave the least error of each pose, (N, M). product: (N, K); norm2: (K,)."""
    if n_near == len(norm2):
        return make_read_only(np.tile(np.arange(n_near), (len(product), 1)))
    gain = product**2 / np.maximum(norm2, np.float32(1e-12))
    return make_read_only(np.sort(np.argpartition(gain, -n_near, axis=1)[:, -n_near:], axis=1))


def _allocate_work(n_near: int, n_nonzero: int) -> AveragingWork:
    """Return memory for one pose."""
    f = np.float64
    square, codes = np.empty((n_near, n_near), f), (np.empty(n_nonzero, np.int64), np.empty(n_nonzero, f))
    return AveragingWork(
        allocate_pursuit_work(n_near, n_nonzero, np.float64),
        np.empty(n_near, f),
        square,
        np.empty(n_near, np.int64),
        np.empty(n_near),
        *codes,
    )


@inline_kernel
def _draw_random(state: int) -> int:
    """Return the next state of a generator (xorshift, Marsaglia 2003), 1 to 2^32 - 1."""
    state = (state ^ (state << 13)) & 0xFFFFFFFF
    state = state ^ (state >> 17)
    return (state ^ (state << 5)) & 0xFFFFFFFF


@inline_kernel
def _find_greatest_decrease(work: PursuitArrays, norm2: Floats) -> float:
    """Return the most by which an atom lowers the error, 0 if none does; norm2: squared norms of whole atoms, (M,)."""
    top = 0.0
    for k in range(norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            top = max(top, work.product[k] * work.product[k] / work.norm2[k])
    return top


@inline_kernel
def _draw_atom(work: PursuitArrays, norm2: Floats, top: float, precision: float, state: int) -> tuple[int, int]:
    """Return an atom drawn by how much it lowers the error, at most `top`, and the generator's new state.

    The largest of the decreases by precision / 2, each with Gumbel noise; noise that cannot win is not computed.
    """
    best, most = -1, -1e30
    for k in range(norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            value = 0.5 * precision * (work.product[k] * work.product[k] / work.norm2[k] - top)
            if value > -MAX_GUMBEL:
                state = _draw_random(state)
                value -= math.log(-math.log((state + 0.5) / 4294967296.0))
                if value > most:
                    best, most = k, value
    return best, state


@inline_kernel
def _add_expected_atom(work: PursuitArrays, norm2: Floats, top: float, precision: float, used: int, mean: Floats) -> None:
    """Add the mean over the last atom to a code; the products of the atoms before change by what their span takes of it."""
    total = 0.0
    for k in range(norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            value = 0.5 * precision * (work.product[k] * work.product[k] / work.norm2[k] - top)
            if value > -LEAST_SHARE:
                total += math.exp(value)
    for k in range(norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            value = 0.5 * precision * (work.product[k] * work.product[k] / work.norm2[k] - top)
            if value > -LEAST_SHARE:
                coefficient = math.exp(value) / total * work.product[k] / work.norm2[k]
                mean[k] += coefficient
                for i in range(used):
                    work.along[i] -= coefficient * work.basis[i, k]


@inline_kernel
def _compute_inner_product(a: Singles, b: Singles) -> float:
    """Return the inner product of (S,) and (S,) in double precision."""
    s = 0.0
    for d in range(a.shape[0]):
        s += float(a[d]) * float(b[d])
    return s


@kernel
def _average_codes(given: Singles, near: Ints, parts: AtomParts, out: Floats, work: AveragingWork, how: Averaging) -> None:
    """Write the mean of each pose, (N, D). given: known entries weighted, (N, S); near: atoms considered, (N, M)."""
    n_near, n_nonzero, pursuit = near.shape[1], work.chosen.shape[0], work.pursuit
    n_codes, product = how.n_codes if n_nonzero > 1 else 1, np.empty(n_near)
    for n in range(near.shape[0]):
        atom, state = near[n], how.seed * 2654435761 % 4294967291 + 1  # the same draws for every pose: alike ones stay alike
        work.known[:], work.mean[:], out[n] = 0, 0.0, 0.0
        for k in range(n_near):
            work.norm2[k] = _compute_inner_product(parts.seen[atom[k]], parts.seen[atom[k]]) + how.ridge
            product[k] = _compute_inner_product(given[n], parts.seen[atom[k]])
        for _ in range(n_codes):
            pursuit.product[:], pursuit.norm2[:] = product, work.norm2
            used, top = 0, _find_greatest_decrease(pursuit, work.norm2)
            while used < n_nonzero - 1 and top > 0.0:
                best, state = _draw_atom(pursuit, work.norm2, top, how.precision, state)
                if work.known[best] == 0:
                    for k in range(n_near):
                        work.gram[best, k] = _compute_inner_product(parts.seen[atom[k]], parts.seen[atom[best]])
                    work.gram[best, best], work.known[best] = work.norm2[best], 1
                take_atom(best, used, work.gram[best], pursuit)
                work.chosen[used] = best
                used += 1
                top = _find_greatest_decrease(pursuit, work.norm2)
            if top > 0.0:
                _add_expected_atom(pursuit, work.norm2, top, how.precision, used, work.mean)
            solve_triangle(used, pursuit, work.coefficient)
            for i in range(used):
                work.mean[work.chosen[i]] += work.coefficient[i]
        for k in range(n_near):
            share = work.mean[k] / n_codes
            if share != 0.0:
                for d in range(out.shape[1]):
                    out[n, d] += share * parts.whole[atom[k], d]
