"""Pose models: from what is seen of a frame, guess the rest.

The local model knows the poses of the database. A pose model knows others, such as those that the performer took before
(`reconstruct.fill_in_style`), and says of the joints what it expects and how surely, as a Gaussian: so it can be multiplied with
the local model's. Where the markers are then follows from the pose (`reconstruct.certainty`).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from database.rotations import Floats
from reconstruct.cholesky import factored, solved
from reconstruct.history import Moment
from reconstruct.local_model import FULL, LocalModel
from reconstruct.observations import Observations


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a frame before a pose model is asked.

    observations: markers and lines of sight, nothing where a marker is missing; pose: solved from them without the pose model;
    variance: how surely, of its joints, (D,) [rad^2], much where nothing is seen and the local model leaves it open.
    """

    observations: Observations
    pose: Moment
    variance: Floats


@dataclass(frozen=True, slots=True)
class Guess:
    """A Gaussian over the joints, and how much it is to be trusted.

    expected: (D,) [rad]; precision: inverse covariance, (D, D) [1/rad^2], zero where the model has nothing to say; surprise: mean
    square of what is seen from what the model makes of it, in standard deviations: far above 1, it does not know such poses.
    """

    expected: Floats
    precision: Floats
    surprise: float


class PoseModel(Protocol):
    """Guesses whole poses; goes along with the poses that are taken."""

    def guess(self, seen: Seen, rehearsal: bool = False) -> Guess | None:
        """Guess the pose of a frame; None where the model knows nothing. rehearsal: the past shall not count, nor be changed."""

    def accept(self, moment: Moment) -> None:
        """Take the pose that was made of the last frame."""

    def forget(self) -> None:
        """Start anew, as after a loss."""


def weighted(guess: Guess, weight: Floats | float) -> Guess:
    """Let a guess count less; weight: of all coordinates, or of each of them, (D,), 0 to 1.

    A guess of covariance S has V S V then, with V = 1 / sqrt(weight): a wider Gaussian of the same shape.
    """
    root = np.sqrt(np.full(len(guess.expected), weight))
    return Guess(guess.expected, guess.precision * root[:, None] * root, guess.surprise)


def joined(model: LocalModel, guess: Guess) -> LocalModel:
    """Multiply the local model over all joint coordinates with a guess."""
    total = model.precision + guess.precision
    pull = model.precision @ model.center + guess.precision @ (guess.expected - model.mean[1:].ravel())
    L = factored(total)
    center = np.linalg.solve(total, pull) if L is None else solved(L, pull)
    return LocalModel(model.mean, FULL, np.asarray(center), total)
