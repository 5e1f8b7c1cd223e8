"""First motions for the search: interpolated between key poses, or from the nearest example of a force field.

The objective has many minima (Wei et al. 2011, section 7), and a straight line between two poses of a walk is far from the right
one. The examples that the field was learned from know better: of all their stretches, that one is taken whose ends are most like
two key poses, whose hips go as far and turn as much, and whose contacts are most like those that are wanted; its time is
stretched and the rest of the difference is shared out along it.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.interpolate import PchipInterpolator

from config.arrays import Bools, Floats
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.examples import (
    bend_stretch,
    build_example_bank,
    find_nearest_stretch,
    sample_configurations,
)
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.state import Units
from reconstruct.models.physics.smoothing import filter_configurations
from reconstruct.models.physics.synthesis.problem import KeyPose, MotionProblem

JOIN_HZ = 4.0  # stretches meet at a key with different velocities; what is faster than this is taken out


@dataclass(frozen=True, slots=True)
class FirstMotion:
    """A motion (N, 95), its contacts (N, 2, 3) and levels (2, 3) of the parts of the feet; distance: of the examples it is made
    of, the larger the less alike; 0 without examples."""

    q: Floats
    parts: Bools
    level_m: Floats
    distance: float


def weigh_example_trust(problem: MotionProblem, first: FirstMotion) -> MotionProblem:
    """Return a problem whose motion stays near a first one, the less the less the examples are like what is wanted."""
    weight = problem.weights.example / max(1.0, first.distance) ** 2
    return replace(problem, example=first.q, weights=replace(problem.weights, example=weight))


def interpolate_keys(dynamics: Dynamics, keys: tuple[KeyPose, ...], n_frames: int) -> Floats:
    """Return configurations (N, 95) through key poses by splines without overshoot, the same before the first and after the last.

    Args:
        dynamics: the body's equations of motion.
        keys: poses and their frames.
        n_frames: N.
    """
    order = sorted(keys, key=lambda key: key.frame)
    frames = np.array([key.frame for key in order])
    base = order[len(order) // 2].q
    change = dynamics.difference(np.repeat(base[None], len(order), axis=0), np.array([key.q for key in order]))
    if len(order) == 1:
        return np.repeat(base[None], n_frames, axis=0)
    times = np.clip(np.arange(n_frames), frames[0], frames[-1])
    return dynamics.integrate(np.repeat(base[None], n_frames, axis=0), PchipInterpolator(frames, change)(times))


def build_from_examples(
    field: ForceField,
    dynamics: Dynamics,
    keys: tuple[KeyPose, ...],
    parts: Bools | None,
    units: Units,
    n_frames: int,
    fps: float,
) -> FirstMotion:
    """Return a motion through key poses made of the nearest stretch of an example between each two.

    Args:
        field: force field with its examples.
        dynamics: the body's equations of motion.
        keys: poses and their frames.
        parts: contacts wanted, (N, 2, 3), or None.
        units: units of states.
        n_frames: N.
        fps: frames a second.
    """
    order = sorted(keys, key=lambda key: key.frame)
    bank = build_example_bank(field.examples, units)
    q = interpolate_keys(dynamics, keys, n_frames)
    found = np.zeros((n_frames, 2, 3), bool)
    levels, distances = [], []
    for a, b in pairwise(order):
        n = b.frame - a.frame + 1
        if n < 3:
            continue
        wanted = None if parts is None else parts[a.frame : b.frame + 1]
        stretch, distance = find_nearest_stretch(bank, a.q, b.q, n / fps, wanted)
        rows = np.linspace(stretch[0], stretch[1], n)
        q[a.frame : b.frame + 1] = bend_stretch(dynamics, sample_configurations(field.examples.q, rows), a.q, b.q)
        found[a.frame : b.frame + 1] = field.examples.parts[np.rint(rows).astype(int)]
        levels.append(field.examples.level_m[np.searchsorted(field.examples.start, stretch[0], side="right") - 1])
        distances.append(distance)
    if len(order) > 2:
        q = filter_configurations(q, fps, JOIN_HZ)
    level = np.mean(levels, axis=0) if levels else np.zeros((2, 3))
    return FirstMotion(q, found if parts is None else parts, level, max(distances, default=0.0))
