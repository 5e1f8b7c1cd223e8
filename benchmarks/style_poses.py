"""Real poses for the benchmarks of styles: walks of one person."""

from pathlib import Path

import numpy as np

from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.features import TrainingPoses, some, training_poses
from tools.evaluation.posing_cases import Part, parts

LEARNED = ("07_01", "07_02", "07_03", "07_05", "07_06", "07_10", "07_12")
HELD_OUT = ("07_07", "07_08")
MOVES = 2e-3  # features that spread less are left out


def walking(motion: Path, most: int) -> tuple[Skeleton, TrainingPoses]:
    """Give who walks and at most `most` poses of the takes learned of. Raises DuocapError."""
    clips = parts(tuple(Part(stem) for stem in LEARNED), motion)
    return clips[0].skeleton, some(training_poses(clips), most)


def scaled_features(poses: TrainingPoses) -> Floats:
    """Give the features that move, each with mean 0 and variance 1, (N, D)."""
    Y = poses.features[:, poses.features.std(axis=0) > MOVES]
    return np.ascontiguousarray((Y - Y.mean(axis=0)) / Y.std(axis=0))


def principal(Y: Floats, n_latent: int) -> Floats:
    """Give the first principal components of Y, (N, D), each brought to variance 1, (N, Q)."""
    U, _, _ = np.linalg.svd(Y, full_matrices=False)
    return np.ascontiguousarray(U[:, :n_latent] * np.sqrt(len(Y)))
