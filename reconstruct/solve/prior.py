"""The quadratic terms of the energy: prior and motion in w, the root's prediction in (d, s).

The Gaussians of prior and motion (Chai & Hodgins 2005, eqs. 5 and 6), joint limits and pose models are multiplied before the
first iteration (`models.local.model.total`): together they cost no more than one.
"""

from typing import NamedTuple

from config.arrays import Floats
from config.jit import kernel
from reconstruct.models.local.model import Quadratic


class RootTerm(NamedTuple):
    """The root's expected rotation vector from R_0 and position, (6,), and their inverse variances, (6,)."""

    center: Floats
    precision: Floats


@kernel
def _add_prior(term: Quadratic, x: Floats, A: Floats, g: Floats) -> float:
    """Add the Hessian's lower triangle and the gradient by w to A and g; return the energy."""
    center, P = term.center, term.precision
    energy = 0.0
    for i in range(center.shape[0]):
        s = 0.0
        for j in range(center.shape[0]):
            s += P[i, j] * (x[j] - center[j])
        g[i] += s
        energy += 0.5 * s * (x[i] - center[i])
        for j in range(i + 1):
            A[i, j] += P[i, j]
    return energy


@kernel
def _add_root(term: RootTerm, x: Floats, A: Floats, g: Floats) -> float:
    """Add the Hessian and the gradient by (d, s) to A and g; return the energy."""
    first, energy = x.shape[0] - 6, 0.0
    for i in range(6):
        e = x[first + i] - term.center[i]
        energy += 0.5 * term.precision[i] * e * e
        g[first + i] += term.precision[i] * e
        A[first + i, first + i] += term.precision[i]
    return energy
