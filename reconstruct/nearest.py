"""The K nearest poses to a query by exhaustive search (Chai & Hodgins 2005, eq. 2).

    d(n) = alpha |c_n - T(z_t, z_0) c_t|^2 + (1 - alpha) |q_n - 2 q_{t-1} + q_{t-2}|^2

with a weight for every coordinate in place of the one alpha: markers not seen weigh nothing, and metres and radians are
brought to one scale by their expected deviations.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.examples import Examples

Singles = NDArray[np.float32]


@kernel
def _distances(feature: Singles, query: Singles, weight: Singles, out: Singles) -> None:
    """Add the weighted squared distances of all rows of `feature` (N, F) to out (N,)."""
    n, width = feature.shape
    for row in range(n):
        s = np.float32(0.0)
        for i in range(width):
            e = feature[row, i] - query[i]
            s += weight[i] * e * e
        out[row] += s


def squared_distances(
    examples: Examples, marker_m: Floats, marker_weight: Floats, pose: Floats | None, pose_weight: Floats
) -> Singles:
    """Give the query's distance to every example.

    marker_m: markers at the default root, (M, 3) [m]; marker_weight: (M,) [1/m^2], zero where unseen; pose: predicted
    joint coordinates, (D,) [rad], or None; pose_weight: (D,) [1/rad^2]. Returns (N,) float32.
    """
    out = np.zeros(len(examples), np.float32)
    seen = np.repeat(marker_weight > 0, 3)
    if seen.all():
        query, weight = marker_m.ravel(), np.repeat(marker_weight, 3)
    else:
        query, weight = np.where(seen, marker_m.ravel(), 0.0), np.repeat(marker_weight, 3)
    _distances(examples.marker_m, query.astype(np.float32), weight.astype(np.float32), out)
    if pose is not None:
        _distances(examples.pose, pose.astype(np.float32), pose_weight.astype(np.float32), out)
    return out


def nearest(distances: Singles, count: int) -> NDArray[np.int64]:
    """Give the indices of the `count` smallest distances, nearest first."""
    count = min(count, len(distances))
    chosen = np.argpartition(distances, count - 1)[:count]
    return chosen[np.argsort(distances[chosen], kind="stable")]
