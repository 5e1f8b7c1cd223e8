"""The quadratic term of the energy: what is known of a pose before its markers are looked at.

The Gaussians of prior and motion (Chai & Hodgins 2005, eqs. 5 and 6), of the root and of pose models are multiplied before the
first iteration: together they cost no more than one.
"""

from config.arrays import Floats
from config.jit import inline_kernel
from reconstruct.models.local.model import Quadratic


@inline_kernel
def add_prior(term: Quadratic, x: Floats, A: Floats, g: Floats) -> float:
    """Add the Hessian's lower triangle and the gradient to A and g; return the energy.

    Args:
        term: the quadratic.
        x: coordinates of the pose, (B,).
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
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
