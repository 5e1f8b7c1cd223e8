"""Symmetric banded matrices of square blocks, such as the Hessian of consecutive frames: building, solution, tail and inverse.

LAPACK solves them. The functions take blocks: (N, B, V, V), [t, k] couples t with t - k; what is left of a quadratic and the
inverse are read from the columns of the Cholesky factor, one block after another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular, solveh_banded

from config.arrays import Floats, Ints

REACH = 2  # frames that are coupled with one: accelerations couple three neighbours


@dataclass(frozen=True, slots=True)
class BandedEquations:
    """Gradient and Gauss-Newton matrix of half a sum of squares over changes (N, D) of N frames.

    gradient: (N, D); blocks: by distance k = 0, 1, 2 of two frames, (N - k, D, D): rows of frame t + k by columns of frame t.
    """

    gradient: Floats
    blocks: tuple[Floats, Floats, Floats]

    @classmethod
    def zero(cls, n_frames: int, size: int) -> "BandedEquations":
        """Return equations of zeros."""
        diagonal, following, second = (np.zeros((max(n_frames - k, 0), size, size)) for k in range(REACH + 1))
        return cls(np.zeros((n_frames, size)), (diagonal, following, second))

    def add_frames(self, J: Floats, e: Floats, frames: Ints | None = None) -> None:
        """Add |J d_t + e|^2 / 2 of frames.

        Args:
            J: (F, R, D).
            e: (F, R).
            frames: which, each once; None: all.
        """
        at = slice(None) if frames is None else frames
        Jt = J.swapaxes(1, 2)
        self.blocks[0][at] += Jt @ J
        self.gradient[at] += (Jt @ e[..., None])[..., 0]

    def add_pairs(self, before: Floats, after: Floats, e: Floats) -> None:
        """Add residuals of each frame and the next.

        Args:
            before, after: derivatives by the first and the second frame, (N - 1, R, D).
            e: residuals, (N - 1, R).
        """
        bt, at = before.swapaxes(1, 2), after.swapaxes(1, 2)
        self.blocks[0][:-1] += bt @ before
        self.blocks[0][1:] += at @ after
        self.blocks[1][:] += at @ before
        self.gradient[:-1] += (bt @ e[..., None])[..., 0]
        self.gradient[1:] += (at @ e[..., None])[..., 0]

    def add_triples(self, J: Floats, e: Floats) -> None:
        """Add residuals of each inner frame: J (N - 2, R, 3 D) by the frames before, at and after it, e (N - 2, R)."""
        Jt = J.swapaxes(1, 2)
        self.add_triple_forms(Jt @ J, (Jt @ e[..., None])[..., 0])

    def add_triple_forms(self, H: Floats, g: Floats) -> None:
        """Add quadratics of each inner frame: H (N - 2, 3 D, 3 D), g (N - 2, 3 D)."""
        n, size = len(H), self.gradient.shape[1]
        parts = [slice(k * size, (k + 1) * size) for k in range(3)]
        for k, part in enumerate(parts):
            self.gradient[k : k + n] += g[:, part]
            for m in range(k + 1):
                self.blocks[k - m][m : m + n] += H[:, part, parts[m]]

    def add_diagonal_triples(self, before: Floats, at: Floats, after: Floats, e: Floats, size: int) -> None:
        """Add residuals of inner frames by matrices with blocks on their diagonals only.

        Args:
            before, at, after: derivatives by the three frames, (N - 2, R, D).
            e: residuals, (N - 2, R).
            size: of a block.
        """
        n, total = e.shape
        parts = [slice(k, k + size) for k in range(0, total, size)]
        three = [np.stack([J[:, part, part] for part in parts], axis=1) for J in (before, at, after)]
        each = e.reshape(n, -1, size, 1)
        for k, first in enumerate(three):
            turned = first.swapaxes(2, 3)
            self.gradient[k : k + n] += (turned @ each).reshape(n, total)
            for m, second in enumerate(three[: k + 1]):
                H = turned @ second
                for row, part in enumerate(parts):
                    self.blocks[k - m][m : m + n, part, part] += H[:, row]

    def solve(self, damping: float, fixed: int = 0) -> Floats | None:
        """Return the changes (N, D) with the diagonal enlarged by a share of itself; None where it is singular.

        fixed: how many of the first frames stay as they are.
        """
        n, size = self.gradient.shape
        out = np.zeros((n, size))
        band = band_from_blocks([block[fixed:] for block in self.blocks], size)
        band[0] *= 1.0 + damping
        try:
            out[fixed:] = solve_band(band, -self.gradient[fixed:])
        except LinAlgError:
            return None
        return out


def band_from_blocks(blocks: Sequence[Floats], size: int) -> Floats:
    """Return LAPACK's lower banded form of blocks by distance, (N - k, D, D) each: (K D, N D), K the number of distances."""
    total = len(blocks[0]) * size
    band = np.zeros((len(blocks) * size, total))
    for column in range(size):
        band[: size - column, column::size] = blocks[0][:, column:, column].T
        for k, block in enumerate(blocks[1:], start=1):
            rows = slice(k * size - column, (k + 1) * size - column)
            band[rows, column : total - k * size : size] = block[:, :, column].T
    return band


class Column(NamedTuple):
    """A block column of the Cholesky factor: the diagonal block (V, V) and those below it, (K V, V)."""

    own: Floats
    below: Floats


def factor_columns(blocks: Floats, count: int | None = None) -> Iterator[tuple[Column, Floats]]:
    """Yield the first columns of the factor, each with what the columns so far take from the blocks after it, (W, W).

    Raises LinAlgError: not positive definite.
    """
    n, bands, width, _ = blocks.shape
    left = np.zeros(((bands - 1) * width, (bands - 1) * width))
    for t in range(n if count is None else count):
        column = np.concatenate([blocks[t + k, k] for k in range(min(bands, n - t))])
        taken = min(len(column), len(left))
        column[:taken] -= left[:taken, :width]
        own = np.linalg.cholesky(column[:width])
        below = solve_triangular(own, column[width:].T, lower=True, check_finite=False).T
        rest = np.zeros_like(left)
        rest[:-width, :-width] = left[width:, width:]
        rest[: len(below), : len(below)] += below @ below.T
        left = rest
        yield Column(own, below), left


def solve_band(band: Floats, right: Floats) -> Floats:
    """Return x of A x = b, both (N, V), A in LAPACK's lower banded form, which is overwritten. Raises LinAlgError."""
    solved = solveh_banded(band, right.ravel(), overwrite_ab=True, lower=True, check_finite=False)
    return np.asarray(solved).reshape(right.shape)


def solve_banded(blocks: Floats, right: Floats) -> Floats:
    """Return x of A x = b, both (N, V), A as blocks (N, B, V, V). Raises LinAlgError."""
    n, bands, width, _ = blocks.shape
    return solve_band(band_from_blocks([blocks[k:, k] for k in range(min(n, bands))], width), right)


def eliminate_leading(blocks: Floats, gradient: Floats) -> tuple[Floats, Floats, float]:
    """Minimise a quadratic over all but the last B - 1 blocks; return what is left: Hessian (W, W), gradient (W,), constant.

    The quadratic is g'x + x'A x / 2. Raises LinAlgError.
    """
    n, bands, width, _ = blocks.shape
    keep, g, least = bands - 1, gradient.ravel().copy(), 0.0
    tail = np.zeros((keep * width, keep * width))
    for t, (column, taken) in enumerate(factor_columns(blocks, n - keep)):
        tail = -taken
        half = solve_triangular(column.own, g[t * width : (t + 1) * width], lower=True, check_finite=False)
        g[(t + 1) * width : (t + 1) * width + len(column.below)] -= column.below @ half
        least -= 0.5 * float(half @ half)
    for i in range(keep):
        for k in range(i + 1):
            block = blocks[n - keep + i, k]
            tail[i * width : (i + 1) * width, (i - k) * width : (i - k + 1) * width] += block
            if k:
                tail[(i - k) * width : (i - k + 1) * width, i * width : (i + 1) * width] += block.T
    return tail, g[(n - keep) * width :], least


def compute_marginal_blocks(blocks: Floats) -> Floats:
    """Return the blocks on the diagonal of the inverse, (N, V, V), by Takahashi's recursion. Raises LinAlgError."""
    n, count, width, _ = blocks.shape
    factors = [column for column, _ in factor_columns(blocks)]
    result = np.empty((n, width, width))
    later = np.zeros((0, 0))  # the inverse of the next frames together
    for t in range(n - 1, -1, -1):
        own, below = factors[t]
        gain = solve_triangular(own, below.T, lower=True, trans="T", check_finite=False).T  # of the next frames by this one
        across = -later @ gain
        inverse = solve_triangular(own, np.eye(width), lower=True, check_finite=False)
        block = inverse.T @ inverse - gain.T @ across
        result[t] = 0.5 * (block + block.T)  # else what rounding leaves of asymmetry grows with every frame
        kept = min((count - 2) * width, len(later))
        later = np.block([[result[t], across[:kept].T], [across[:kept], later[:kept, :kept]]])
    return result
