"""Sparse coding: order-recursive matching pursuit (Gharavi-Alkhansari & Huang 1998; Lai et al. 2012, section 3.1).

    minimise |x - a D|^2  subject to  |a|_0 <= T,  for rows x (D,) and atoms D (K, D)

Every step takes the atom that lowers the error most once all coefficients are fitted anew, that is the largest
(d_k' r)^2 / |d_k|^2 with d_k the part of atom k that is orthogonal to the chosen ones. Both are updated from the inner products
of the atoms alone, so that a step costs K T operations whatever the dimension (Rubinstein et al. 2008, batch matching pursuit).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.arrays import Ints, Singles, make_read_only
from config.jit import inline_kernel, kernel

LEAST_NORM2 = 3e-4  # of an atom's orthogonal part, relative to the whole: nearer to the span of those chosen, it adds nothing
Reals = NDArray[np.floating[Any]]  # single or double precision
CHUNK = 1024  # poses whose products with the atoms are computed at once


class Codes(NamedTuple):
    """Sparse codes of N poses: atoms (N, T), -1 where fewer are used, their coefficients (N, T), and squared errors (N,)."""

    atom: Ints
    coefficient: Singles
    error2: Singles

    def rows(self, part: slice) -> "Codes":
        """Return the codes of some poses, views of these."""
        return Codes(self.atom[part], self.coefficient[part], self.error2[part])


class PursuitArrays(NamedTuple):
    """Working memory of a pursuit.

    Attributes:
        product: inner products of all atoms with the residual, (K,).
        norm2: squared norms of the atoms' orthogonal parts, (K,).
        basis: inner products of the orthonormal parts with all atoms, (T, K).
        triangle: triangular matrix of the chosen atoms, (T, T).
        along: inner products of the pose with the orthonormal parts, (T,).
    """

    product: Reals
    norm2: Reals
    basis: Reals
    triangle: Reals
    along: Reals


def code_poses(atoms: ArrayLike, poses: ArrayLike, n_nonzero: int) -> Codes:
    """Return the sparse codes of poses.

    Poses that are not finite have no atoms.

    Args:
        atoms: atoms, (K, D), of any norm.
        poses: poses, (N, D).
        n_nonzero: T, at most.
    """
    D, X = make_read_only(np.asarray(atoms, np.float32)), np.asarray(poses, np.float32)
    T = min(n_nonzero, len(D))
    codes = Codes(np.full((len(X), T), -1, np.int64), np.zeros((len(X), T), np.float32), np.zeros(len(X), np.float32))
    work, gram = allocate_pursuit_work(len(D), T), D @ D.T
    for first in range(0, len(X), CHUNK):
        part = slice(first, first + CHUNK)
        finite = np.asarray(np.isfinite(X[part]).all(axis=1))
        chunk = np.where(finite[:, None], X[part], np.float32(0.0))
        codes.error2[part] = np.einsum("nd,nd->n", chunk, chunk)
        _pursue_codes(make_read_only(chunk @ D.T), make_read_only(gram), codes.rows(part), work)
    return codes


def decode_poses(atoms: ArrayLike, codes: Codes) -> Singles:
    """Return the poses of codes, (N, D)."""
    D = np.asarray(atoms, np.float32)
    out = np.zeros((len(codes.atom), D.shape[1]), np.float32)
    for t in range(codes.atom.shape[1]):
        out += np.where(codes.atom[:, t : t + 1] >= 0, codes.coefficient[:, t : t + 1] * D[codes.atom[:, t]], 0.0)
    return out


def allocate_pursuit_work(n_atoms: int, n_nonzero: int, f: type = np.float32) -> PursuitArrays:
    """Return memory of a pursuit.

    Args:
        n_atoms: number K of atoms.
        n_nonzero: atoms of a code at most.
        f: type of the numbers.
    """
    shapes = ((n_atoms,), (n_atoms,), (n_nonzero, n_atoms), (n_nonzero, n_nonzero), (n_nonzero,))
    return PursuitArrays(*(np.empty(shape, f) for shape in shapes))


@inline_kernel
def _find_best_atom(work: PursuitArrays, norm2: Reals) -> int:
    """Return the atom that lowers the error most, -1 if none does; norm2: squared norms of whole atoms, (K,)."""
    best, most = -1, np.float32(0.0)
    for k in range(work.norm2.shape[0]):
        gain = work.product[k] * work.product[k]
        if gain > most * work.norm2[k] and work.norm2[k] > np.float32(LEAST_NORM2) * norm2[k]:
            best, most = k, gain / work.norm2[k]
    return best


@inline_kernel
def take_atom(best: int, t: int, row: Reals, work: PursuitArrays) -> float:
    """Make an atom the t-th chosen; return the error's decrease.

    Args:
        best: number of the atom.
        t: number of atoms chosen before.
        row: inner products of the atom with all atoms, (K,).
        work: memory of the pursuit; changed.
    """
    work.triangle[t, t] = 1.0 / math.sqrt(work.norm2[best])
    inverse = work.triangle[t, t]  # in the precision of the work
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


@inline_kernel
def solve_triangle(n: int, work: PursuitArrays, coefficient: Reals) -> None:
    """Write the coefficients of the n chosen atoms: triangle' a = along.

    Args:
        n: number of chosen atoms.
        work: memory of the pursuit.
        coefficient: a, (n,); written.
    """
    for i in range(n - 1, -1, -1):
        s = work.along[i]
        for j in range(i + 1, n):
            s -= work.triangle[j, i] * coefficient[j]
        coefficient[i] = s / work.triangle[i, i]


@kernel
def _pursue_codes(product: Singles, gram: Singles, codes: Codes, work: PursuitArrays) -> None:
    """Code poses from products (N, K) and inner products of atoms (K, K). codes.error2: squared norms of the poses."""
    n_nonzero, norm2 = codes.atom.shape[1], np.diag(gram)
    for n in range(product.shape[0]):
        work.product[:], work.norm2[:] = product[n], norm2
        error2, used = codes.error2[n], 0
        for t in range(n_nonzero):
            best = _find_best_atom(work, norm2)
            if best < 0:
                break
            error2 -= take_atom(best, t, gram[best], work)
            codes.atom[n, t] = best
            used = t + 1
        solve_triangle(used, work, codes.coefficient[n])
        codes.error2[n] = max(error2, np.float32(0.0))
