"""The neighbours of a frame and the local model fitted to them; the registry of local models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints
from config.errors import SettingsError
from config.settings import SolveSettings
from reconstruct.models.local.gaussian import GaussianFitter
from reconstruct.models.local.model import LocalModel, LocalModelFitter, MotionContext, Neighbours
from reconstruct.models.local.pca import PcaFitter
from reconstruct.search.examples import Examples

# By `solve.model`: what makes a fitter from all examples and their covariance (D, D) [rad^2].
FITTERS: dict[str, Callable[[Examples, Floats], LocalModelFitter]] = {"gaussian": GaussianFitter, "paper": PcaFitter}


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Neighbours, nearest first: rows and weights (K,), and the local model fitted to them.

    sigma_m: standard deviation of every marker's position, (M,) [m], where a pose model is joined with the local model; else
    None.
    """

    rows: Ints
    weights: Floats
    model: LocalModel
    sigma_m: Floats | None = None


def fitter_for(settings: SolveSettings, examples: Examples, covariance: Floats) -> LocalModelFitter:
    """Return the fitter that the settings name. Raises SettingsError: there is none of that name."""
    check_model(settings.model)
    return FITTERS[settings.model](examples, covariance)


def check_model(name: str) -> None:
    """Raise SettingsError unless there is a local model of this name."""
    if name not in FITTERS:
        raise SettingsError(f"solve.model = {name!r}: no such local model; expected one of {', '.join(FITTERS)}")


def neighbours_of(table: Examples, rows: Ints, distances: NDArray[np.floating], sharpness: float) -> Neighbours:
    """Return the nearest examples with weights that fall with their squared distances.

    rows, distances: (K,), nearest first; sharpness: of the fall, in units of the median distance beyond the nearest.
    """
    d = distances.astype(np.float64)
    weights = np.exp(-0.5 * sharpness / max(float(d[len(d) // 2] - d[0]), 1e-9) * (d - d[0]))
    return Neighbours(rows, table.pose[rows], weights)


def neighbourhood(
    fitter: LocalModelFitter, neighbours: Neighbours, context: MotionContext, settings: SolveSettings
) -> Neighbourhood:
    """Fit the local model of one frame."""
    return Neighbourhood(neighbours.rows, neighbours.weights, fitter.fit(neighbours, context, settings))
