"""Sparse coding: order-recursive matching pursuit (Gharavi-Alkhansari & Huang 1998; Lai et al. 2012, section 3.1).

    minimise |W (x - a D)|^2 + ridge |a|^2  subject to  |a|_0 <= T,  for rows x (D,) and atoms D (K, D)

Every step takes the atom that lowers the error most once all coefficients are fitted anew, that is the largest
(d_k' r)^2 / |d_k|^2 with d_k the part of atom k that is orthogonal to the chosen ones. Both are updated from the inner products
of the atoms alone, so that a step costs K T operations whatever the dimension (Rubinstein et al. 2008, batch matching pursuit).
The ridge is as one more entry for every atom, which no other has and which is zero in every pose.

A pose that is corrupted or known in part has many sparse codes that explain it nearly as well. The mean over codes that are
drawn, each atom with probability ~ exp(decrease of the error / 2 sigma^2), is nearer to the pose than the best code is (Elad &
Yavneh 2009).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Ints, Singles, read_only
from config.jit import inlined, kernel

LEAST_NORM2 = 3e-4  # of an atom's orthogonal part, relative to the whole: nearer to the span of those chosen, it adds nothing
CHUNK = 1024  # poses whose products with the atoms are computed at once
FEW = 20  # poses for which the atoms' inner products are not worth computing
MAX_GUMBEL = 22.0  # noise of a draw that is larger occurs once in 10^9


class Codes(NamedTuple):
    """Sparse codes of N poses: atoms (N, T), -1 where fewer are used, their coefficients (N, T), and squared errors (N,)."""

    atom: Ints
    coefficient: Singles
    error2: Singles

    def rows(self, part: slice) -> "Codes":
        """Return the codes of some poses, views of these."""
        return Codes(self.atom[part], self.coefficient[part], self.error2[part])


class PursuitWork(NamedTuple):
    """Work of a pursuit: products with the residual (K,) and squared norms of orthogonal parts (K,); orthonormal parts' products
    with all atoms, (T, K); triangle of the chosen ones, (T, T), and the pose's products with them, (T,)."""

    product: Singles
    norm2: Singles
    basis: Singles
    triangle: Singles
    along: Singles


class Draw(NamedTuple):
    """How codes are drawn: precision 1 / sigma^2 of the known entries, 0 for the best code; seed of the generator."""

    precision: float
    seed: int

    def after(self, n: int) -> "Draw":
        """Return the same for later poses."""
        return Draw(self.precision, self.seed + n)


BEST = Draw(0.0, 0)


def code(
    atoms: ArrayLike,
    poses: ArrayLike,
    n_nonzero: int,
    weight: ArrayLike | None = None,
    ridge: float = 0.0,
    draw: Draw | None = None,
) -> Codes:
    """Return the sparse codes of poses.

    atoms: (K, D), of any norm; poses: (N, D); n_nonzero: T, at most; weight: of every entry, (D,), or (N, D), 0 where it is not
    known; ridge: inverse variance of a coefficient, in the unit of the weighted entries; draw: draw the codes instead of taking
    the best. A pose's error is what is minimised. Poses with known entries that are not finite have no atoms.
    """
    D, X = np.asarray(atoms, np.float32), np.asarray(poses, np.float32)
    T = min(n_nonzero, len(D))
    codes = Codes(np.full((len(X), T), -1, np.int64), np.zeros((len(X), T), np.float32), np.zeros(len(X), np.float32))
    work, draw = _work(len(D), T), draw or BEST
    W = np.ones((1, D.shape[1]), np.float32) if weight is None else np.atleast_2d(np.asarray(weight, np.float32))
    if len(W) == 1:
        seen = W[0] > 0.0
        _code_alike(D[:, seen] * W[0, seen], X[:, seen] * W[0, seen], codes, work, ridge, draw)
        return codes
    for n in range(len(X)):
        seen, own = np.asarray(W[n] > 0.0), codes.rows(slice(n, n + 1))
        _code_alike(D[:, seen] * W[n, seen], X[n : n + 1, seen] * W[n, seen], own, work, ridge, draw.after(n))
    return codes


def decoded(atoms: ArrayLike, codes: Codes) -> Singles:
    """Return the poses of codes, (N, D)."""
    D = np.asarray(atoms, np.float32)
    out = np.zeros((len(codes.atom), D.shape[1]), np.float32)
    for t in range(codes.atom.shape[1]):
        out += np.where(codes.atom[:, t : t + 1] >= 0, codes.coefficient[:, t : t + 1] * D[codes.atom[:, t]], 0.0)
    return out


def _work(n_atoms: int, n_nonzero: int) -> PursuitWork:
    """Return memory of a pursuit."""
    f = np.float32
    shapes = ((n_atoms,), (n_atoms,), (n_nonzero, n_atoms), (n_nonzero, n_nonzero), (n_nonzero,))
    return PursuitWork(*(np.empty(shape, f) for shape in shapes))


def _code_alike(atoms: Singles, poses: Singles, codes: Codes, work: PursuitWork, ridge: float, draw: Draw) -> None:
    """Code poses of which the same entries are known; of few poses, the inner products of the chosen atoms only."""
    atoms = read_only(atoms)
    gram = atoms @ atoms.T if len(poses) > FEW else np.zeros((0, 0), np.float32)
    norm2 = np.einsum("kd,kd->k", atoms, atoms) + np.float32(ridge)
    np.fill_diagonal(gram, norm2[: len(gram)])
    for first in range(0, len(poses), CHUNK):
        part = slice(first, first + CHUNK)
        chunk, own = poses[part], codes.rows(part)
        finite = np.asarray(np.isfinite(chunk).all(axis=1))
        chunk = np.where(finite[:, None], chunk, np.float32(0.0))
        codes.error2[part] = np.einsum("nd,nd->n", chunk, chunk)
        _pursue(read_only(chunk @ atoms.T), atoms, read_only(norm2), read_only(gram), own, work, draw.after(first))


@inlined
def _best(work: PursuitWork, norm2: Singles) -> int:
    """Return the atom that lowers the error most, -1 if none does; norm2: squared norms of whole atoms, (K,)."""
    best, most = -1, np.float32(0.0)
    for k in range(work.norm2.shape[0]):
        gain = work.product[k] * work.product[k]
        if gain > most * work.norm2[k] and work.norm2[k] > np.float32(LEAST_NORM2) * norm2[k]:
            best, most = k, gain / work.norm2[k]
    return best


@inlined
def _random(state: int) -> int:
    """Return the next state of a generator (xorshift, Marsaglia 2003), 1 to 2^32 - 1."""
    state = (state ^ (state << 13)) & 0xFFFFFFFF
    state = state ^ (state >> 17)
    return (state ^ (state << 5)) & 0xFFFFFFFF


@inlined
def _drawn(work: PursuitWork, norm2: Singles, precision: float, state: int) -> tuple[int, int]:
    """Return an atom drawn by how much it lowers the error, -1 if none does, and the generator's new state.

    The largest of the decreases by precision / 2, each with Gumbel noise; noise that cannot win is not computed.
    """
    top = 0.0
    for k in range(work.norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            top = max(top, work.product[k] * work.product[k] / work.norm2[k])
    best, most = -1, -1e30
    for k in range(work.norm2.shape[0]):
        if work.norm2[k] > LEAST_NORM2 * norm2[k]:
            value = 0.5 * precision * (work.product[k] * work.product[k] / work.norm2[k] - top)
            if value > -MAX_GUMBEL:
                state = _random(state)
                value -= math.log(-math.log((state + 0.5) / 4294967296.0))
                if value > most:
                    best, most = k, value
    return best, state


@inlined
def _take(best: int, t: int, row: Singles, work: PursuitWork) -> float:
    """Make atom `best` the t-th chosen; row: its inner products with all atoms, (K,). Return the error's decrease."""
    inverse = np.float32(1.0 / math.sqrt(work.norm2[best]))
    own = work.basis[t]
    own[:] = row
    for i in range(t):
        share, other = work.basis[i, best], work.basis[i]
        work.triangle[t, i] = share
        for k in range(own.shape[0]):
            own[k] -= share * other[k]
    along = work.product[best] * inverse
    work.triangle[t, t], work.along[t] = np.float32(1.0) / inverse, along
    for k in range(own.shape[0]):
        g = own[k] * inverse
        own[k] = g
        work.product[k] -= along * g
        work.norm2[k] -= g * g
    work.norm2[best] = np.float32(0.0)
    return float(along * along)


@inlined
def _solve_triangle(n: int, work: PursuitWork, coefficient: Singles) -> None:
    """Write the coefficients of the n chosen atoms: triangle' a = along."""
    for i in range(n - 1, -1, -1):
        s = work.along[i]
        for j in range(i + 1, n):
            s -= work.triangle[j, i] * coefficient[j]
        coefficient[i] = s / work.triangle[i, i]


@kernel
def _pursue(product: Singles, atoms: Singles, norm2: Singles, gram: Singles, codes: Codes, work: PursuitWork, draw: Draw) -> None:
    """Code poses from products (N, K) and atoms (K, D), norm2 their squared norms with the ridge, (K,), gram (K, K) or no rows.

    codes.error2: squared norms of the poses.
    """
    n_atoms, n_nonzero = atoms.shape[0], codes.atom.shape[1]
    row, state = np.empty(n_atoms, np.float32), draw.seed * 2654435761 % 4294967291 + 1
    for n in range(product.shape[0]):
        work.product[:], work.norm2[:] = product[n], norm2
        error2, used = codes.error2[n], 0
        for t in range(n_nonzero):
            if draw.precision > 0.0:
                best, state = _drawn(work, norm2, draw.precision, state)
            else:
                best = _best(work, norm2)
            if best < 0:
                break
            if gram.shape[0] > 0:
                row[:] = gram[best]
            else:
                for k in range(n_atoms):
                    s = np.float32(0.0)
                    for d in range(atoms.shape[1]):
                        s += atoms[k, d] * atoms[best, d]
                    row[k] = s
                row[best] = norm2[best]
            error2 -= _take(best, t, row, work)
            codes.atom[n, t] = best
            used = t + 1
        _solve_triangle(used, work, codes.coefficient[n])
        codes.error2[n] = max(error2, np.float32(0.0))
