"""Motion: where the next pose is expected, and how surely, from the last poses and from what the neighbours did.

The smoothness term of Chai & Hodgins 2005, eq. 9, expects every joint to go on as it went, equally surely. Here half of the
prediction is how the neighbours came to where they are, and the spread of their steps says which joints may change how they move:

    q_t ~ N(q_{t-1} + s (v_k) + (1 - s) (q_{t-1} - q_{t-2}),  spread Cov(v_k) + drift^2 G),    v_k = q_k - q_{k-1}

with G the covariance of the whole database, scaled to one on average.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Singles, read_only
from config.jit import kernel
from reconstruct.search.examples import Examples


@dataclass(frozen=True, slots=True)
class MotionPrior:
    """A Gaussian over the next pose: where, (D,) [rad], and how surely, (D, D) [rad^2]."""

    expected: Floats
    covariance: Floats


def weighted_moments(rows: Floats | Singles, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean (D,) and covariance (D, D) of rows (K, D), this in their precision; weights (K,) of any positive scale."""
    mean, spread = np.empty(rows.shape[1]), np.empty_like(rows, order="C")
    _spread_of(read_only(rows), weights, mean, spread)
    return mean, (spread.T @ spread).astype(np.float64)


@kernel
def _spread_of(rows: Floats | Singles, weights: Floats, mean: Floats, spread: Floats | Singles) -> None:
    """Write the weighted mean of rows (K, D), and how far each is from it, times the root of its share of the weights, (K, D)."""
    n_rows, n, total = rows.shape[0], rows.shape[1], 0.0
    for k in range(n_rows):
        total += weights[k]
    mean[:] = 0.0
    for k in range(n_rows):
        share = weights[k] / total
        for i in range(n):
            mean[i] += share * rows[k, i]
    for k in range(n_rows):
        root = math.sqrt(weights[k] / total)
        for i in range(n):
            spread[k, i] = root * (rows[k, i] - mean[i])


def example_starts(examples: Examples) -> NDArray[np.int64]:
    """Return the first example of each example's clip, (N,)."""
    first = np.flatnonzero(np.diff(examples.clip, prepend=examples.clip[:1] - 1))
    return np.asarray(np.repeat(first, np.diff(np.append(first, len(examples)))))


def steps_to(examples: Examples, starts: NDArray[np.int64], chosen: NDArray[np.int64], poses: Singles) -> Singles:
    """Return how examples (K,), whose poses are (K, D), moved in the frame before, (K, D) [rad]; zero for the first of a clip."""
    return poses - examples.pose[np.maximum(chosen - 1, starts[chosen])]


def drift_shape(background: Floats) -> Floats:
    """Return how joints depart from their course, (D, D), one on average, from the database's covariance (D, D) [rad^2]."""
    some = background + 1e-4 * np.eye(len(background))
    return np.asarray(some * (len(some) / np.trace(some)))


def expected_motion(
    last: Floats, carried: Floats, steps: Floats | Singles, weights: Floats, *, share: float, spread: float, drift: Floats
) -> MotionPrior:
    """Join constant velocity and the neighbours' own steps.

    last: q_{t-1}, (D,) [rad]; carried: where constant velocity leads, (D,); steps: of the neighbours in the same time, (K, D)
    [rad], with weights (K,); share: of the neighbours in the expected pose; spread: variances of their steps that count; drift:
    (D, D).
    """
    mean, covariance = weighted_moments(steps, weights)
    return MotionPrior(share * (last + mean) + (1.0 - share) * carried, spread * covariance + drift)
