"""The marker term of the energy: markers that both cameras see, triangulated, in metres.

    sum_m rho(|L_m (x_m - c_m)|^2),   L_m' L_m = (S_m + sigma_m^2 I)^-1

with S_m the covariance of the triangulated point c_m and sigma_m how far a marker may sit from where skeleton and offset put it
(the control term of Chai & Hodgins 2005, eq. 7, weighted by what each point is worth, and robust).
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.jit import inline_kernel
from reconstruct.solve.linearise import (
    PosedMarkers,
    add_residual,
    compute_marker_jacobian,
    compute_robust_loss,
    compute_robust_weight,
)


class MarkerTerm(NamedTuple):
    """Residuals of the triangulated markers.

    Attributes:
        point_m: measured positions, (M, 3) [m] world.
        root_info: square roots L of the information matrices, (M, 3, 3) [1/m], zero where a marker is not triangulated.
        robust2: squared scale of rho.
    """

    point_m: Floats
    root_info: Floats
    robust2: float


@inline_kernel
def add_markers(term: MarkerTerm, posed: PosedMarkers, A: Floats, g: Floats) -> float:
    """Add the term's Gauss-Newton Hessian and gradient to A and g; return its energy.

    Args:
        term: markers seen by two cameras.
        posed: the markers of the pose at x, and their derivatives.
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
    e, energy = np.empty(3), 0.0
    for m in range(term.point_m.shape[0]):
        L = term.root_info[m]
        if not L[0, 0] > 0.0:
            continue
        for i in range(3):
            e[i] = 0.0
            for k in range(3):
                e[i] += L[i, k] * (posed.world_m[m, k] - term.point_m[m, k])
        s = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
        energy += compute_robust_loss(s, term.robust2)
        add_residual(posed, compute_marker_jacobian(posed, m), e, L, compute_robust_weight(s, term.robust2), A, g)
    return energy
