"""Normal equations of a motion by the knots of a cubic B-spline, banded.

Residuals depend on the changes d_t (72,) of at most three consecutive frames in their tangent spaces, d_t = sum_k S_tk c_k with
the coefficients c_k (72,) of a cubic B-spline (Wei et al. 2011, section 7), so that the matrix over c is banded.
"""

import numpy as np
from scipy.interpolate import BSpline
from scipy.sparse import csr_array

from config.arrays import Floats
from numerics.banded import BandedEquations, band_from_blocks, solve_band
from reconstruct.models.physics.dynamics import N_TANGENT

N3 = 3 * N_TANGENT


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

    def system(self, normal: BandedEquations) -> tuple[Floats, Floats]:
        """Return the matrix in LAPACK's lower banded form, (bandwidth, 72 K), and the gradient (72 K,)."""
        blocks = [self._knot_block(normal, m) for m in range(min(self.n_offsets, self.n_knots))]
        return band_from_blocks(blocks, N_TANGENT), (self.S.T @ normal.gradient).ravel()

    def _knot_block(self, normal: BandedEquations, m: int) -> Floats:
        """Return the blocks (l + m, l) of the matrix over coefficients, (K - m, 72, 72)."""
        S, K = self.S, self.n_knots
        upper, lower = S[:, m:], S[:, : K - m]
        out = csr_array((upper * lower).T) @ normal.blocks[0].reshape(len(S), -1)
        for k in (1, 2):
            if len(S) <= k:
                continue
            flat = normal.blocks[k].reshape(len(S) - k, -1)
            turned = np.swapaxes(normal.blocks[k], 1, 2).reshape(len(S) - k, -1)
            out = out + csr_array((upper[:-k] * lower[k:]).T) @ turned + csr_array((upper[k:] * lower[:-k]).T) @ flat
        return np.asarray(out).reshape(K - m, N_TANGENT, N_TANGENT)


def solve_damped_step(band: Floats, gradient: Floats, damping: float) -> Floats:
    """Return the solution of (H + damping) c = -g, as rows of 72. Raises numpy.linalg.LinAlgError.

    All coordinates are rad or m, so that damping is the same for all. In proportion to the diagonal of H it would be least for
    the hands, which weigh nothing, and they would fling about to balance the body.

    Args:
        band: lower band of H, by diagonals.
        gradient: g, (N, 72).
        damping: added to the diagonal.
    """
    matrix = band.copy()
    matrix[0] += damping
    return solve_band(matrix, -gradient.reshape(-1, N_TANGENT))
