"""Minimise within bounds, by either optimiser: scaled conjugate gradients or L-BFGS."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from database.rotations import Floats
from reconstruct.style.scg import Box, Value, scaled_conjugate_gradients

Optimiser = Literal["scg", "lbfgs"]
TOLERANCE = 1e-7  # gain of a step, relative to the value, at which the minimum counts as found
HISTORY = 20  # of steps that L-BFGS knows the curvature by


def _nobody(value: float) -> None:
    """Stand in where nobody watches."""


def minimised(
    value: Value,
    start: Floats,
    box: Box,
    steps: int,
    optimiser: Optimiser = "lbfgs",
    watch: Callable[[float], None] = _nobody,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Give where value, which gives itself and its gradient, is least, (P,), from start, (P,), in at most `steps` steps.

    watch is told the value after each step; what it raises passes through.
    """
    if optimiser == "scg":
        return scaled_conjugate_gradients(value, start, box, steps, tolerance, watch)

    def stepped(intermediate_result: OptimizeResult) -> None:
        watch(float(intermediate_result.fun))

    found = minimize(
        value,
        np.clip(start, box.lower, box.upper),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(box.lower, box.upper),
        callback=stepped,
        options={"maxiter": steps, "maxcor": HISTORY, "ftol": tolerance, "gtol": 1e-8},
    )
    return np.asarray(found.x)
