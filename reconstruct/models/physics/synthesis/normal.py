"""Normal equations of a motion: blocks by frames, then by the knots of a cubic B-spline, banded.

Residuals depend on the changes d_t (72,) of at most three consecutive frames in their tangent spaces, d_t = sum_k S_tk c_k with
the coefficients c_k (72,) of a cubic B-spline (Wei et al. 2011, section 7), so that the matrix over c is banded.
"""

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import solveh_banded
from scipy.sparse import csr_array

from config.arrays import Floats, Ints
from reconstruct.models.physics.dynamics import N_TANGENT

N3 = 3 * N_TANGENT


class NormalEquations:
    """Gradient (N, 72) and the blocks (t, t), (t, t + 1), (t, t + 2) of the Gauss-Newton matrix."""

    def __init__(self, n_frames: int) -> None:
        self.gradient = np.zeros((n_frames, N_TANGENT))
        self.blocks = [np.zeros((max(n_frames - k, 0), N_TANGENT, N_TANGENT)) for k in range(3)]

    def add_triples(self, J: Floats, r: Floats) -> None:
        """Add |r|^2 / 2 of the inner frames: r (N - 2, R), J (N - 2, R, 216) by the frame before, itself, and after."""
        self.add_triple_forms(np.swapaxes(J, 1, 2) @ J, np.einsum("nri,nr->ni", J, r))

    def add_triple_forms(self, H: Floats, g: Floats) -> None:
        """Add forms of the inner frames: H (N - 2, 216, 216), g (N - 2, 216)."""
        n = len(H)
        for a in range(3):
            rows = slice(a * N_TANGENT, (a + 1) * N_TANGENT)
            self.gradient[a : a + n] += g[:, rows]
            for b in range(a, 3):
                self.blocks[b - a][a : a + n] += H[:, rows, b * N_TANGENT : (b + 1) * N_TANGENT]

    def add_single(self, frames: Ints, J: Floats, r: Floats) -> None:
        """Add |r|^2 / 2 of frames (F,), each once: r (F, R), J (F, R, 72)."""
        self.gradient[frames] += np.einsum("nri,nr->ni", J, r)
        self.blocks[0][frames] += np.swapaxes(J, 1, 2) @ J

    def add_pairs(self, first: Floats, second: Floats, r: Floats) -> None:
        """Add |r|^2 / 2 of each frame and the next: r (N - 1, R), J by the first and by the second (N - 1, R, 72)."""
        turned = np.swapaxes(first, 1, 2)
        self.gradient[:-1] += np.einsum("nri,nr->ni", first, r)
        self.gradient[1:] += np.einsum("nri,nr->ni", second, r)
        self.blocks[0][:-1] += turned @ first
        self.blocks[0][1:] += np.swapaxes(second, 1, 2) @ second
        self.blocks[1] += turned @ second


class KnotSystem:
    """The spline of n frames with a knot every `spacing` frames, and systems over its coefficients."""

    def __init__(self, n_frames: int, spacing: int) -> None:
        n_spans = max(1, int(np.ceil((n_frames - 1) / spacing)))
        knots = np.arange(-3, n_spans + 4) * float(spacing)
        last = np.nextafter(n_spans * float(spacing), 0.0)
        self.S = BSpline.design_matrix(np.minimum(np.arange(n_frames, dtype=float), last), knots, 3).toarray()
        self.n_knots = self.S.shape[1]
        self.n_offsets = 4 + int(np.ceil(2 / spacing))

    def changes(self, coefficients: Floats) -> Floats:
        """Return the changes of the frames, (N, 72), of coefficients (K, 72)."""
        return np.asarray(self.S @ coefficients)

    def n_columns(self, n_frames: int) -> int:
        """Return the number of leading columns of the matrix that the first frames depend on."""
        return N_TANGENT * int(self.S[:n_frames].any(axis=0).sum())

    def system(self, normal: NormalEquations) -> tuple[Floats, Floats]:
        """Return the matrix in LAPACK's lower banded form, (bandwidth, 72 K), and the gradient (72 K,)."""
        K = self.n_knots
        offsets = min(self.n_offsets, K)
        band = np.zeros((offsets * N_TANGENT, K, N_TANGENT))
        rows, columns = np.indices((N_TANGENT, N_TANGENT))
        for m in range(offsets):
            block = self._knot_block(normal, m)
            if m == 0:
                low = rows >= columns
                band[(rows - columns)[low], :, columns[low]] = block[:, low].T
            else:
                band[m * N_TANGENT + rows - columns, : K - m, columns] = np.moveaxis(block, 0, 2)
        return band.reshape(offsets * N_TANGENT, K * N_TANGENT), (self.S.T @ normal.gradient).ravel()

    def _knot_block(self, normal: NormalEquations, m: int) -> Floats:
        """Return the blocks (l + m, l) of the matrix over coefficients, (K - m, 72, 72)."""
        S, K = self.S, self.n_knots
        upper, lower = S[:, m:], S[:, : K - m]
        out = csr_array((upper * lower).T) @ normal.blocks[0].reshape(len(S), -1)
        for k in (1, 2):
            if len(S) <= k:
                continue
            flat = normal.blocks[k].reshape(len(S) - k, -1)
            turned = np.swapaxes(normal.blocks[k], 1, 2).reshape(len(S) - k, -1)
            out = out + csr_array((upper[:-k] * lower[k:]).T) @ flat + csr_array((upper[k:] * lower[:-k]).T) @ turned
        return np.asarray(out).reshape(K - m, N_TANGENT, N_TANGENT)


def damped_step(band: Floats, gradient: Floats, damping: float) -> Floats:
    """Return the solution of (H + damping) c = -g, as rows of 72. Raises numpy.linalg.LinAlgError.

    All coordinates are rad or m, so that damping is the same for all. In proportion to the diagonal of H it would be least for
    the hands, which weigh nothing, and they would fling about to balance the body.
    """
    matrix = band.copy()
    matrix[0] += damping
    return np.asarray(solveh_banded(matrix, -gradient, overwrite_ab=True, lower=True, check_finite=False)).reshape(-1, N_TANGENT)
