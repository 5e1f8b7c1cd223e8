"""How examples move: their steps, and how the motion between them bends."""

import math

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints, Singles, make_read_only
from config.jit import kernel
from reconstruct.search.examples import Examples

BEND_OUTLIER = 5.0  # second differences beyond this many robust standard deviations are faults of recordings
N_SAMPLED = 40_000


def compute_weighted_moments(rows: Floats | Singles, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean (D,) and covariance (D, D) of rows (K, D), this in their precision; weights (K,) of any positive scale."""
    mean, spread = np.empty(rows.shape[1]), np.empty_like(rows, order="C")
    _compute_spread(make_read_only(rows), weights, mean, spread)
    return mean, (spread.T @ spread).astype(np.float64)


@kernel
def _compute_spread(rows: Floats | Singles, weights: Floats, mean: Floats, spread: Floats | Singles) -> None:
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


def find_example_starts(examples: Examples) -> NDArray[np.int64]:
    """Return the first example of each example's clip, (N,)."""
    first = np.flatnonzero(np.diff(examples.clip, prepend=examples.clip[:1] - 1))
    return np.asarray(np.repeat(first, np.diff(np.append(first, len(examples)))))


def find_example_ends(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the example after the last of each example's clip, (N,); starts: as `find_example_starts` returns them."""
    first, counts = np.unique(starts, return_counts=True)
    return np.asarray(np.repeat(first + counts, counts))


def compute_drift_shape(background: Floats) -> Floats:
    """Return how joints depart from their course, (D, D), one on average, from the database's covariance (D, D) [rad^2]."""
    some = background + 1e-4 * np.eye(len(background))
    return np.asarray(some * (len(some) / np.trace(some)))


def compute_example_steps(examples: Examples, first: Ints, last: Ints, poses: Singles) -> Floats:
    """Return how examples move from some to others: joints and root, (K, D + 6).

    Of the root the rotation vector [rad] and the shift [m], in its own axes; zero where nothing is known of it.

    Args:
        examples: the known poses.
        first: rows the steps begin at, (K,).
        last: rows they end at, (K,).
        poses: joints of `last`, (K, D) [rad].
    """
    root = np.zeros((len(last), 6)) if examples.root is None else examples.root.steps(first, last)
    return np.concatenate([poses.astype(np.float64) - examples.pose[first], root], axis=1)


def compute_bend_covariance(examples: Examples) -> Floats:
    """Return the covariance of the second differences of all examples, joints and root, (D + 6, D + 6), about zero."""
    middle = np.flatnonzero(examples.clip[2:] == examples.clip[:-2]) + 1
    middle = middle[:: max(1, len(middle) // N_SAMPLED)]
    n = examples.pose.shape[1] + 6
    if not len(middle):
        return np.eye(n) * 1e-4
    now, after = examples.pose[middle], examples.pose[middle + 1]
    bend = compute_example_steps(examples, middle, middle + 1, after) - compute_example_steps(examples, middle - 1, middle, now)
    usual = 1.48 * np.median(np.abs(bend), axis=0) + 1e-4
    bend = np.clip(bend, -BEND_OUTLIER * usual, BEND_OUTLIER * usual)
    covariance = bend.T @ bend / len(bend)
    return np.asarray(covariance + 1e-3 * np.trace(covariance) / n * np.eye(n))
