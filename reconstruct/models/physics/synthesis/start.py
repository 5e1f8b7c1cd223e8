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

from config.arrays import Bools, Floats, Singles
from config.joints import N_JOINTS
from database.geometry.rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_about,
)
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.state import N_POSE, Units, states_of
from reconstruct.models.physics.smoothing import low_passed
from reconstruct.models.physics.synthesis.problem import KeyPose, MotionProblem

JOIN_HZ = 4.0  # stretches meet at a key with different velocities; what is faster than this is taken out
STRETCH = 1.6  # of an example's time, at most, and its inverse
ANGLE_RAD, PLACE_M, TURN_RAD, TEMPO, CONTACT = 0.15, 0.15, 0.25, 0.2, 0.25  # deviations that count 1
SAMPLES = 12  # frames at which contacts are compared
NEAREST = 40  # candidates for either end of a stretch, in each example


@dataclass(frozen=True, slots=True)
class FirstMotion:
    """A motion (N, 95), its contacts (N, 2, 3) and levels (2, 3) of the parts of the feet; distance: of the examples it is made
    of, the larger the less alike; 0 without examples."""

    q: Floats
    parts: Bools
    level_m: Floats
    distance: float


def near_example(problem: MotionProblem, first: FirstMotion) -> MotionProblem:
    """Return a problem whose motion stays near a first one, the less the less the examples are like what is wanted."""
    weight = problem.weights.example / max(1.0, first.distance) ** 2
    return replace(problem, example=first.q, weights=replace(problem.weights, example=weight))


def interpolated(dynamics: Dynamics, keys: tuple[KeyPose, ...], n_frames: int) -> Floats:
    """Return configurations (N, 95) through key poses by splines without overshoot, the same before the first and after the
    last.
    """
    order = sorted(keys, key=lambda key: key.frame)
    frames = np.array([key.frame for key in order])
    base = order[len(order) // 2].q
    change = dynamics.difference(np.repeat(base[None], len(order), axis=0), np.array([key.q for key in order]))
    if len(order) == 1:
        return np.repeat(base[None], n_frames, axis=0)
    times = np.clip(np.arange(n_frames), frames[0], frames[-1])
    return dynamics.integrate(np.repeat(base[None], n_frames, axis=0), PchipInterpolator(frames, change)(times))


def from_examples(
    field: ForceField,
    dynamics: Dynamics,
    keys: tuple[KeyPose, ...],
    parts: Bools | None,
    units: Units,
    n_frames: int,
    fps: float,
) -> FirstMotion:
    """Return a motion through key poses made of the nearest stretch of an example between each two. parts: contacts wanted."""
    order = sorted(keys, key=lambda key: key.frame)
    bank = _bank(field, units)
    q = interpolated(dynamics, keys, n_frames)
    found = np.zeros((n_frames, 2, 3), bool)
    levels, distances = [], []
    for a, b in pairwise(order):
        n = b.frame - a.frame + 1
        if n < 3:
            continue
        wanted = None if parts is None else parts[a.frame : b.frame + 1]
        stretch, distance = _nearest(field, bank, (a.q, b.q), n / fps, wanted, units)
        rows = np.linspace(stretch[0], stretch[1], n)
        q[a.frame : b.frame + 1] = _fitted(dynamics, _sampled(field.examples.q, rows), a.q, b.q)
        found[a.frame : b.frame + 1] = field.examples.parts[np.rint(rows).astype(int)]
        levels.append(field.examples.level_m[np.searchsorted(field.examples.start, stretch[0], side="right") - 1])
        distances.append(distance)
    if len(order) > 2:
        q = low_passed(q, fps, JOIN_HZ)
    level = np.mean(levels, axis=0) if levels else np.zeros((2, 3))
    return FirstMotion(q, found if parts is None else parts, level, max(distances, default=0.0))


@dataclass(frozen=True, slots=True)
class _Bank:
    """The examples: poses (F, 70) of `states_of`, places in the plane (F, 2) and headings (F,)."""

    pose: Floats
    place: Floats
    heading: Floats


def _bank(field: ForceField, units: Units) -> _Bank:
    """Return what of the examples is compared."""
    q = field.examples.q.astype(np.float64)
    return _Bank(_poses(q, units), q[:, [0, 2]], heading_rad(q))


def _poses(q: Floats, units: Units) -> Floats:
    """Return the part of states that is pose, (N, 70)."""
    return states_of(q, np.zeros((len(q), 72)), 0.0, units)[:, :N_POSE]


def heading_rad(q: Floats) -> Floats:
    """Return the angle about Y of where the hips face, (N,) [rad]."""
    ahead = matrix_from_quaternion(q[:, 3:7])[:, :, 2]
    return np.asarray(np.arctan2(ahead[:, 0], ahead[:, 2]))


def _nearest(
    field: ForceField,
    bank: _Bank,
    ends: tuple[Floats, Floats],
    seconds: float,
    wanted: Bools | None,
    units: Units,
) -> tuple[tuple[int, int], float]:
    """Return the rows of the nearest stretch of an example, and its distance."""
    both = np.array(ends)
    target = _poses(both, units)
    turn, shift = _relative(both[:1, [0, 2]], heading_rad(both[:1]), both[1:, [0, 2]], heading_rad(both[1:]))
    apart = [np.sqrt(((bank.pose - row) ** 2).mean(axis=1)) / ANGLE_RAD for row in target]
    best, least = (0, 1), np.inf
    frames = seconds * field.examples.fps
    for start, stop in pairwise(field.examples.start.tolist()):
        firsts = start + np.argsort(apart[0][start:stop], kind="stable")[:NEAREST]
        lasts = start + np.argsort(apart[1][start:stop], kind="stable")[:NEAREST]
        a, b = (grid.ravel() for grid in np.meshgrid(firsts, lasts))
        allowed = (b - a + 1 > frames / STRETCH) & (b - a + 1 < frames * STRETCH) & (b - a >= 2)
        a, b = a[allowed], b[allowed]
        if not len(a):
            continue
        turned, moved = _relative(bank.place[a], bank.heading[a], bank.place[b], bank.heading[b])
        cost = apart[0][a] ** 2 + apart[1][b] ** 2
        cost += ((moved - shift) ** 2).sum(axis=1) / PLACE_M**2
        cost += (np.angle(np.exp(1j * (turned - turn))) / TURN_RAD) ** 2 + (np.log((b - a + 1) / frames) / TEMPO) ** 2
        if wanted is not None:
            share = np.linspace(0.0, 1.0, SAMPLES)
            rows = np.rint(a[:, None] + share * (b - a)[:, None]).astype(int)
            here = wanted[np.rint(share * (len(wanted) - 1)).astype(int)]
            cost += ((field.examples.parts[rows] != here).mean(axis=(1, 2, 3)) / CONTACT) ** 2 * 4.0
        k = int(np.argmin(cost))
        if cost[k] < least:
            best, least = (int(a[k]), int(b[k])), float(cost[k])
    if not np.isfinite(least):
        best = _anywhere(field, frames)
        least = 100.0
    return best, float(np.sqrt(least))


def _anywhere(field: ForceField, frames: float) -> tuple[int, int]:
    """Return the longest example, as much of it as is wanted: where none can be stretched enough."""
    lengths = np.diff(field.examples.start)
    k = int(np.argmax(lengths))
    first = int(field.examples.start[k])
    return first, first + min(int(lengths[k]) - 1, max(2, round(frames) - 1))


def _relative(place: Floats, heading: Floats, to_place: Floats, to_heading: Floats) -> tuple[Floats, Floats]:
    """Return turns (N,) and shifts (N, 2) from one to the other, seen from the first heading."""
    d = to_place - place
    c, s = np.cos(heading), np.sin(heading)
    shift = np.stack([c * d[:, 0] - s * d[:, 1], s * d[:, 0] + c * d[:, 1]], axis=1)
    return np.asarray(to_heading - heading), shift


def _sampled(q: Floats | Singles, rows: Floats) -> Floats:
    """Return configurations at rows between the frames, (N, 95)."""
    low = np.minimum(rows.astype(int), len(q) - 2)
    share = rows - low
    a, b = q[low].astype(np.float64), q[low + 1].astype(np.float64)
    first, second = (each[:, 3:].reshape(len(rows), N_JOINTS, 4) for each in (a, b))
    second = second * np.where((first * second).sum(axis=2, keepdims=True) < 0.0, -1.0, 1.0)
    mixed = (1.0 - share[:, None, None]) * first + share[:, None, None] * second
    mixed /= np.linalg.norm(mixed, axis=2, keepdims=True)
    root = a[:, :3] + share[:, None] * (b[:, :3] - a[:, :3])
    return np.concatenate([root, mixed.reshape(len(rows), -1)], axis=1)


def _fitted(dynamics: Dynamics, q: Floats, first: Floats, last: Floats) -> Floats:
    """Return a stretch moved and bent so that it begins and ends with two poses; it turns and moves as a whole to the chord."""
    moved = _placed(q, first, last)
    share = np.linspace(0.0, 1.0, len(q))[:, None]
    ends = [dynamics.difference(moved[[k]], pose[None]) for k, pose in ((0, first), (-1, last))]
    return dynamics.integrate(moved, (1.0 - share) * ends[0] + share * ends[1])


def _placed(q: Floats, first: Floats, last: Floats) -> Floats:
    """Return a stretch turned about Y by the mean turn that its ends need, its places through those of the two poses."""
    wanted, have = heading_rad(np.array([first, last])), heading_rad(q[[0, -1]])
    turn = wanted[0] - have[0]
    end = np.angle(np.exp(1j * (wanted[1] - have[1] - turn)))
    chord, new = q[-1, [0, 2]] - q[0, [0, 2]], last[[0, 2]] - first[[0, 2]]
    if np.linalg.norm(chord) > 0.3 and np.linalg.norm(new) > 0.3:
        place_turn = np.arctan2(new[0], new[1]) - np.arctan2(chord[0], chord[1])
    else:
        place_turn = turn
    share = np.linspace(0.0, 1.0, len(q))
    R = rotation_about((0.0, 1.0, 0.0), turn + share * end)
    P = rotation_about((0.0, 1.0, 0.0), place_turn)
    root = (q[:, :3] - q[0, :3]) @ P.T
    root[:, 1] = q[:, 1]
    root[:, [0, 2]] += first[[0, 2]] + share[:, None] * (last[[0, 2]] - first[[0, 2]] - root[-1, [0, 2]])
    out = q.copy()
    out[:, :3] = root
    out[:, 3:7] = quaternion_from_matrix(R @ matrix_from_quaternion(q[:, 3:7]))
    return out
