"""Normal equations of a motion: blocks of neighbouring frames, solved in a time that is linear in their number."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from config.arrays import Floats

REACH = 2  # frames that are coupled with one: accelerations couple three neighbours


@dataclass(slots=True)
class FrameBlocks:
    """H e = g over changes e (N, D) of N frames: diagonal (N, D, D), next (N - 1, D, D): rows of frame t + 1 by columns of t,
    second (N - 2, D, D): rows of t + 2; g (N, D)."""

    diagonal: Floats
    next: Floats
    second: Floats
    g: Floats

    @classmethod
    def zero(cls, n_frames: int, size: int) -> "FrameBlocks":
        """Return blocks of zeros."""
        shape = (size, size)
        diagonal, following, second = (np.zeros((max(n_frames - k, 0), *shape)) for k in range(REACH + 1))
        return cls(diagonal, following, second, np.zeros((n_frames, size)))

    def add_frames(self, J: Floats, e: Floats) -> None:
        """Add |J e_t + e|^2 of each frame: J (N, R, D), e (N, R)."""
        Jt = J.swapaxes(1, 2)
        self.diagonal += Jt @ J
        self.g -= (Jt @ e[..., None])[..., 0]

    def add_pairs(self, before: Floats, after: Floats, e: Floats) -> None:
        """Add residuals of each frame and the next: (N - 1, R, D) twice, (N - 1, R)."""
        bt, at = before.swapaxes(1, 2), after.swapaxes(1, 2)
        self.diagonal[:-1] += bt @ before
        self.diagonal[1:] += at @ after
        self.next += at @ before
        self.g[:-1] -= (bt @ e[..., None])[..., 0]
        self.g[1:] -= (at @ e[..., None])[..., 0]

    def add_triples(self, before: Floats, at: Floats, after: Floats, e: Floats) -> None:
        """Add residuals of each inner frame by the frames before, at and after it: (N - 2, R, D) thrice, (N - 2, R)."""
        n = len(at)
        both = np.concatenate([before, at, after], axis=2)
        H = both.swapaxes(1, 2) @ both
        size = before.shape[2]
        parts = [slice(k * size, (k + 1) * size) for k in range(3)]
        gradient = (both.swapaxes(1, 2) @ e[..., None])[..., 0]
        for k, part in enumerate(parts):
            self.diagonal[k : k + n] += H[:, part, part]
            self.g[k : k + n] -= gradient[:, part]
        for k in range(2):
            self.next[k : k + n] += H[:, parts[k + 1], parts[k]]
        self.second += H[:, parts[2], parts[0]]

    def add_diagonal_triples(self, before: Floats, at: Floats, after: Floats, e: Floats, size: int) -> None:
        """Add residuals as `add_triples` does, of matrices that have blocks of `size` on their diagonals only."""
        n, total = e.shape
        parts = [slice(k, k + size) for k in range(0, total, size)]
        three = [np.stack([J[:, part, part] for part in parts], axis=1) for J in (before, at, after)]
        blocks = e.reshape(n, -1, size, 1)
        for k, first in enumerate(three):
            turned = first.swapaxes(2, 3)
            self.g[k : k + n] -= (turned @ blocks).reshape(n, total)
            for m, second in enumerate(three[: k + 1]):
                H = turned @ second
                target = (self.diagonal, self.next, self.second)[k - m][m : m + n]
                for row, part in enumerate(parts):
                    target[:, part, part] += H[:, row]

    def solve(self, damping: float, fixed: int = 0) -> Floats | None:
        """Return e (N, D) with the diagonal enlarged by a share of itself; the first frames may be fixed at 0. None: singular."""
        n, size = self.g.shape
        kept = slice(fixed, n)
        diagonal = self.diagonal[kept].copy()
        along = np.arange(size)
        diagonal[:, along, along] *= 1.0 + damping
        band = np.zeros((REACH * size + size, (n - fixed) * size))
        for column in range(size):
            band[: size - column, column::size] = diagonal[:, column:, column].T
            for k, block in ((1, self.next[fixed:]), (2, self.second[fixed:])):
                if len(block):
                    rows = slice(k * size - column, (k + 1) * size - column)
                    band[rows, column : (n - fixed - k) * size : size] = block[:, :, column].T
        try:
            factor = cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
        except LinAlgError:
            return None
        out = np.zeros((n, size))
        out[kept] = cho_solve_banded((factor, True), self.g[kept].ravel(), check_finite=False).reshape(-1, size)
        return out
