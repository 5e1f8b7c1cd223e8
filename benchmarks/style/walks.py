"""Real poses for the benchmarks of styles: walks of one person."""

from pathlib import Path

import numpy as np

from config.arrays import Floats
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import TrainingPoses, subsample, training_poses
from tools.evaluate.posing.cases import read_ranges, whole_takes

LEARNED = whole_takes("07_01", "07_02", "07_03", "07_05", "07_06", "07_10", "07_12")
HELD_OUT = whole_takes("07_07", "07_08")
MIN_SPREAD = 2e-3  # of the features that are used


def walking(motion: Path, max_poses: int) -> tuple[Skeleton, TrainingPoses]:
    """Return the walker's skeleton and at most `max_poses` poses to learn from. Raises DuocapError."""
    clips = read_ranges(LEARNED, motion)
    return clips[0].skeleton, subsample(training_poses(clips), max_poses)


def scaled_features(poses: TrainingPoses) -> Floats:
    """Return the features that move, each with mean 0 and variance 1, (N, D)."""
    Y = poses.features[:, poses.features.std(axis=0) > MIN_SPREAD]
    return np.ascontiguousarray((Y - Y.mean(axis=0)) / Y.std(axis=0))


def principal(Y: Floats, n_latent: int) -> Floats:
    """Return the first principal components of Y, (N, D), each scaled to variance 1, (N, Q)."""
    U, _, _ = np.linalg.svd(Y, full_matrices=False)
    return np.ascontiguousarray(U[:, :n_latent] * np.sqrt(len(Y)))


def gradient_errors(ends: tuple[float, float, float, float], step: float, exact: float) -> float:
    """Return the difference of a directional derivative from the central difference of fourth order.

    ends: values at -2, -1, 1 and 2 steps.
    """
    return abs((ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * step) - exact)
