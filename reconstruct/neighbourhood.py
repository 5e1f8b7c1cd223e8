"""The neighbourhood that a frame is solved in: the nearest examples and the local model learned from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.settings import SolveSettings
from database.rotations import Floats
from reconstruct.examples import Examples
from reconstruct.history import MAX_AHEAD_S, Moment
from reconstruct.local_model import LocalModel, local_gaussian, local_pca
from reconstruct.motion import Motion, drift_shape, example_starts, expected_motion, steps_to


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nearest examples, (K,), nearest first, their weights, (K,), and the local model learned from them.

    sigma_m: how sure every marker's place is, (M,) [m], where a pose model's guess is in the model; else None.
    """

    rows: NDArray[np.int64]
    weights: Floats
    model: LocalModel
    sigma_m: Floats | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """Where the pose was heading.

    carried: joints where constant velocity leads, (D,) [rad], None at the start; last: the pose before, which it then has;
    t_ns: of the frame; looser: how much less a prediction says than one 1/60 s ahead; neighbour_motion: share of the
    neighbours' own steps in where it is expected.
    """

    carried: Floats | None
    last: Moment | None
    t_ns: int
    looser: float
    neighbour_motion: float


class NeighbourhoodLearner:
    """Learns local models (Chai & Hodgins 2005, eqs. 2 and 3) of one database's poses."""

    def __init__(self, examples: Examples, everything: Floats, settings: SolveSettings) -> None:
        """Prepare; everything: covariance of all poses, (D, D) [rad^2]."""
        self._fps, self._starts = examples.fps, example_starts(examples)
        self._examples = examples
        self._drift = drift_shape(everything)
        self._settings = settings

    def learned(
        self, table: Examples, found: tuple[NDArray[np.int64], NDArray[np.floating]], course: Course, background: Floats
    ) -> Neighbourhood:
        """Learn the local model from the nearest examples.

        found: their rows and distances, (K,); background: covariance that is added to theirs, (D, D) [rad^2].
        """
        s, (rows, distances) = self._settings, found
        examples = table.pose[rows].astype(np.float64)
        d = distances.astype(np.float64)
        weights = np.exp(-0.5 * s.sharpness * (d - d[0]) / max(float(d[len(d) // 2] - d[0]), 1e-9))
        if s.model == "paper":
            sigma_rad = course.looser * s.smooth_sigma_rad
            model = local_pca(
                examples, course.carried, dimensions=s.dimensions, smooth_sigma_rad=sigma_rad, prior_weight=s.prior_weight
            )
        else:
            motion = self._motion(rows, weights, course)
            model = local_gaussian(examples, weights, motion, background, floor_rad=s.floor_rad, shrinkage=s.shrinkage)
        return Neighbourhood(rows, weights, model)

    def _motion(self, rows: NDArray[np.int64], weights: Floats, course: Course) -> Motion | None:
        """Expect the pose where it was heading and where the neighbours went; None at the start."""
        s, last = self._settings, course.last
        if course.carried is None or last is None:
            return None
        frames = min((course.t_ns - last.t_ns) * 1e-9, MAX_AHEAD_S) * self._fps
        return expected_motion(
            last.joints[1:].ravel(),
            course.carried,
            frames * steps_to(self._examples, self._starts, rows),
            weights,
            share=course.neighbour_motion,
            spread=s.motion_spread,
            drift=(course.looser * s.drift_rad) ** 2 * self._drift,
        )
