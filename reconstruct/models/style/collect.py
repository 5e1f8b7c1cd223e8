"""Collecting training poses while poses are solved: features at a fixed rate, and a bounded store of distinct poses."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, is_all_finite
from config.joints import N_JOINTS
from reconstruct.models.style.features import (
    N_FEATURES,
    N_STATIC,
    NEAR_PI_RAD,
    STEP_S,
    PoseTimes,
    TrainingPoses,
    append_differences,
    choose_nearest_rotvec,
    compute_static_features,
)
from reconstruct.pose import Pose, TrackingState

STEP_NS = round(STEP_S * 1e9)
EARLY_NS = STEP_NS // 5  # frames of 30 Hz are sometimes a little early
GAP_NS = 75_000_000  # one lost frame of a 30 Hz camera is interpolated, two are a gap
MIN_SEEN = 0.75  # share of the markers: styles are learned from measured poses, not from predicted ones
JUMP_RAD = 1.2  # of a joint within a step: 36 rad/s is a pose acquired again, not a motion
FIRST_RADIUS_RAD = 0.15  # a walk moves 0.5 in a step of 1/30 s, the noise of somebody standing stays below
RADIUS_GROWTH = 1.2
THINNED = 0.8
VELOCITY_STEPS = 2.0  # velocities count as how far poses will be apart after this many steps


@dataclass(frozen=True, slots=True)
class FeatureSample:
    """Features at one time, (F,), the pose, (J, 3) [rad], and the time: number of the stretch, and time in it [s]."""

    features: Floats
    rotvec: Floats
    stretch: int
    seconds: float


class RecentPoses:
    """Computes features at RATE_HZ from poses at any rate; poses that were badly seen leave a gap."""

    def __init__(self) -> None:
        self._stretch = self._begun_ns = self._due_ns = 0
        self._past: list[tuple[int, Floats, Floats]] = []  # time [ns], rotation vectors, static features

    def add(self, pose: Pose) -> FeatureSample | None:
        """Add a pose; return the features if a step is over and the two steps before it were seen too."""
        if not is_well_seen(pose):
            self._past.clear()
            return None
        t_ns, rotvec = pose.t_capture_ns, pose.rotvec
        if self._past:
            before_ns, before, _ = self._past[-1]
            if t_ns == before_ns:
                return None
            far = 1 + np.flatnonzero(_compute_squared_lengths(rotvec[1:]) > NEAR_PI_RAD**2)
            if len(far):
                rotvec = rotvec.copy()
                rotvec[far] = choose_nearest_rotvec(rotvec[far], before[far])
            if not 0 < t_ns - before_ns <= GAP_NS or _compute_squared_lengths(rotvec[1:] - before[1:]).max() > JUMP_RAD**2:
                self._past.clear()
        if not self._past:
            self._stretch, self._begun_ns, rotvec = self._stretch + 1, t_ns, pose.rotvec
        self._past.append((t_ns, rotvec, compute_static_features(rotvec)))
        while len(self._past) > 2 and self._past[1][0] <= t_ns - 2 * STEP_NS:
            del self._past[0]
        if 0 < self._due_ns - t_ns < STEP_NS or self._past[0][0] > t_ns - 2 * STEP_NS:
            return None
        self._due_ns = t_ns + STEP_NS - EARLY_NS
        features = append_differences(self._past[-1][2], self._static_at(t_ns - STEP_NS), self._static_at(t_ns - 2 * STEP_NS))
        return FeatureSample(features, rotvec.copy(), self._stretch, 1e-9 * (t_ns - self._begun_ns))

    def _static_at(self, t_ns: int) -> Floats:
        """Return static features interpolated at a time."""
        later = next(n for n, (at_ns, _, _) in enumerate(self._past) if at_ns >= t_ns)
        if later == 0:
            return self._past[0][2]
        (from_ns, _, before), (to_ns, _, after) = self._past[later - 1], self._past[later]
        return np.asarray(before + (t_ns - from_ns) / (to_ns - from_ns) * (after - before))


def is_well_seen(pose: Pose) -> bool:
    """Return whether a style may be learned from a pose: tracked, most markers seen, finite."""
    n_markers = pose.seen.shape[1]
    if pose.state is not TrackingState.TRACKING or pose.rotvec.shape != (N_JOINTS, 3) or n_markers == 0:
        return False
    n_seen = np.count_nonzero(pose.seen.any(axis=0))
    return bool(n_seen >= MIN_SEEN * n_markers and is_all_finite(pose.rotvec))


def _compute_squared_lengths(vectors: Floats) -> Floats:
    """Return the squared lengths of vectors, (J, 3)."""
    return np.asarray(np.einsum("jk,jk->j", vectors, vectors))


def compute_keys(features: Floats) -> Floats:
    """Return the values that tell poses apart, (..., K) [rad], of features (..., F): statics and velocities."""
    return np.concatenate([features[..., :N_STATIC], VELOCITY_STEPS * features[..., N_STATIC : 2 * N_STATIC]], axis=-1)


def compute_distances(key: Floats, keys: Floats) -> Floats:
    """Return the Euclidean distances of one pose, (K,), from others, (N, K) -> (N,) [rad]."""
    difference = keys - key
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", difference, difference)))


class DistinctPoses:
    """At most `max_poses` poses of a motion of any length, no two nearer than a radius to each other.

    When the store is full, the radius grows until a fifth of it is free (after the doubling algorithm of Charikar, Chekuri, Feder
    & Motwani 1997, section 4): frequent poses take no more room than rare ones, and old kinds stay as new ones come.
    """

    def __init__(self, max_poses: int) -> None:
        self._max, self.radius_rad = max_poses, FIRST_RADIUS_RAD
        self._samples: list[FeatureSample] = []
        self._keys = np.zeros((max_poses, compute_keys(np.zeros(N_FEATURES)).shape[-1]))
        self._lengths = np.zeros(max_poses)  # of the keys

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, sample: FeatureSample) -> bool:
        """Add a pose if none is near it; return whether it was added."""
        key = compute_keys(sample.features)
        length = float(np.sqrt(key @ key))
        if self._has_near(key, length):
            return False
        if len(self) == self._max:
            self._thin()
        self._keys[len(self)], self._lengths[len(self)] = key, length
        self._samples.append(sample)
        return True

    def _has_near(self, key: Floats, length: float) -> bool:
        """Return whether a pose is nearer than the radius: only some are as long as one that is must be."""
        alike = (np.abs(self._lengths[: len(self)] - length) < self.radius_rad + 1e-9).nonzero()[0]
        return bool(len(alike) and compute_distances(key, self._keys[alike]).min() < self.radius_rad)

    def poses(self) -> TrainingPoses:
        """Return all poses, oldest first."""
        samples = self._samples
        stretch = np.array([sample.stretch for sample in samples], np.int64)
        seconds = np.array([sample.seconds for sample in samples], np.float64)
        features = np.array([sample.features for sample in samples]).reshape(-1, N_FEATURES)
        return TrainingPoses(features, np.array([sample.rotvec for sample in samples]), PoseTimes(stretch, seconds))

    def _thin(self) -> None:
        """Increase the radius until there is room again; of near poses the oldest stays."""
        keys = self._keys[: len(self)]
        square = np.einsum("nk,nk->n", keys, keys)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2.0 * keys @ keys.T, 0.0))
        kept = np.arange(len(self))
        while len(kept) > THINNED * self._max:
            self.radius_rad *= RADIUS_GROWTH
            near, alive = apart < self.radius_rad, np.ones(len(self), bool)
            for row in range(len(self)):
                if alive[row]:
                    alive[row + 1 :] &= ~near[row, row + 1 :]
            kept = np.flatnonzero(alive)
        self._keys[: len(kept)], self._lengths[: len(kept)] = keys[kept], self._lengths[kept]
        self._samples = [self._samples[row] for row in kept]
