"""The grip term of the energy: a prop that both hands hold keeps them together.

    sum_i rho(|x_i - y_i|^2 / s^2)

with x_i where the second hand holds the prop and y_i its palm, both posed. The first hand's joint carries the prop, so that a
marker on the prop, or the first arm's, tells of the second arm, and the other way round.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibration.subject.props import Prop
from config.arrays import Floats, Ints
from config.jit import kernel
from reconstruct.solve.linearise import PosedMarkers, compute_marker_jacobian, compute_robust_loss, compute_robust_weight

# How far a palm may be from its place on the prop, one standard deviation of each coordinate: 35 to 68 mm in a real two-handed
# swordplay (CMU 02_07), where the other palm moves by this in the frame of the first hand.
SIGMA_M = 0.05


class Grips(NamedTuple):
    """Points on the body that come behind its markers, two for each of G grips: joint (2 G,), offset_m (2 G, 3) [m]."""

    joint: Ints
    offset_m: Floats


class GripTerm(NamedTuple):
    """Residuals of grips: number of the first of their points, number of grips, squared scale of rho."""

    first: int
    n_grips: int
    robust2: float


NO_GRIPS = Grips(np.zeros(0, np.int64), np.zeros((0, 3)))


def build_grips(props: Sequence[Prop]) -> Grips:
    """Return the grips of the props that both hands hold."""
    held = [prop for prop in props if prop.behind_m > 0.0]
    if not held:
        return NO_GRIPS
    joint = np.array([(prop.joint, prop.other_joint) for prop in held], np.int64)
    offset_m = np.array([(prop.held_m, prop.palm_m) for prop in held])
    return Grips(joint.ravel(), np.ascontiguousarray(offset_m.reshape(-1, 3)))


@kernel
def add_grips(term: GripTerm, posed: PosedMarkers, A: Floats, g: Floats) -> float:
    """Add the term's Gauss-Newton Hessian and gradient to A and g; return its energy.

    Args:
        term: the grips.
        posed: the markers and grips of the pose at x, and their derivatives.
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
    if term.n_grips == 0:
        return 0.0
    energy, n = 0.0, g.shape[0]
    e, by_x = np.empty(3), np.empty((n, 3))
    for k in range(term.n_grips):
        first = term.first + 2 * k
        by_x[:] = 0.0
        for side in range(2):
            sign = (1.0 - 2.0 * side) / SIGMA_M
            for column in range(compute_marker_jacobian(posed, first + side)):
                for i in range(3):
                    by_x[posed.columns[column], i] += sign * posed.by_x[column, i]
        for i in range(3):
            e[i] = (posed.world_m[first, i] - posed.world_m[first + 1, i]) / SIGMA_M
        s = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
        energy += compute_robust_loss(s, term.robust2)
        weight = compute_robust_weight(s, term.robust2)
        for a in range(n):
            g[a] += weight * (by_x[a, 0] * e[0] + by_x[a, 1] * e[1] + by_x[a, 2] * e[2])
            for b in range(a + 1):
                A[a, b] += weight * (by_x[a, 0] * by_x[b, 0] + by_x[a, 1] * by_x[b, 1] + by_x[a, 2] * by_x[b, 2])
    return energy
