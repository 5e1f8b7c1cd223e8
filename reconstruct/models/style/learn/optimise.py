"""Minimisation within bounds by scaled conjugate gradients or L-BFGS.

Scaled conjugate gradients (Møller 1993, "A scaled conjugate gradient algorithm for fast supervised learning"): conjugate
directions whose step length comes from the curvature along them, measured by a second gradient nearby, instead of a line search.
A damping that rises when the curvature misled and falls when it was right keeps the steps short enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from config.arrays import Bools, Floats

Value = Callable[[Floats], tuple[float, Floats]]  # the value and its gradient
Optimiser = Literal["scg", "lbfgs"]
TOLERANCE = 1e-7  # gain of a step, relative to the value, at which the minimum is found
HISTORY = 20  # steps that L-BFGS estimates the curvature from
NEARBY = 1e-4  # length of the step over which SCG measures curvature
MIN_DAMPING, MAX_DAMPING = 1e-15, 1e100
MAX_FAILURES = 30  # in a row


@dataclass(frozen=True, slots=True)
class VariableBounds:
    """Bounds of all variables, (P,) each, infinite where there is none."""

    lower: Floats
    upper: Floats

    def active(self, z: Floats, gradient: Floats) -> Bools:
        """Return which variables are at a bound that a descent step would cross, (P,)."""
        return np.asarray(((z <= self.lower) & (gradient > 0.0)) | ((z >= self.upper) & (gradient < 0.0)))


def _ignore_value(value: float) -> None:
    """Stand in for a callback."""


def minimise_value(
    value: Value,
    start: Floats,
    bounds: VariableBounds,
    steps: int,
    optimiser: Optimiser = "lbfgs",
    watch: Callable[[float], None] = _ignore_value,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Return a minimum, (P,), from start, (P,), in at most `steps` steps.

    Args:
        value: returns value and gradient at a point.
        start: (P,).
        bounds: bounds of the variables.
        steps: greatest number of steps.
        optimiser: optimiser to use.
        watch: called with the value after each step; what it raises is passed on.
        tolerance: relative decrease that ends the search.
    """
    if optimiser == "scg":
        return run_scaled_conjugate_gradients(value, start, bounds, steps, tolerance, watch)

    def stepped(intermediate_result: OptimizeResult) -> None:
        watch(float(intermediate_result.fun))

    found = minimize(
        value,
        np.clip(start, bounds.lower, bounds.upper),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(bounds.lower, bounds.upper),
        callback=stepped,
        options={"maxiter": steps, "maxcor": HISTORY, "ftol": tolerance, "gtol": 1e-8},
    )
    return np.asarray(found.x)


def run_scaled_conjugate_gradients(
    value: Value, start: Floats, bounds: VariableBounds, steps: int, tolerance: float, watch: Callable[[float], None]
) -> Floats:
    """Return a minimum, (P,), from start, (P,), in at most `steps` steps.

    Stops when a step gains less than tolerance, relative to the value.

    Args:
        value: returns value and gradient at a point.
        start: (P,).
        bounds: bounds of the variables.
        steps: greatest number of steps.
        tolerance: relative decrease that ends the search.
        watch: called with the value after each step.
    """
    z = np.clip(start, bounds.lower, bounds.upper)
    f, gradient = value(z)
    fixed = bounds.active(z, gradient)
    direction = np.where(fixed, 0.0, -gradient)
    damping, curvature, moved, successes, failures = 1.0, 0.0, True, 0, 0
    for _ in range(steps):
        slope = float(direction @ gradient)
        if slope >= 0.0:
            direction, moved = np.where(fixed, 0.0, -gradient), True
            slope = float(direction @ gradient)
        length2 = float(direction @ direction)
        if length2 < 1e-24 or failures > MAX_FAILURES:
            break
        if moved:
            curvature = _compute_curvature(value, z, gradient, direction, bounds)
        damped = curvature + damping * length2
        if damped <= 0.0:
            damped = damping * length2
            damping -= curvature / length2
        step = -slope / damped
        ahead = np.clip(z + step * direction, bounds.lower, bounds.upper)
        f_ahead, gradient_ahead = value(ahead)
        agreement = 2.0 * (f_ahead - f) / (step * slope)
        moved = bool(np.isfinite(f_ahead) and f_ahead < f)
        if not moved or agreement < 0.25:
            damping = min(4.0 * damping, MAX_DAMPING)
        elif agreement > 0.75:
            damping = max(0.5 * damping, MIN_DAMPING)
        watch(min(f, f_ahead) if moved else f)
        if not moved:
            failures += 1
            continue
        gained, failures, successes = f - f_ahead, 0, successes + 1
        fixed_ahead = bounds.active(ahead, gradient_ahead)
        conjugate = float((gradient - gradient_ahead) @ gradient_ahead) / slope
        restart = successes % len(z) == 0 or bool((fixed_ahead != fixed).any())
        z, f, gradient, fixed = ahead, f_ahead, gradient_ahead, fixed_ahead
        direction = np.where(fixed, 0.0, -gradient if restart else conjugate * direction - gradient)
        if gained < tolerance * max(abs(f), 1.0):
            break
    return z


def _compute_curvature(value: Value, z: Floats, gradient: Floats, direction: Floats, bounds: VariableBounds) -> float:
    """Return direction' Hessian direction, from the gradient a short step along."""
    small = NEARBY / float(np.sqrt(direction @ direction))
    near = np.clip(z + small * direction, bounds.lower, bounds.upper)
    return float(direction @ (value(near)[1] - gradient)) / small
