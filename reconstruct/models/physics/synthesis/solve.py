"""The most likely motion of a problem: Levenberg-Marquardt over the coefficients of a cubic B-spline."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from reconstruct.models.physics.synthesis.energy import EvaluatedMotion, MotionEnergy
from reconstruct.models.physics.synthesis.normal import KnotSystem, solve_damped_step
from reconstruct.models.physics.synthesis.problem import MotionProblem

KNOT_S = 1.0 / 30.0  # between the knots of the spline
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1.0, 1e-4, 1e9  # of changes in rad and m
ENOUGH = 1e-3  # of the energy, gained in `PATIENCE` steps
PATIENCE = 3
HELD = 1e15  # on the diagonal
MAX_CHANGE = 0.5  # rad or m, of a joint in one step


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """steps: at most; held: frames at the beginning that do not change; report: is told after each step which it was and the
    energy; what it raises ends the search, and the motion so far is lost, but KeyboardInterrupt, which keeps it."""

    steps: int = 40
    enough: float = ENOUGH
    held: int = 0
    report: Callable[[int, float], None] = lambda step, energy: None


@dataclass(frozen=True, slots=True)
class SynthesizedMotion:
    """A motion (N, 95) and its energy; steps: taken; interrupted: by Ctrl-C."""

    q: Floats
    found: EvaluatedMotion
    steps: int
    interrupted: bool


def solve_motion(problem: MotionProblem, start: Floats, options: SolveOptions = SolveOptions()) -> SynthesizedMotion:
    """Return the motion of least energy near a first one, (N, 95).

    Args:
        problem: constraints and weights of the motion.
        start: motion to begin with, (N, 95).
        options: options of the search.
    """
    energy = MotionEnergy(problem)
    system = KnotSystem(problem.n_frames, max(1, round(KNOT_S * problem.fps)))
    q, damping, history = start, FIRST_DAMPING, []
    found = energy.evaluate(q)
    step = 0
    try:
        while step < options.steps:
            step += 1
            found, normal = energy.linearise(q)
            history.append(found.energy)
            band, gradient = system.system(normal)
            band[0, : system.n_columns(options.held)] += HELD
            while damping < LARGEST_DAMPING:
                better = _try_step(energy, system, q, band, gradient, damping)
                if better is not None and better.energy < found.energy:
                    break
                damping *= 8.0
            else:
                break
            q, found = better.motion.q, better
            damping = max(damping / 8.0, LEAST_DAMPING)
            options.report(step, found.energy)
            if len(history) >= PATIENCE and history[-PATIENCE] - found.energy < options.enough * abs(found.energy):
                break
    except KeyboardInterrupt:
        return SynthesizedMotion(q, found, step, True)
    return SynthesizedMotion(q, found, step, False)


def _try_step(
    energy: MotionEnergy, system: KnotSystem, q: Floats, band: Floats, gradient: Floats, damping: float
) -> EvaluatedMotion | None:
    """Return the motion after a step; None: the step is too long or cannot be computed."""
    try:
        change = system.changes(solve_damped_step(band, gradient, damping))
    except np.linalg.LinAlgError:
        return None
    if not np.abs(change).max() < MAX_CHANGE:
        return None
    return energy.evaluate(energy.dynamics.integrate(q, change))
