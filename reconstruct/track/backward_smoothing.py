"""Smoothing: what a moment is believed to have been once later ones are known (Rauch, Tung and Striebel 1965).

With the belief x(k), P(k) after a moment and x'(k+1), P'(k+1) as predicted from it, backwards from the last moment,

    G(k)  = P(k) F' P'(k+1)^-1
    xs(k) = x(k) + G(k) (xs(k+1) - x'(k+1))
F being how `predict` carries pose and velocity on. What neighbours and markers say of moment k+1 is in xs(k+1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from config.arrays import Floats
from config.settings import SolveSettings
from numerics.definite import invert_definite
from reconstruct.track.belief import N_POSE, POSE, VELOCITY, Belief, apply_pose_change, compute_kept_velocity, compute_pose_change


@dataclass(frozen=True, slots=True)
class Moment:
    """State of a moment that smoothing needs: the belief after it and, unless the body was found anew in it, how that came from
    before.

    Attributes:
        predicted: belief predicted for it before anything was seen.
        gain: G of the moment before, (2 V, 2 V).
    """

    belief: Belief
    predicted: Belief | None = None
    gain: Floats | None = None


def carry_moment(before: Belief, predicted: Belief, after: Belief, s: SolveSettings) -> Moment:
    """Return a moment that goes on from a belief.

    Args:
        before: belief after the moment before.
        predicted: belief predicted from it for this moment.
        after: this moment.
        s: settings with which it was predicted.
    """
    seconds = (predicted.state.t_ns - before.state.t_ns) * 1e-9
    kept, ahead = compute_kept_velocity(seconds, s)
    P = before.covariance
    carried = np.concatenate([P[:, POSE] + P[:, VELOCITY] * ahead, P[:, VELOCITY] * kept], axis=1)
    inverse = invert_definite(predicted.covariance)
    return Moment(after, predicted, None if inverse is None else carried @ inverse)


def smooth_backwards(moments: Sequence[Moment]) -> Belief:
    """Return the belief about the first of some moments, given all of them; its covariance is that of the first one alone.

    moments: consecutive, each carried on from the one before; where one is found anew, what follows tells nothing.
    """
    found = moments[-1].belief
    for now, after in reversed(list(pairwise(moments))):
        found = _smooth_belief(now.belief, after, found)
    return found


def _smooth_belief(now: Belief, after: Moment, found: Belief) -> Belief:
    """Return the belief of a moment given the next one, which is believed to have been as found."""
    predicted, gain = after.predicted, after.gain
    if predicted is None or gain is None:
        return now
    apart = np.concatenate([compute_pose_change(predicted.state, found.state), found.velocity - predicted.velocity])
    step = gain @ apart
    state = apply_pose_change(now.state, step[:N_POSE], now.state.t_ns)
    return replace(now, state=state, velocity=now.velocity + step[N_POSE:])
