"""The neighbours of a frame, and the local model fitted to them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints
from reconstruct.models.local.model import Neighbours
from reconstruct.search.examples import Examples


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Neighbours, nearest first: rows and weights (K,).

    sigma_m: standard deviation of every marker's position, (M,) [m], where a pose model is joined with the local model; else
    None.
    """

    rows: Ints
    weights: Floats
    sigma_m: Floats | None = None


def neighbours_of(table: Examples, rows: Ints, distances: NDArray[np.floating], sharpness: float) -> Neighbours:
    """Return the nearest examples with weights that fall with their squared distances.

    rows, distances: (K,), nearest first; sharpness: of the fall, in units of the median distance beyond the nearest.
    """
    d = distances.astype(np.float64)
    weights = np.exp(-0.5 * sharpness / max(float(d[len(d) // 2] - d[0]), 1e-9) * (d - d[0]))
    return Neighbours(rows, table.pose[rows], weights)
