"""A bounded store of poses unlike each other, from a motion of any length: old kinds stay as new ones come.

No two of its poses are nearer than a radius to each other. When it is full, the radius grows until a fifth of it is free again
(after the doubling algorithm of Charikar, Chekuri, Feder & Motwani 1997, section 4): what is seen often takes no more room than
what is seen once.
"""

import numpy as np

from database.rotations import Floats
from reconstruct.style.features import N_FEATURES, N_STATIC, Moments, TrainingPoses
from reconstruct.style.recent import Sample

FIRST_RADIUS_RAD = 0.15  # a walk goes 0.5 in a step of 1/30 s, the noise of somebody who stands still stays below
GROWTH = 1.2
THINNED = 0.8
VELOCITY_STEPS = 2.0  # poses that go apart are unlike: how far they will be apart in so many steps


def keys_of(features: Floats) -> Floats:
    """Give what tells poses apart, (..., K) [rad], of features (..., F): statics and velocities."""
    return np.concatenate([features[..., :N_STATIC], VELOCITY_STEPS * features[..., N_STATIC : 2 * N_STATIC]], axis=-1)


def distances(key: Floats, keys: Floats) -> Floats:
    """Give how far one pose, (K,), is from others, (N, K) -> (N,) [rad]: the length of all coordinates' differences."""
    difference = keys - key
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", difference, difference)))


class Distinct:
    """At most `most` poses, unlike each other."""

    def __init__(self, most: int) -> None:
        self._most, self.radius_rad = most, FIRST_RADIUS_RAD
        self._samples: list[Sample] = []
        self._keys = np.zeros((most, keys_of(np.zeros(N_FEATURES)).shape[-1]))

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, sample: Sample) -> bool:
        """Keep a pose if there is none like it yet, and tell so."""
        key = keys_of(sample.features)
        if len(self) and distances(key, self._keys[: len(self)]).min() < self.radius_rad:
            return False
        if len(self) == self._most:
            self._thin()
        self._keys[len(self)] = key
        self._samples.append(sample)
        return True

    def poses(self) -> TrainingPoses:
        """Give all poses, oldest first."""
        samples = self._samples
        stretch = np.array([sample.stretch for sample in samples], np.int64)
        seconds = np.array([sample.seconds for sample in samples], np.float64)
        features = np.array([sample.features for sample in samples]).reshape(-1, N_FEATURES)
        return TrainingPoses(features, np.array([sample.rotvec for sample in samples]), Moments(stretch, seconds))

    def _thin(self) -> None:
        """Widen the radius until there is room again; of poses alike the oldest stays."""
        keys = self._keys[: len(self)]
        square = np.einsum("nk,nk->n", keys, keys)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2.0 * keys @ keys.T, 0.0))
        kept = np.arange(len(self))
        while len(kept) > THINNED * self._most:
            self.radius_rad *= GROWTH
            near, alive = apart < self.radius_rad, np.ones(len(self), bool)
            for row in range(len(self)):
                if alive[row]:
                    alive[row + 1 :] &= ~near[row, row + 1 :]
            kept = np.flatnonzero(alive)
        self._keys[: len(kept)] = keys[kept]
        self._samples = [self._samples[row] for row in kept]
