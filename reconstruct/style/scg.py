"""Scaled conjugate gradients (Møller 1993, "A scaled conjugate gradient algorithm for fast supervised learning"), within bounds.

Conjugate directions whose step length comes from the curvature along them, measured by a second gradient nearby, instead of from
a line search. A damping that rises when the curvature misled and falls when it was right keeps the steps short enough.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats

Value = Callable[[Floats], tuple[float, Floats]]
NEARBY = 1e-4  # length of the step over which curvature is measured
LEAST_DAMPING, MOST_DAMPING = 1e-15, 1e100
FEW = 30  # failures in a row: nothing is to be gained


@dataclass(frozen=True, slots=True)
class Box:
    """Bounds of all variables, (P,) each, infinite where there is none."""

    lower: Floats
    upper: Floats

    def held(self, z: Floats, gradient: Floats) -> NDArray[np.bool_]:
        """Tell which variables lie on a bound and would leave it, (P,)."""
        return np.asarray(((z <= self.lower) & (gradient > 0.0)) | ((z >= self.upper) & (gradient < 0.0)))


def scaled_conjugate_gradients(
    value: Value, start: Floats, box: Box, steps: int, tolerance: float, watch: Callable[[float], None]
) -> Floats:
    """Minimise value, which gives itself and its gradient, from start, (P,), in at most `steps` steps.

    Ends when a step gains less than tolerance, relative to the value. watch is told the value after each step.
    """
    z = np.clip(start, box.lower, box.upper)
    f, gradient = value(z)
    held = box.held(z, gradient)
    direction = np.where(held, 0.0, -gradient)
    damping, curvature, moved, successes, failures = 1.0, 0.0, True, 0, 0
    for _ in range(steps):
        slope = float(direction @ gradient)
        if slope >= 0.0:
            direction, moved = np.where(held, 0.0, -gradient), True
            slope = float(direction @ gradient)
        length2 = float(direction @ direction)
        if length2 < 1e-24 or failures > FEW:
            break
        if moved:
            curvature = _curvature(value, z, gradient, direction, box)
        bent = curvature + damping * length2
        if bent <= 0.0:
            bent = damping * length2
            damping -= curvature / length2
        step = -slope / bent
        ahead = np.clip(z + step * direction, box.lower, box.upper)
        f_ahead, gradient_ahead = value(ahead)
        agreement = 2.0 * (f_ahead - f) / (step * slope)
        moved = bool(np.isfinite(f_ahead) and f_ahead < f)
        if not moved or agreement < 0.25:
            damping = min(4.0 * damping, MOST_DAMPING)
        elif agreement > 0.75:
            damping = max(0.5 * damping, LEAST_DAMPING)
        watch(min(f, f_ahead) if moved else f)
        if not moved:
            failures += 1
            continue
        gained, failures, successes = f - f_ahead, 0, successes + 1
        held_ahead = box.held(ahead, gradient_ahead)
        turn = float((gradient - gradient_ahead) @ gradient_ahead) / slope
        restart = successes % len(z) == 0 or bool((held_ahead != held).any())
        z, f, gradient, held = ahead, f_ahead, gradient_ahead, held_ahead
        direction = np.where(held, 0.0, -gradient if restart else turn * direction - gradient)
        if gained < tolerance * max(abs(f), 1.0):
            break
    return z


def _curvature(value: Value, z: Floats, gradient: Floats, direction: Floats, box: Box) -> float:
    """Give direction' Hessian direction, from the gradient a little way along."""
    small = NEARBY / float(np.sqrt(direction @ direction))
    near = np.clip(z + small * direction, box.lower, box.upper)
    return float(direction @ (value(near)[1] - gradient)) / small
