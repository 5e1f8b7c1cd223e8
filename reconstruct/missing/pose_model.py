"""Pose models: what joints may be where markers are missing.

The local model knows the poses of the database. A pose model knows others, such as those that the performer took before
(`missing.style`), and predicts the joints as a Gaussian, which is multiplied with what is known of the frame.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from numerics.definite import factor_definite, solve_factored
from reconstruct.body_state import BodyState
from reconstruct.models.local.model import DOFS, FULL, LocalModel
from reconstruct.observations import Observations
from reconstruct.solve.root import RootPrior


@dataclass(frozen=True, slots=True)
class PartialFrame:
    """Observations of a frame before a pose model is asked.

    Attributes:
        observations: nothing where a marker is missing.
        state: the pose solved from them without the pose model.
        variance: variance of each joint coordinate, (D,) [rad^2], large where nothing is seen and neither the past nor the
            neighbours know.
    """

    observations: Observations
    state: BodyState
    variance: Floats


@dataclass(frozen=True, slots=True)
class PoseGaussian:
    """A Gaussian over the joints, and how well it knows such poses.

    Attributes:
        expected: mean, (D,) [rad].
        precision: inverse covariance, (D, D) [1/rad^2], zero where the model predicts nothing.
        surprise: mean squared residual of what is seen, in standard deviations: far above 1, the model does not know such poses.
    """

    expected: Floats
    precision: Floats
    surprise: float

    @property
    def is_finite(self) -> bool:
        """Whether all its numbers are."""
        return bool(np.isfinite(self.expected).all() and np.isfinite(self.precision).all())


class PoseModel(Protocol):
    """Predicts whole poses from a part of the markers; follows the poses that are accepted."""

    def predict(self, frame: PartialFrame, held_out: bool = False) -> PoseGaussian | None:
        """Predict the pose of a frame, None where the model knows nothing; held_out: without the past, which stays as it is."""

    def accept(self, state: BodyState) -> None:
        """Append the pose of the last frame to the past."""

    def forget(self) -> None:
        """Forget the past, as after a loss."""


def weigh_prediction(prediction: PoseGaussian, weight: Floats | float) -> PoseGaussian:
    """Return a prediction that counts less; weight: one for all coordinates, or one for each, (D,), 0 to 1.

    A covariance S becomes V S V with V = 1 / sqrt(weight): a wider Gaussian of the same shape.
    """
    root = np.sqrt(np.full(len(prediction.expected), weight))
    return PoseGaussian(prediction.expected, prediction.precision * root[:, None] * root, prediction.surprise)


def join_prediction(model: LocalModel, root: RootPrior, prediction: PoseGaussian) -> tuple[LocalModel, RootPrior]:
    """Join a frame's local model with a prediction of the joints, as the product of both.

    The root moves too, as far as it is known to go with the joints.

    Args:
        model: local model over all joint coordinates.
        root: prior of the root.
        prediction: prediction of the joints.
    """
    precision = model.precision.copy()
    precision[:DOFS, :DOFS] += prediction.precision
    apart = prediction.expected - model.mean[1:].ravel() - model.center
    pull = np.concatenate([prediction.precision @ apart, np.zeros(6)])
    L = factor_definite(precision)
    step = np.linalg.solve(precision, pull) if L is None else solve_factored(L, pull)
    rotation = matrix_from_rotvec(step[DOFS : DOFS + 3]) @ root.rotation
    moved = replace(root, rotation=rotation, position_m=root.position_m + step[DOFS + 3 :])
    return LocalModel(model.mean, FULL, model.center + step[:DOFS], precision), moved
