"""First motions for the search: interpolated between key poses, or from the nearest example of a force field.

The objective has many minima (Wei et al. 2011, section 7), and a straight line between two poses of a walk is far from the right
one. The examples that the field was learned from know better: between each two key poses goes the chain of them that suits poses,
way, contacts and ground best (`field.chains`); next to the poses it becomes these.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.interpolate import PchipInterpolator

from config.arrays import Bools, Floats
from database.clips import find_runs
from database.contacts import LOW_M
from reconstruct.models.physics.contacts import N_FEET, compute_part_positions
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics
from reconstruct.models.physics.field.chains import Ground, find_nearest_chain, lay_chain
from reconstruct.models.physics.field.examples import AVERAGED, average_examples, build_example_bank
from reconstruct.models.physics.field.graph import build_motion_graph
from reconstruct.models.physics.smoothing import filter_configurations
from reconstruct.models.physics.synthesis.problem import STEP_M, ExampleMotion, KeyPose, MotionProblem, Surroundings

NEXT_TO_S = 0.1
AROUND = 6  # frames: the way at a frame is from so many before to so many after
CLEAR_M = 0.02  # of a mound under a foot that stands beside it
JOIN_HZ = 4.0  # stretches meet at a key with different velocities; what is faster than this is taken out


@dataclass(frozen=True, slots=True)
class FirstMotion:
    """A motion for the search to begin with.

    Attributes:
        q: configurations, (N, 95).
        parts: parts of the feet that carry weight, (N, 2, 3).
        level_m: height of each part when it stands, (2, 3) [m].
        distance: distance of the examples that it is made of, 0 without examples; the larger, the less alike.
        spread: how they differ from it, as `ExampleMotion` has it, (N, K, 72).
    """

    q: Floats
    parts: Bools
    level_m: Floats
    distance: float
    spread: Floats


def stay_near_examples(problem: MotionProblem, first: FirstMotion) -> MotionProblem:
    """Return a problem whose motion stays near the examples of a first one."""
    return replace(problem, example=ExampleMotion(first.q, first.spread, first.distance))


def interpolate_keys(dynamics: Dynamics, keys: tuple[KeyPose, ...], n_frames: int) -> Floats:
    """Return configurations (N, 95) through key poses by splines without overshoot, the same before the first and after the last.

    Args:
        dynamics: the body's equations of motion.
        keys: poses and their frames.
        n_frames: number N of frames.
    """
    order = sorted(keys, key=lambda key: key.frame)
    frames = np.array([key.frame for key in order])
    base = order[len(order) // 2].q
    change = dynamics.difference(np.repeat(base[None], len(order), axis=0), np.array([key.q for key in order]))
    if len(order) == 1:
        return np.repeat(base[None], n_frames, axis=0)
    times = np.clip(np.arange(n_frames), frames[0], frames[-1])
    return dynamics.integrate(np.repeat(base[None], n_frames, axis=0), PchipInterpolator(frames, change)(times))


def build_from_examples(problem: MotionProblem, parts: Bools | None, tempo: float = 1.0) -> FirstMotion:
    """Return a motion through key poses made of the nearest chain of examples between each two.

    Args:
        problem: the problem, with a force field and its examples; its contacts are not looked at.
        parts: contacts wanted, (N, 2, 3), or None.
        tempo: of the motion, over which its times are already.
    """
    field, around, n_frames, fps = problem.field, problem.surroundings, problem.n_frames, problem.fps * tempo
    assert field is not None
    dynamics = problem.dynamics()
    keys = (replace(key, q=_raise(key.q, around, -1.0)) for key in problem.keys)  # examples are level
    order = sorted(keys, key=lambda key: key.frame)
    bank = build_example_bank(field.examples, dynamics, problem.units)
    graph = build_motion_graph(bank, dynamics)
    ground = Ground(float(np.linalg.norm(around.gravity_m_s2)), around.friction)
    q = interpolate_keys(dynamics, tuple(order), n_frames)
    found, spread = np.zeros((n_frames, 2, 3), bool), np.zeros((n_frames, AVERAGED, N_TANGENT))
    levels, distances = [], []
    for a, b in pairwise(order):
        n = b.frame - a.frame + 1
        if n < 3:
            continue
        rows = slice(a.frame, b.frame + 1)
        way = _find_way(problem, a.frame, b.frame)
        chain = find_nearest_chain(graph, a.q, b.q, n / fps, None if parts is None else parts[rows], ground, way)
        q[rows], found[rows] = lay_chain(dynamics, bank, chain, np.array([a.q, b.q]), n)
        wanted = found[rows] if parts is None else parts[rows]
        used = np.searchsorted(field.examples.start, chain.first, side="right") - 1
        others = sorted(set(range(len(field.examples.level_m))) - set(used.tolist()))
        q[rows], spread[rows] = average_examples(dynamics, bank, (q[rows], chain.distance), n / fps, wanted, others)
        levels += list(field.examples.level_m[used])
        distances.append(chain.distance)
    if len(order) > 2:
        q = filter_configurations(q, fps, JOIN_HZ)
    level, near = np.mean(levels, axis=0) if levels else np.zeros((2, 3)), round(NEXT_TO_S * fps)
    for key in order:
        rows = slice(max(0, key.frame - near), key.frame + near + 1)
        if key.parts is not None:
            found[rows] = key.parts
        else:  # what it has in the air is not down next to it
            over = compute_part_positions(dynamics.points, dynamics.contact_positions(key.q[None]))[0, ..., 1] - level
            found[rows] &= over < LOW_M
    q = _clear_mounds(dynamics, _raise(q, around, 1.0), found if parts is None else parts, around)
    return FirstMotion(q, found if parts is None else parts, level, max(distances, default=0.0), spread)


def _find_way(problem: MotionProblem, first: int, last: int) -> Floats | None:
    """Return where the hips are to go between two keys, at equal times, (K, 2) [m]; None where no path says so all the way."""
    for path in problem.paths:
        if path.joint == 0 and path.axes[0] * path.axes[2] > 0.0 and path.frames[0] <= first and path.frames[-1] >= last:
            return np.asarray(path.position_m[first - path.frames[0] : last + 1 - path.frames[0]][:, [0, 2]])
    return None


def _clear_mounds(dynamics: Dynamics, q: Floats, parts: Bools, around: Surroundings) -> Floats:
    """Return a motion (N, 95) whose feet come down beside what a foot cannot stand on: it goes a little less or more far there.

    Every stance on a mound narrower than a step is moved along the way to the nearest place that is free; other stances stay, and
    in between the motion is moved in proportion.
    """
    logs = [mound for mound in around.mounds if (mound.size_m < STEP_M).any()]
    if not logs:
        return q
    p = dynamics.contact_positions(q)[..., [0, 2]]
    ahead = q[-1, [0, 2]] - q[0, [0, 2]]
    places, feet = q[:, [0, 2]], dynamics.points.foot
    middles, moved = [0, len(q) - 1], [np.zeros(2), np.zeros(2)]
    for foot in range(N_FEET):
        for first, stop in find_runs(np.asarray(parts[:, foot].any(axis=1))):
            n = (first + stop - 1) // 2
            if n in middles:
                continue
            way = places[min(n + AROUND, len(q) - 1)] - places[max(n - AROUND, 0)]
            way = way if np.linalg.norm(way) > CLEAR_M else ahead
            way = way / max(float(np.linalg.norm(way)), CLEAR_M)
            steps = sorted(np.arange(-STEP_M, STEP_M, 0.5 * CLEAR_M), key=abs)
            free = [
                step
                for step in steps
                if all(log.compute_ground(p[n, feet == foot] + step * way)[0].max() < CLEAR_M for log in logs)
            ]
            middles.append(n)
            moved.append(free[0] * way if free else np.zeros(2))
    order = np.argsort(middles, kind="stable")
    out = q.copy()
    out[:, [0, 2]] += PchipInterpolator(np.array(middles)[order], np.array(moved)[order])(np.arange(len(q)))
    return out


def _raise(q: Floats, around: Surroundings, sign: float) -> Floats:
    """Return configurations (..., 95) higher by the ground under their hips, or lower."""
    out = q.copy()
    out[..., 1] += sign * around.height_m(q[..., 0], q[..., 2])
    return out
