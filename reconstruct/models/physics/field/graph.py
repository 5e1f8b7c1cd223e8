"""The steps of the examples, and which may follow which: a motion graph (Kovar et al. 2002).

Examples are cut into steps of a tenth of a second. After each goes on the same example, or one that is nearly the same there; or
the body stays as it is, where it stands.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from config.arrays import Bools, Floats, Ints
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.examples import ANGLE_RAD, ExampleBank, compute_relative_places

STEP_S = 0.1
CHANGES = 6  # examples that a chain may change to after a step
CHANGE_COST = 1.0  # of a change, besides how unlike the poses are: about a deviation of one unit
OWN_S = 0.3  # a change within an example leads at least so far from where it would go on
USUAL_UNLIKE = 1.0  # mean squared difference of mean poses, in deviations: performers of one way of moving (walks: < 0.8)
STANDS_M_S = 0.2  # a body that stays hardly moves


@dataclass(frozen=True, slots=True)
class MotionGraph:
    """Steps of the examples, and which may follow which.

    Attributes:
        bank: the examples.
        row: row that each step begins with, (S,).
        motion: example that each step is of, (S,).
        length: frames of a step.
        follow: steps that may follow, (S, 2 + CHANGES); -1 for none. The first goes on in the same example, the second is
            the step itself: the body stays.
        cost: of each, (S, 2 + CHANGES).
        unlike: how unlike the ways of moving of two examples are, (M, M): 0 for those of one.
        turn: how far the hips turn in each step, (S,) [rad].
        shift: how far they go, seen from their heading at the step's beginning, (S, 2) [m].
        push_m_s2: acceleration of the centre of mass in each frame of a step, along the ground and upwards, (S, F, 2) [m/s^2].
        down: whether a foot is down in each frame of a step, (S, F).
    """

    bank: ExampleBank
    row: Ints
    motion: Ints
    length: int
    follow: Ints
    cost: Floats
    unlike: Floats
    turn: Floats
    shift: Floats
    push_m_s2: Floats
    down: Bools


def build_motion_graph(bank: ExampleBank, dynamics: Dynamics) -> MotionGraph:
    """Return the motion graph of examples.

    Args:
        bank: the examples.
        dynamics: equations of motion of the body that is to move like them.
    """
    length = max(1, round(STEP_S * bank.examples.fps))
    starts, stops = bank.examples.start[:-1], bank.examples.start[1:]
    rows = [np.arange(a, b - length, length) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    row = np.concatenate(rows)
    ends = np.cumsum([len(each) for each in rows]) - 1
    after = np.arange(len(row)) + 1
    after[ends[ends >= 0]] = -1
    # A change is judged by the poses at the end of a step and a step later: by velocities, too.
    look = np.minimum(row + 2 * length, np.repeat(stops, [len(each) for each in rows]) - 1)
    here = np.concatenate([bank.pose[row], bank.pose[row + length]], axis=1)
    there = np.concatenate([bank.pose[row + length], bank.pose[look]], axis=1)
    apart = ((there**2).sum(axis=1)[:, None] - 2.0 * there @ here.T + (here**2).sum(axis=1)[None]) / (
        here.shape[1] * ANGLE_RAD**2
    )
    steps, motion = np.arange(len(row)), np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    turn, shift = compute_relative_places(
        bank.place[row], bank.heading[row], bank.place[row + length], bank.heading[row + length]
    )
    staying = np.maximum(np.diagonal(apart), 0.0) + (shift**2).sum(axis=1) / (STANDS_M_S * STEP_S) ** 2
    near = np.abs(steps[:, None] + 1 - steps) * length < OWN_S * bank.examples.fps
    apart[near & (motion[:, None] == motion)] = np.inf  # that is no change
    count = min(CHANGES, len(row) - 1)
    follow = np.argpartition(apart, count, axis=1)[:, :count]
    cost = CHANGE_COST + np.maximum(np.take_along_axis(apart, follow, axis=1), 0.0)
    going_on = np.where(after >= 0, 0.0, np.inf)
    return MotionGraph(
        bank,
        row,
        motion,
        length,
        np.concatenate([after[:, None], steps[:, None], follow], axis=1),
        np.concatenate([going_on[:, None], staying[:, None], cost], axis=1),
        _compute_unlikeness(bank),
        np.angle(np.exp(1j * turn)),
        shift,
        _compute_pushes(bank, dynamics)[row[:, None] + np.arange(length)],
        np.asarray(bank.examples.parts.any(axis=(1, 2)))[row[:, None] + np.arange(length)],
    )


def _compute_unlikeness(bank: ExampleBank) -> Floats:
    """Return how unlike the ways of moving of two examples are, (M, M): how far mean poses are apart beyond the usual."""
    mean = np.array([bank.pose[a:b].mean(axis=0) for a, b in pairwise(bank.examples.start.tolist())])
    apart = ((mean[:, None] - mean) ** 2).mean(axis=2) / ANGLE_RAD**2
    return np.asarray(np.maximum(apart - USUAL_UNLIKE, 0.0))


def _compute_pushes(bank: ExampleBank, dynamics: Dynamics) -> Floats:
    """Return the acceleration of the centre of mass along the ground and upwards in each frame, (F, 2) [m/s^2]."""
    examples = bank.examples
    center = np.array([dynamics.center_of_mass(q) for q in examples.q.astype(np.float64)])
    out = np.zeros((len(center), 2))
    for a, b in pairwise(examples.start.tolist()):
        push = np.gradient(np.gradient(center[a:b], axis=0), axis=0) * examples.fps**2
        out[a:b] = np.column_stack([np.hypot(push[:, 0], push[:, 2]), push[:, 1]])
    return out
